// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
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

// controllerName is the incumbent's, as a label.
const controllerName = "targetGroupBinding"

// Both have the incumbent's name and labels.
var (
	reconcileErrors = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "awslbc_controller_reconcile_errors_total",
		Help: "Failures while bindings were reconciled: calls to AWS (aws_error) and to the API server (kubernetes_error).",
	}, []string{"controller", "error_category"})

	stageDuration = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "awslbc_controller_reconcile_stage_duration",
		Help:    "Seconds that a pass over a binding takes, by what it does with it. Calls to AWS are made beside it and do not count.",
		Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
	}, []string{"controller", "reconcile_stage"})
)

// Values of the labels reconcile_stage and error_category.
const (
	stageReconcile = "reconcile_targetgroupbinding"
	stageCleanup   = "cleanup_targetgroupbinding"

	awsFailure        = "aws_error"
	kubernetesFailure = "kubernetes_error"
)

// leading is set when the lanes begin to live, and stays: whoever loses the lease ends.
var leading = prometheus.NewGauge(prometheus.GaugeOpts{
	Name: "targetgate_leader",
	Help: "1 on the replica that leads, and so registers targets and opens gates, otherwise 0.",
})

func countIfFailed(category string, err error) {
	if err != nil {
		reconcileErrors.WithLabelValues(controllerName, category).Inc()
	}
}

// observeStage returns what ends the stage that begins with the call.
func observeStage(stage string, clk clock.PassiveClock) (end func()) {
	began := clk.Now()
	return func() { stageDuration.WithLabelValues(controllerName, stage).Observe(clk.Since(began).Seconds()) }
}

// measure takes the time of a pod whose condition has just been written: of its registration the first time, and of its
// gate when that is open because the target is healthy.
func (r *Registrar) measure(s session, v conditionUpdate, gate corev1.PodConditionType) {
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
		bindingsNow.ifPresent(s.key, func() { readiness.ObserveReady(s.key.Namespace, s.key.Name, now.Sub(v.ownedAt)) })
	}
}

// driftRepaired counts what others than us have changed in a group, and we have changed back.
var driftRepaired = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "targetgate_drift_repaired_total",
	Help: "Targets of a binding that others registered (kind foreign) or deregistered (kind missing), and that were set right.",
}, append(slices.Clone(bindingLabels), "kind"))

// Kinds of drift.
const (
	driftForeign = "foreign"
	driftMissing = "missing"
)

// valveEngaged counts how often rule 6 kept targets that would have gone otherwise.
var valveEngaged = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "targetgate_safety_valve_engaged_total",
	Help: "Times that unready pods of a binding stayed registered because too few others were healthy.",
}, bindingLabels)

func init() {
	metrics.Registry.MustRegister(deregisteredSeconds, registeredSeconds, openedSeconds, driftRepaired, valveEngaged,
		reconcileErrors, stageDuration, leading, bindingsNow)
	for _, category := range []string{awsFailure, kubernetesFailure} {
		reconcileErrors.WithLabelValues(controllerName, category)
	}
}

// beginCounting has the binding's counters begin at 0: to Prometheus one that begins at 1 has not increased.
func beginCounting(key types.NamespacedName) {
	driftRepaired.WithLabelValues(key.Namespace, key.Name, driftForeign)
	driftRepaired.WithLabelValues(key.Namespace, key.Name, driftMissing)
	valveEngaged.WithLabelValues(key.Namespace, key.Name)
	readiness.BeginBinding(key.Namespace, key.Name)
}

func endCounting(key types.NamespacedName) {
	readiness.ForgetBinding(key.Namespace, key.Name)
	driftRepaired.DeleteLabelValues(key.Namespace, key.Name, driftForeign)
	driftRepaired.DeleteLabelValues(key.Namespace, key.Name, driftMissing)
	valveEngaged.DeleteLabelValues(key.Namespace, key.Name)
}

// countEvent counts what an event of that reason on a binding tells.
func countEvent(on runtime.Object, reason string) {
	binding, ok := on.(*v1beta1.TargetGroupBinding)
	if !ok {
		return
	}
	bindingsNow.ifPresent(client.ObjectKeyFromObject(binding), func() {
		switch reason {
		case reasonForeignTarget:
			driftRepaired.WithLabelValues(binding.Namespace, binding.Name, driftForeign).Inc()
		case reasonTargetMissing:
			driftRepaired.WithLabelValues(binding.Namespace, binding.Name, driftMissing).Inc()
		case v1beta1.ReasonUnreadyPodsKept:
			valveEngaged.WithLabelValues(binding.Namespace, binding.Name).Inc()
		}
	})
}

func observeDepartures(batch departures, now time.Time) {
	for _, d := range batch {
		if !d.since.IsZero() {
			deregisteredSeconds.Observe(max(0, now.Sub(d.since).Seconds()))
		}
	}
}
