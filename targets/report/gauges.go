// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/targetgate/targetgate/targets/conditions"
	"github.com/targetgate/targetgate/targets/ownership"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// Gauges of each binding, on the leader only. The series are built when they are scraped, so that none with an outdated label,
// such as a reason, survives.
var (
	bindingLabels = []string{"namespace", "name"}

	targetsNow   = bindingDesc("targetgate_targets", "Targets of a binding's group by state.", "state")
	conditionNow = bindingDesc("targetgate_binding_condition",
		"1 for each condition in a binding's status, with its reason.", "type", "status", "reason")
	waitingNow = bindingDesc("targetgate_gated_pods_waiting",
		"Pods of a binding at closed readiness gates, also those whose containers are not ready yet.")
	waitingSince = bindingDesc("targetgate_gate_waiting_since_timestamp_seconds",
		"Since when a pod of a binding waits at its closed gate with all containers ready, as Unix time: the one that has "+
			"waited longest. There is no series while none waits.")
	foreignNow = bindingDesc("targetgate_foreign_targets",
		"Targets of a binding's group that are not this cluster's, and stay registered.")
	ungatedNow = bindingDesc("targetgate_ungated_pods",
		"Pods that a binding's Service selects and that have no readiness gate, although their namespace asks for gates.")
)

func bindingDesc(name, help string, more ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, append(append([]string{}, bindingLabels...), more...), nil)
}

// bindingGauges is what the metrics say of one binding.
type bindingGauges struct {
	targets    *v1beta1.TargetCounts // nil before the group was read
	pods       *conditions.PodCount  // nil when pods are none of the binding's business
	conditions []metav1.Condition
	foreign    *v1beta1.ForeignTargets
}

// bindingCollector is a prometheus.Collector of the gauges that passes set.
type bindingCollector struct {
	mu       sync.Mutex
	bindings map[types.NamespacedName]bindingGauges
}

var bindingsNow = &bindingCollector{bindings: map[types.NamespacedName]bindingGauges{}}

// SetGauges sets the gauges to what a pass has found, whether the status is written or not: a replica that begins to lead finds
// nothing to write where all is well.
func SetGauges(key types.NamespacedName, status *v1beta1.TargetGroupBindingStatus, pods *conditions.PodCount) {
	bindingsNow.mu.Lock()
	_, known := bindingsNow.bindings[key]
	bindingsNow.bindings[key] = bindingGauges{status.Targets, pods, status.Conditions, status.ForeignTargets}
	bindingsNow.mu.Unlock()
	if !known {
		beginCounting(key)
	}
}

// DeleteGauges deletes the gauges of a binding that is gone.
func DeleteGauges(key types.NamespacedName) {
	bindingsNow.mu.Lock()
	delete(bindingsNow.bindings, key)
	bindingsNow.mu.Unlock()
	endCounting(key)
}

// ifPresent calls count unless the binding is gone: a counter with its name would stay for good.
func (c *bindingCollector) ifPresent(key types.NamespacedName, count func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.bindings[key]; ok {
		count()
	}
}

// Describe names the metrics.
func (c *bindingCollector) Describe(descs chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{targetsNow, conditionNow, waitingNow, waitingSince, ungatedNow, foreignNow} {
		descs <- desc
	}
}

// Collect makes the series of all bindings.
func (c *bindingCollector) Collect(out chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, binding := range c.bindings {
		binding.collect(key, out)
	}
}

func (s bindingGauges) collect(key types.NamespacedName, out chan<- prometheus.Metric) {
	gauge := func(desc *prometheus.Desc, value float64, more ...string) {
		out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, append([]string{key.Namespace, key.Name}, more...)...)
	}
	for _, c := range s.conditions {
		gauge(conditionNow, 1, c.Type, string(c.Status), c.Reason)
	}
	if _, _, foreign := ownership.Foreign(s.foreign); s.targets != nil {
		gauge(foreignNow, float64(len(foreign)))
	}
	if n := s.targets; n != nil {
		for state, count := range map[string]int32{
			"initial": n.Initial, "healthy": n.Healthy, "unhealthy": n.Unhealthy, "draining": n.Draining, "unused": n.Unused,
			"unavailable": n.Unavailable,
		} {
			gauge(targetsNow, float64(count), state)
		}
	}
	if n := s.pods; n != nil {
		gauge(waitingNow, float64(n.Waiting))
		gauge(ungatedNow, float64(n.Missed))
		if !n.WaitingSince.IsZero() {
			gauge(waitingSince, float64(n.WaitingSince.UnixMilli())/float64(time.Second/time.Millisecond))
		}
	}
}
