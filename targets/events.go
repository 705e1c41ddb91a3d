// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

func troubleEvent(trouble *metav1.Condition) bindingEvent {
	reason := "FailedReconcile"
	if trouble.Reason == v1beta1.ReasonBackendNotFound {
		reason = "BackendNotFound"
	}
	return bindingEvent{corev1.EventTypeWarning, reason, "Reconcile", trouble.Message}
}

// event records it. The API server refuses notes of over 1 kB.
func (r *Registrar) event(binding *v1beta1.TargetGroupBinding, e bindingEvent) {
	r.Recorder.Eventf(binding, nil, e.kind, e.reason, e.action, "%s", cut(e.note))
}

// gateOpened tells the pod's owner why the pod is Ready from now on.
func (r *Registrar) gateOpened(pod *corev1.Pod, gate corev1.PodConditionType, target elbv2.Target) {
	r.Recorder.Eventf(pod, nil, corev1.EventTypeNormal, "ReadinessGateOpened", "OpenReadinessGate",
		"Target %s is healthy: readiness gate %s is open", target, gate)
}
