// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/elbv2"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// bindingEvent is one event on a binding. The reasons are the incumbent's.
type bindingEvent struct {
	kind, reason, action, note string
}

func failedAddFinalizer(err error) bindingEvent {
	return bindingEvent{corev1.EventTypeWarning, "FailedAddFinalizer", "AddFinalizer", err.Error()}
}

func failedRemoveFinalizer(err error) bindingEvent {
	return bindingEvent{corev1.EventTypeWarning, "FailedRemoveFinalizer", "RemoveFinalizer", err.Error()}
}

func failedUpdateStatus(err error) bindingEvent {
	return bindingEvent{corev1.EventTypeWarning, "FailedUpdateStatus", "UpdateStatus", err.Error()}
}

func successfullyReconciled() bindingEvent {
	return bindingEvent{corev1.EventTypeNormal, "SuccessfullyReconciled", "Reconcile", "Successfully reconciled"}
}

// eventsOf are the events that a written status calls for: when trouble starts or changes, and when a generation of the
// spec is Ready for the first time or again after trouble. Trouble that lasts is one event, a rollout none.
func (g *group) eventsOf(before, after []metav1.Condition) []bindingEvent {
	old := apimeta.FindStatusCondition(before, v1beta1.ConditionDegraded)
	trouble := apimeta.FindStatusCondition(after, v1beta1.ConditionDegraded)
	if trouble.Status == metav1.ConditionTrue {
		g.announced = 0
		if old == nil || old.Status != trouble.Status || old.Message != trouble.Message {
			return []bindingEvent{troubleEvent(trouble)}
		}
		return nil
	}
	if apimeta.IsStatusConditionTrue(after, v1beta1.ConditionReady) && g.announced != trouble.ObservedGeneration {
		g.announced = trouble.ObservedGeneration
		return []bindingEvent{successfullyReconciled()}
	}
	return nil
}

// troubleEvent has the condition's reason, but for failed calls, whose reason is the incumbent's.
func troubleEvent(trouble *metav1.Condition) bindingEvent {
	reason := trouble.Reason
	switch reason {
	case v1beta1.ReasonAWSError, v1beta1.ReasonAccessDenied, v1beta1.ReasonTargetGroupNotFound, v1beta1.ReasonNotSupported:
		reason = "FailedReconcile"
	}
	return bindingEvent{corev1.EventTypeWarning, reason, "Reconcile", trouble.Message}
}

// Reasons of events about drift.
const (
	reasonForeignTarget = "ForeignTarget"
	reasonTargetMissing = "TargetMissing"
)

// notices are what users are told of a pass beside the conditions, by a key that stays while the matter does.
func notices(p plan, odd map[string]string, policy Policy) map[string]bindingEvent {
	out := map[string]bindingEvent{}
	for name, why := range odd {
		out["odd "+name] = bindingEvent{corev1.EventTypeWarning, "NodeSkipped", "Reconcile", why}
	}
	if len(p.timedOut) > 0 {
		out["timedOut"] = bindingEvent{corev1.EventTypeWarning, "ReplacementTimedOut", "Deregister", fmt.Sprintf(
			"Deregistering targets that are not asked for any more, although not all others are healthy after --replacement-timeout=%s",
			policy.ReplacementTimeout)}
	}
	for _, target := range p.strangers {
		out["stranger "+target.String()] = bindingEvent{corev1.EventTypeWarning, reasonForeignTarget, "Deregister",
			fmt.Sprintf("Deregistering target %s, which nothing in the cluster explains", target)}
	}
	return out
}

// lostTarget says that somebody else has deregistered a target.
func lostTarget(target elbv2.Target) bindingEvent {
	return bindingEvent{corev1.EventTypeWarning, reasonTargetMissing, "Register",
		fmt.Sprintf("Target %s is not registered any more, though not by us: it is registered again if it is still asked for", target)}
}

// tell records events for what this pass has found and the last one had not, and for lost targets.
func (r *Registrar) tell(binding *v1beta1.TargetGroupBinding, g *group, found map[string]bindingEvent) {
	told := map[string]bool{}
	for key, e := range found {
		if !g.notices[key] {
			r.event(binding, e)
		}
		told[key] = true
	}
	g.notices = told
	for _, target := range g.takeLost() {
		r.event(binding, lostTarget(target))
	}
}

// event records it. The API server refuses notes of over 1 kB.
func (r *Registrar) event(binding *v1beta1.TargetGroupBinding, e bindingEvent) {
	countEvent(e.reason)
	r.Recorder.Eventf(binding, nil, e.kind, e.reason, e.action, "%s", cut(e.note))
}

// tellPod tells the pod's owner why the pod is Ready from now on, or what keeps it from that.
func (r *Registrar) tellPod(pod *corev1.Pod, gate corev1.PodConditionType, target elbv2.Target, health readiness.Health) {
	switch {
	case health.Status == corev1.ConditionTrue:
		r.Recorder.Eventf(pod, nil, corev1.EventTypeNormal, "ReadinessGateOpened", "OpenReadinessGate",
			"Target %s is healthy: readiness gate %s is open", target, gate)
	case health.Reason == readiness.ReasonRegistrationFailed, health.Reason == readiness.ReasonTargetGroupFull:
		r.Recorder.Eventf(pod, nil, corev1.EventTypeWarning, health.Reason, "RegisterTarget",
			"Target %s is not registered: %s", target, cut(health.Message))
	}
}
