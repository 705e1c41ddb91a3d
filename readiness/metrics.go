// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// readySeconds has the incumbent's name and labels; the buckets are finer at the lower end.
var readySeconds = prometheus.NewHistogramVec(prometheus.HistogramOpts{
	Name:    "awslbc_readiness_gate_ready_seconds",
	Help:    "Time from the registration of a pod's target until its readiness gate opens.",
	Buckets: []float64{1, 2, 3, 5, 10, 20, 30, 60, 120, 180, 300, 600},
}, []string{"namespace", "name"})

func init() {
	metrics.Registry.MustRegister(readySeconds)
}

// ObserveReady records how long after the pod's registration a gate of the binding opened.
func ObserveReady(namespace, binding string, took time.Duration) {
	readySeconds.WithLabelValues(namespace, binding).Observe(took.Seconds())
}

// BeginBinding starts the binding's count at 0. Otherwise Prometheus would see no increase for the first gate.
func BeginBinding(namespace, binding string) {
	readySeconds.WithLabelValues(namespace, binding)
}

// ForgetBinding deletes the binding's series.
func ForgetBinding(namespace, binding string) {
	readySeconds.DeleteLabelValues(namespace, binding)
}
