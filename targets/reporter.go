// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	clientevents "k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"

	"github.com/targetgate/targetgate/aws/awserr"
	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/endpoints"
	"github.com/targetgate/targetgate/targets/events"
	"github.com/targetgate/targetgate/targets/plan"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// reporter records events. Reasons of events on bindings are the incumbent's.
type reporter struct {
	recorder clientevents.EventRecorder
	clock    clock.PassiveClock
}

func (r reporter) event(on runtime.Object, e events.Event) {
	countEvent(on, e.Reason)
	e.Record(r.recorder, on)
}

// tell records events for what this pass has found and the last one had not, and for lost targets.
func (r reporter) tell(binding *v1beta1.TargetGroupBinding, m *memory, found map[string]events.Notice) {
	told := map[string]bool{}
	for key, n := range found {
		told[key] = true
		if !m.told[key] {
			r.event(n.On, n.Event)
		}
	}
	m.told = told
	lost := m.group.TakeLost()
	countLost(binding, len(lost))
	if names := m.lost.due(lost, r.clock.Now()); names != "" {
		r.event(binding, events.Warning(reasonTargetMissing, "Register", "Others have deregistered these targets, which are registered again "+
			"if they are still wanted: %s", names).Short())
	}
	if names := m.late.due(m.group.TakeLate(), r.clock.Now()); names != "" {
		r.event(binding, events.Warning(reasonDeregisteredLate, "Deregister", "AWS accepted the deregistration of these targets too late: the "+
			"load balancer may still have sent requests to their pods after SIGTERM. Give the pods a longer preStop sleep, or roll "+
			"fewer Deployments at once: %s", names).Short())
	}
}

// untoldPause is between two events about targets of one binding that others deregister, that AWS leaves out of its answers now and then,
// or that go too late.
const untoldPause = 5 * time.Minute

// untoldTargets are those that users have not been told of.
type untoldTargets struct {
	untold sets.Set[string]
	toldAt time.Time
}

// due adds to them, and names all of them once untoldPause has passed since it last did; empty before that.
func (u *untoldTargets) due(more []elbv2.Target, now time.Time) string {
	for _, target := range more {
		if u.untold == nil {
			u.untold = sets.Set[string]{}
		}
		u.untold.Insert(target.String())
	}
	if len(u.untold) == 0 || now.Sub(u.toldAt) < untoldPause {
		return ""
	}
	names := strings.Join(sets.List(u.untold), ", ")
	*u = untoldTargets{toldAt: now}
	return names
}

// tellTooManyGates tells the owner of a pod that its gates stay closed. Gates are given at a pod's creation.
func (r reporter) tellTooManyGates(pod *corev1.Pod) {
	if readiness.HasTooMany(pod) && !endpoints.IsTerminating(pod) {
		r.event(pod, events.Warning("TooManyReadinessGates", "Reconcile",
			"The pod has more than %d readiness gates of TargetGroupBindings: none of them is ever opened. Create it again with fewer",
			readiness.MaxGates))
	}
}

// failedCleanup says what a binding that is gone may have left in its target group.
func failedCleanup(arn string, refusals, left []string) events.Event {
	which := "targets that an earlier targetgate registered"
	if len(left) > 0 {
		which = strings.Join(left, ", ")
	}
	e := events.Warning("FailedCleanup", "Cleanup", "The binding goes without its targets, as AWS refuses to deregister them from %s: %s. "+
		"These may be left: %s", arn, strings.Join(refusals, "; "), which)
	e.Note = events.Cut(e.Note)
	return e
}

// ignoredRecord says that a record of a shared group is not believed.
func ignoredRecord(configMap string) events.Event {
	return events.Warning("RecordIgnored", "Reconcile", "ConfigMap %s was there before any target was registered for the binding, so it is "+
		"written anew: none of the targets that it lists is deregistered for that. If one of them is left over from an earlier binding, "+
		"deregister it yourself", configMap)
}

