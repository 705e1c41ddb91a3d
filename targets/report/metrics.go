// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/retry"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// stageDuration has the incumbent's name and labels.
var stageDuration = prometheus.NewHistogramVec(prometheus.HistogramOpts{
	Name:    "awslbc_controller_reconcile_stage_duration",
	Help:    "Seconds that a pass over a binding takes, by what it does with it. Calls to AWS are made beside it and do not count.",
	Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
}, []string{"controller", "reconcile_stage"})

// The stages of a pass: values of the label reconcile_stage.
const (
	StageReconcile = "reconcile_targetgroupbinding"
	StageCleanup   = "cleanup_targetgroupbinding"
)

// leading is set by Lead, and stays: whoever loses the lease ends.
var leading = prometheus.NewGauge(prometheus.GaugeOpts{
	Name: "targetgate_leader",
	Help: "1 on the replica that leads, and so registers targets and opens gates, otherwise 0.",
})

// Lead shows that this replica leads.
func Lead() { leading.Set(1) }

// ObserveStage returns what ends the stage that begins with the call.
func ObserveStage(stage string, clk clock.PassiveClock) (end func()) {
	began := clk.Now()
	return func() { stageDuration.WithLabelValues(retry.ControllerName, stage).Observe(clk.Since(began).Seconds()) }
}

// ObserveReady takes how long after its registration a pod's gate was opened.
func ObserveReady(binding types.NamespacedName, took time.Duration) {
	bindingsNow.ifPresent(binding, func() { readiness.ObserveReady(binding.Namespace, binding.Name, took) })
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

// unreadyKept counts how often unready targets stayed because too few others were healthy.
var unreadyKept = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "targetgate_unready_pods_kept_total",
	Help: "Times that unready pods of a binding stayed registered because too few others were healthy.",
}, bindingLabels)

func init() {
	metrics.Registry.MustRegister(driftRepaired, unreadyKept, stageDuration, leading, bindingsNow)
}

// beginCounting has the binding's counters begin at 0: to Prometheus one that begins at 1 has not increased.
func beginCounting(key types.NamespacedName) {
	driftRepaired.WithLabelValues(key.Namespace, key.Name, driftForeign)
	driftRepaired.WithLabelValues(key.Namespace, key.Name, driftMissing)
	unreadyKept.WithLabelValues(key.Namespace, key.Name)
	readiness.BeginBinding(key.Namespace, key.Name)
}

func endCounting(key types.NamespacedName) {
	readiness.ForgetBinding(key.Namespace, key.Name)
	driftRepaired.DeleteLabelValues(key.Namespace, key.Name, driftForeign)
	driftRepaired.DeleteLabelValues(key.Namespace, key.Name, driftMissing)
	unreadyKept.DeleteLabelValues(key.Namespace, key.Name)
}

// countLost counts targets that others have deregistered.
func countLost(binding *v1beta1.TargetGroupBinding, n int) {
	bindingsNow.ifPresent(client.ObjectKeyFromObject(binding), func() {
		driftRepaired.WithLabelValues(binding.Namespace, binding.Name, driftMissing).Add(float64(n))
	})
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
		case v1beta1.ReasonUnreadyPodsKept:
			unreadyKept.WithLabelValues(binding.Namespace, binding.Name).Inc()
		}
	})
}
