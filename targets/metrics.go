// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// deregisteredSeconds measures rule 5: how fast a pod on its way out gets no new requests.
var deregisteredSeconds = prometheus.NewHistogram(prometheus.HistogramOpts{
	Name:    "targetgate_pod_deregistered_seconds",
	Help:    "Time from the deletion of a pod, in whole seconds as the API server keeps it, to AWS's answer to its deregistration.",
	Buckets: []float64{0.5, 1, 1.5, 2, 3, 4, 6, 8, 12, 20, 30, 60},
})

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

// What bindings have now. Series go with their binding.
var (
	bindingLabels  = []string{"namespace", "name"}
	targetsNow     = bindingGauge("targetgate_targets", "Targets of a binding's group by state.", "state")
	waitingPodsNow = bindingGauge("targetgate_gated_pods_waiting", "Pods of a binding at closed readiness gates.")
	ungatedPodsNow = bindingGauge("targetgate_ungated_pods", "Pods that a binding's Service selects and that have no readiness gate.")
)

func bindingGauge(name, help string, more ...string) *prometheus.GaugeVec {
	gauge := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, append(slices.Clone(bindingLabels), more...))
	metrics.Registry.MustRegister(gauge)
	return gauge
}

// showBinding sets the gauges to what the status says.
func showBinding(key types.NamespacedName, status *v1beta1.TargetGroupBindingStatus) {
	if n := status.Targets; n != nil {
		for state, count := range map[string]int32{
			"initial": n.Initial, "healthy": n.Healthy, "unhealthy": n.Unhealthy, "draining": n.Draining, "unused": n.Unused,
			"unavailable": n.Unavailable,
		} {
			targetsNow.WithLabelValues(key.Namespace, key.Name, state).Set(float64(count))
		}
	}
	if n := status.Pods; n != nil {
		waitingPodsNow.WithLabelValues(key.Namespace, key.Name).Set(float64(n.Waiting))
		ungatedPodsNow.WithLabelValues(key.Namespace, key.Name).Set(float64(n.Ungated))
	}
}

// hideBinding drops what is shown of a binding that is gone.
func hideBinding(key types.NamespacedName) {
	labels := prometheus.Labels{"namespace": key.Namespace, "name": key.Name}
	for _, gauge := range []*prometheus.GaugeVec{targetsNow, waitingPodsNow, ungatedPodsNow} {
		gauge.DeletePartialMatch(labels)
	}
	readiness.ForgetBinding(key.Namespace, key.Name)
}

// measure takes the time of a pod whose condition has just been written: of its registration the first time, and of its
// gate when that is open because the target is healthy.
func (r *Registrar) measure(s session, v verdict, gate corev1.PodConditionType) {
	now := r.Clock.Now()
	began := readiness.Condition(v.pod, corev1.ContainersReady)
	if readiness.Condition(v.pod, gate) == nil && began != nil && !v.ownedAt.IsZero() {
		registeredSeconds.Observe(max(0, v.ownedAt.Sub(began.LastTransitionTime.Time).Seconds()))
	}
	if v.healthyAt.IsZero() || v.health.Status != corev1.ConditionTrue {
		return
	}
	openedSeconds.Observe(now.Sub(v.healthyAt).Seconds())
	if !v.ownedAt.IsZero() {
		readiness.ObserveReady(s.key.Namespace, s.key.Name, now.Sub(v.ownedAt))
	}
}

// driftRepaired counts what others than us have changed in a group, and we have changed back.
var driftRepaired = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "targetgate_drift_repaired_total",
	Help: "Targets that others registered (kind foreign) or deregistered (kind missing), and that were set right.",
}, []string{"kind"})

// valveEngaged counts how often rule 6 kept targets that would have gone otherwise.
var valveEngaged = prometheus.NewCounter(prometheus.CounterOpts{
	Name: "targetgate_safety_valve_engaged_total",
	Help: "Times that unready pods of a binding stayed registered because too few others were healthy.",
})

func init() {
	metrics.Registry.MustRegister(deregisteredSeconds, registeredSeconds, openedSeconds, driftRepaired, valveEngaged)
}

// countEvent counts what an event of that reason tells.
func countEvent(reason string) {
	switch reason {
	case reasonForeignTarget:
		driftRepaired.WithLabelValues("foreign").Inc()
	case reasonTargetMissing:
		driftRepaired.WithLabelValues("missing").Inc()
	case v1beta1.ReasonUnreadyPodsKept:
		valveEngaged.Inc()
	}
}

func observeDepartures(batch departures, now time.Time) {
	for _, since := range batch {
		if !since.IsZero() {
			deregisteredSeconds.Observe(max(0, now.Sub(since).Seconds()))
		}
	}
}
