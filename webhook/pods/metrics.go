// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

var (
	gatesInjected = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "targetgate_gates_injected_total",
		Help: "Readiness gates added to pods at admission, including dry runs.",
	})

	waits = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "targetgate_webhook_pod_waits_total",
		Help: "Pods that waited at admission for a new binding or Service, by outcome: changed or in vain.",
	}, []string{"outcome"})
)

func init() {
	metrics.Registry.MustRegister(gatesInjected, waits)
}
