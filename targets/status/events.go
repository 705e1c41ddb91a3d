// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/targetgate/targetgate/targets/events"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// eventsOf are the events that a written status calls for: when trouble starts or changes, and when a generation of the
// spec is Ready for the first time or again after trouble. Trouble that lasts is one event, a rollout none. The caller holds the
// lock.
func (s *Status) eventsOf(before, after []metav1.Condition) []events.Event {
	told := append(s.networkingEvents(before, after), foreignEvents(before, after)...)
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
func (s *Status) networkingEvents(before, after []metav1.Condition) []events.Event {
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

// foreignEvents tell of foreign targets: of the first ones, and when there is another reason. How many there are may change with each pod
// of another cluster.
func foreignEvents(before, after []metav1.Condition) []events.Event {
	is := apimeta.FindStatusCondition(after, v1beta1.ConditionForeignTargets)
	was := apimeta.FindStatusCondition(before, v1beta1.ConditionForeignTargets)
	if is == nil || was != nil && was.Reason == is.Reason {
		return nil
	}
	return []events.Event{events.Warning(is.Type, "Reconcile", "%s", is.Message)}
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
