// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientevents "k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/endpoints"
	"github.com/targetgate/targetgate/targets/events"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// Reporter records events, and counts what they tell. Safe for concurrent use.
type Reporter struct {
	Recorder clientevents.EventRecorder
	Clock    clock.PassiveClock
}

// Event records an event. It waits for nothing.
func (r Reporter) Event(on runtime.Object, e events.Event) {
	countEvent(on, e.Reason)
	e.Record(r.Recorder, on)
}

// RecordNew records events for what a pass has found and the one before had not. It returns what the next pass takes as emitted.
func (r Reporter) RecordNew(emitted map[string]bool, found map[string]events.Notice) map[string]bool {
	now := map[string]bool{}
	for key, n := range found {
		now[key] = true
		if !emitted[key] {
			r.Event(n.On, n.Event)
		}
	}
	return now
}

// Lost counts targets that others have deregistered since the last pass, and tells of them when an event is due.
func (r Reporter) Lost(binding *v1beta1.TargetGroupBinding, lost *Unreported, targets []elbv2.Target) {
	countLost(binding, len(targets))
	if names := lost.due(targets, r.Clock.Now()); names != "" {
		r.Event(binding, events.Warning(reasonTargetMissing, "Register",
			"Someone else has deregistered these targets; targetgate registers those again that are still wanted: %s", names))
	}
}

// Late tells of targets that were deregistered after their deadlines since the last pass, when an event is due.
func (r Reporter) Late(binding *v1beta1.TargetGroupBinding, late *Unreported, targets []elbv2.Target) {
	if names := late.due(targets, r.Clock.Now()); names != "" {
		r.Event(binding, events.Warning(reasonDeregisteredLate, "Deregister",
			"AWS accepted the deregistration of these targets too late: the load balancer may still have sent requests to their pods after "+
				"SIGTERM. Give the pods a longer preStop sleep; where AWS throttled the call, roll fewer Deployments at once: %s", names))
	}
}

// TooManyGates tells the owner of a pod that its gates stay closed. Gates are given at a pod's creation.
func (r Reporter) TooManyGates(pod *corev1.Pod) {
	if readiness.HasTooMany(pod) && !endpoints.IsTerminating(pod) {
		r.Event(pod, events.Warning("TooManyReadinessGates", "Reconcile",
			"The pod has more than %d readiness gates of TargetGroupBindings: none of them is ever opened. Create it again with fewer",
			readiness.MaxGates))
	}
}
