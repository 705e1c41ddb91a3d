// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package guards

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

var guardsWaiting = prometheus.NewGauge(prometheus.GaugeOpts{
	Name: "targetgate_node_guards_waiting",
	Help: "Node guards that are being deleted, and wait for the targets of their nodes to drain.",
})

func init() { metrics.Registry.MustRegister(guardsWaiting) }
