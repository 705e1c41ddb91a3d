// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/endpoints"
	"github.com/targetgate/targetgate/targets/ownership"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// bindingChanged passes what users say in bindings, and what others than we have changed of what we write there. What we have written
// ourselves asks for no pass.
func (r *Registrar) bindingChanged() predicate.Predicate {
	said := predicate.Or[client.Object](predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{},
		predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
			before, after := e.ObjectOld.(*v1beta1.TargetGroupBinding), e.ObjectNew.(*v1beta1.TargetGroupBinding)
			return r.isOverwritten(before, after)
		}})
	if r.Mode == ownership.Beside {
		return predicate.Or(said, finalizersChanged())
	}
	return said
}

// isOverwritten reports whether the binding lacks our finalizer, or somebody else has changed its status.
func (r *Registrar) isOverwritten(before, after *v1beta1.TargetGroupBinding) bool {
	m := r.bindings.find(client.ObjectKeyFromObject(after))
	if m == nil {
		return false
	}
	return m.claims.Lacks(after) || !equality.Semantic.DeepEqual(before.Status, after.Status) && m.status.IsForeign(after)
}

// gatesChanged reports whether somebody else has changed the condition of a gate of ours.
func (r *Registrar) gatesChanged(before, after *corev1.Pod) bool {
	changed := false
	for _, name := range readiness.Bindings(after) {
		if m := r.bindings.find(types.NamespacedName{Namespace: after.Namespace, Name: name}); m != nil {
			changed = r.gates.Changed(m.gates, before, after) || changed
		}
	}
	return changed
}

// podChanged reports whether the change can be one of a plan or a condition; both pods are as StripPod keeps them. The kubelet's other
// chatter stays away.
func podChanged(before, after *corev1.Pod) bool {
	return before.UID != after.UID || endpoints.IsTerminating(before) != endpoints.IsTerminating(after) || leavesSooner(before, after) ||
		endpoints.ContainersReady(before) != endpoints.ContainersReady(after) ||
		!maps.Equal(before.Labels, after.Labels) ||
		!slices.Equal(before.Status.PodIPs, after.Status.PodIPs) ||
		before.Annotations[endpoints.PodENIAnnotation] != after.Annotations[endpoints.PodENIAnnotation] ||
		before.Annotations[v1beta1.KeepUntilReplacedAnnotation] != after.Annotations[v1beta1.KeepUntilReplacedAnnotation] ||
		!sameWords(before, after)
}

// leavesSooner reports whether a pod that leaves already was deleted once more, with a shorter grace period, or has ended.
func leavesSooner(before, after *corev1.Pod) bool {
	return before.DeletionTimestamp != nil && after.DeletionTimestamp != nil &&
		(after.DeletionTimestamp.Before(before.DeletionTimestamp) || before.Status.Phase != after.Status.Phase)
}

// nodeChanged lets through what decides whether a node, or a pod on it, is a target, and keeps heartbeats away.
func nodeChanged() predicate.Funcs {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld.(*corev1.Node), e.ObjectNew.(*corev1.Node)
		return endpoints.NodeReadiness(before) != endpoints.NodeReadiness(after) || endpoints.ShutsDown(before) != endpoints.ShutsDown(after) ||
			before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero() ||
			before.Spec.ProviderID != after.Spec.ProviderID ||
			!equality.Semantic.DeepEqual(before.Labels, after.Labels) ||
			!equality.Semantic.DeepEqual(before.Spec.Taints, after.Spec.Taints)
	}}
}

// labelChanged lets through namespaces whose pods may get gates now, or no longer.
func labelChanged() predicate.Funcs {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false }, // its bindings come by themselves
		UpdateFunc: func(e event.UpdateEvent) bool {
			return !maps.Equal(e.ObjectOld.GetLabels(), e.ObjectNew.GetLabels())
		},
	}
}

// sameWords reports whether the same conditions are True: of gates, whosever they are, and two more.
func sameWords(before, after *corev1.Pod) bool {
	for _, c := range after.Status.Conditions {
		if (c.Status == corev1.ConditionTrue) != readiness.IsOpen(before, c.Type) {
			return false
		}
	}
	for _, c := range before.Status.Conditions { // one that is gone
		if c.Status == corev1.ConditionTrue && readiness.Condition(after, c.Type) == nil {
			return false
		}
	}
	return true
}

// finalizersChanged lets through what another controller of bindings does first.
func finalizersChanged() predicate.Funcs {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return !slices.Equal(e.ObjectOld.GetFinalizers(), e.ObjectNew.GetFinalizers())
	}}
}

// duplicatesChanged lets through what may change who has a target group: a binding comes, goes, lets go of it, is taken from the incumbent
// or given back to it, or no longer shares it.
func duplicatesChanged() predicate.Funcs {
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return !e.IsInInitialList }, // they come by themselves
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, after := e.ObjectOld.(*v1beta1.TargetGroupBinding), e.ObjectNew.(*v1beta1.TargetGroupBinding)
			return before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero() ||
				ownership.Released(before) != ownership.Released(after) || ownership.Beside.Holds(before) != ownership.Beside.Holds(after) ||
				before.Spec.MultiClusterTargetGroup != after.Spec.MultiClusterTargetGroup
		},
	}
}