// eventsOf are the events that a written status calls for: when trouble starts or changes, and when a generation of the
// spec is Ready for the first time or again after trouble. Trouble that lasts is one event, a rollout none. The caller holds the
// lock.
func (s *status) eventsOf(before, after []metav1.Condition) []events.Event {
	told := s.networkingEvents(before, after)
	trouble := apimeta.FindStatusCondition(after, v1beta1.ConditionDegraded)
	if trouble.Status == metav1.ConditionTrue {
		s.announced = 0
		old := apimeta.FindStatusCondition(before, trouble.Type)
		if old == nil || old.Status != trouble.Status || old.Message != trouble.Message {
			told = append(told, troubleEvent(trouble))
		}
		return told
	}
	if s.announced == 0 {
		s.announced = announcedBefore(before)
	}
	if apimeta.IsStatusConditionTrue(after, v1beta1.ConditionReady) && s.announced != trouble.ObservedGeneration {
		s.announced = trouble.ObservedGeneration
		told = append(told, events.Normal("SuccessfullyReconciled", "Reconcile", "Successfully reconciled"))
	}
	return told
}

// networkingEvents tell of inbound rules that are missing, once until all are there: which pods lack one may change with every pod. The
// reason is the incumbent's.
func (s *status) networkingEvents(before, after []metav1.Condition) []events.Event {
	c := apimeta.FindStatusCondition(after, v1beta1.ConditionNetworkingReady)
	switch {
	case c == nil || c.Status == metav1.ConditionTrue:
		s.networkingTold = ""
		return nil
	case c.Status != metav1.ConditionFalse || s.networkingTold == c.Reason:
		return nil
	}
	old := apimeta.FindStatusCondition(before, v1beta1.ConditionNetworkingReady)
	toldBefore := s.networkingTold == "" && old != nil && old.Status == c.Status && old.Reason == c.Reason // by an earlier process
	s.networkingTold = c.Reason
	if toldBefore {
		return nil
	}
	return []events.Event{events.Warning("FailedNetworkReconcile", "Reconcile", "%s", c.Message)}
}

// announcedBefore is the generation that the status calls Ready and without trouble: an earlier process has announced it.
func announcedBefore(conditions []metav1.Condition) int64 {
	ready := apimeta.FindStatusCondition(conditions, v1beta1.ConditionReady)
	if ready == nil || ready.Status != metav1.ConditionTrue || !apimeta.IsStatusConditionFalse(conditions, v1beta1.ConditionDegraded) {
		return 0
	}
	return ready.ObservedGeneration
}

// troubleEvent has the condition's reason, but for failed calls, whose reason is the incumbent's.
func troubleEvent(trouble *metav1.Condition) events.Event {
	reason := trouble.Reason
	switch reason {
	case v1beta1.ReasonAWSError, v1beta1.ReasonKubernetesError, v1beta1.ReasonAccessDenied, v1beta1.ReasonTargetGroupNotFound,
		v1beta1.ReasonNotSupported:
		reason = "FailedReconcile"
	}
	return events.Warning(reason, "Reconcile", "%s", trouble.Message)
}

// Reasons of events about drift.
const (
	reasonForeignTarget = "ForeignTarget"
	reasonTargetMissing = "TargetMissing"
	// reasonDeregisteredLate is of targets that AWS let go after the deadline.
	reasonDeregisteredLate = "DeregisteredLate"
)

// notices are what users are told of a pass beside the conditions, by a key that stays while the cause lasts.
func notices(
	binding *v1beta1.TargetGroupBinding, p plan.Plan, odd map[string]string, delayDenied error, policy plan.Policy,
) map[string]events.Notice {
	out := map[string]events.Notice{}
	add := func(key string, e events.Event) { out[key] = events.Notice{On: binding, Event: e} }
	skipped := "NodeSkipped"
	if binding.Spec.IsIP() {
		skipped = v1beta1.ReasonEndpointSkipped
	}
	for name, why := range odd {
		if name != endpoints.SkippedEndpoints { // the condition Degraded tells of them
			add("odd "+name, events.Warning(skipped, "Reconcile", "%s", why))
		}
	}
	if len(p.TimedOut) > 0 {
		add("timedOut", events.Warning("ReplacementTimedOut", "Deregister",
			"Deregistering targets that are no longer wanted, although not all others are healthy after --replacement-timeout=%s",
			policy.ReplacementTimeout))
	}
	for _, target := range p.Foreign {
		add("foreign "+target.String(), events.Warning(reasonForeignTarget, "Deregister",
			"Deregistering target %s, which nothing in the cluster explains", target))
	}
	if delayDenied != nil { // nothing that is done depends on it
		add("delay", events.Normal("DeregistrationDelayUnknown", "Reconcile",
			"The status does not show the deregistration delay, as elasticloadbalancing:DescribeTargetGroupAttributes is not allowed; "+
				"nothing else needs it: %s", awserr.Message(delayDenied)))
	}
	return out
}
