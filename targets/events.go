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

// transitions are the events that a change of conditions calls for: when it turns Ready, and when trouble starts or
// changes. Trouble that lasts is one event.
func transitions(before, after []metav1.Condition) []bindingEvent {
	var out []bindingEvent
	wasReady := apimeta.IsStatusConditionTrue(before, v1beta1.ConditionReady)
	if apimeta.IsStatusConditionTrue(after, v1beta1.ConditionReady) && !wasReady {
		out = append(out, bindingEvent{corev1.EventTypeNormal, "SuccessfullyReconciled", "Reconcile", "Successfully reconciled"})
	}
	old := apimeta.FindStatusCondition(before, v1beta1.ConditionDegraded)
	trouble := apimeta.FindStatusCondition(after, v1beta1.ConditionDegraded)
	changed := old == nil || old.Status != trouble.Status || old.Message != trouble.Message
	if trouble.Status == metav1.ConditionTrue && changed {
		out = append(out, troubleEvent(trouble))
	}
	return out
}

func troubleEvent(trouble *metav1.Condition) bindingEvent {
	reason := "FailedReconcile"
	if trouble.Reason == v1beta1.ReasonBackendNotFound {
		reason = "BackendNotFound"
	}
	return bindingEvent{corev1.EventTypeWarning, reason, "Reconcile", trouble.Message}
}

func (r *Registrar) event(binding *v1beta1.TargetGroupBinding, e bindingEvent) {
	r.Recorder.Eventf(binding, nil, e.kind, e.reason, e.action, "%s", e.note)
}

// gateOpened tells the pod's owner why the pod is Ready from now on.
func (r *Registrar) gateOpened(pod *corev1.Pod, gate corev1.PodConditionType, target elbv2.Target) {
	r.Recorder.Eventf(pod, nil, corev1.EventTypeNormal, "ReadinessGateOpened", "OpenReadinessGate",
		"Target %s is healthy: readiness gate %s is open", target, gate)
}
