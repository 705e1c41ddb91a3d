// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package contest

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// Kind is what somebody else has changed.
type Kind string

// The values of the label kind.
const (
	Gate          Kind = "gate"           // the condition of a readiness gate
	Guard         Kind = "guard"          // the answer to a node guard
	Finalizer     Kind = "finalizer"      // of a binding or an Ingress
	Status        Kind = "status"         // of a binding
	IngressStatus Kind = "ingress_status" // the name of the load balancer
	Binding       Kind = "binding"        // spec or labels of a binding that was made for an Ingress
	Record        Kind = "record"         // of the targets or security group rules that are ours
)

var overwritten = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "targetgate_overwritten_total",
	Help: "Changes by others of what targetgate had written to the API server, and put back.",
}, []string{"kind"})

func init() {
	metrics.Registry.MustRegister(overwritten)
	for _, kind := range []Kind{Gate, Guard, Finalizer, Status, IngressStatus, Binding, Record} {
		overwritten.WithLabelValues(string(kind))
	}
}

// Count counts a change.
func Count(kind Kind) { overwritten.WithLabelValues(string(kind)).Inc() }
