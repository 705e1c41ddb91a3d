// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package conditions

import (
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/targetgate/targetgate/readiness"
)

// registeredSeconds measures how fast a pod that is ready to serve gets into the group.
var registeredSeconds = prometheus.NewHistogram(prometheus.HistogramOpts{
	Name:    "targetgate_pod_registered_seconds",
	Help:    "Time from ready containers, in whole seconds as the kubelet says it, to AWS's answer to the registration.",
	Buckets: []float64{0.5, 1, 1.5, 2, 3, 4, 6, 8, 12, 20, 30, 60},
})

// openedSeconds measures our own part of a gate's wait.
var openedSeconds = prometheus.NewHistogram(prometheus.HistogramOpts{
	Name:    "targetgate_gate_opened_seconds",
	Help:    "Time from the start of the reading that found a target healthy to the open readiness gate.",
	Buckets: []float64{0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1, 2, 5, 10},
})

func init() { metrics.Registry.MustRegister(registeredSeconds, openedSeconds) }

// measure takes the time of a pod whose condition has just been written: of its registration the first time, and of its
// gate when that is open because the target is healthy.
func (w *Writer) measure(g *Gates, u Update, first bool) {
	now := w.clock.Now()
	began := readiness.Condition(u.Pod, corev1.ContainersReady)
	if first && readiness.Condition(u.Pod, g.gate) == nil && began != nil && !u.OwnedAt.IsZero() {
		registeredSeconds.Observe(max(0, u.OwnedAt.Sub(began.LastTransitionTime.Time).Seconds()))
	}
	if u.HealthyAt.IsZero() || !u.Opens() {
		return
	}
	openedSeconds.Observe(now.Sub(u.HealthyAt).Seconds())
	if !u.OwnedAt.IsZero() {
		w.ready(g.binding, now.Sub(u.OwnedAt))
	}
}
