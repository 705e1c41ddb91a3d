// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"cmp"
	"fmt"

	"github.com/targetgate/targetgate/targets/v1beta1"
)

// Taken returns why a binding with this spec may not be created beside the others of its target group, or "". One that is
// being deleted blocks no other: a deletion that cannot finish because AWS is unreachable locks no group.
func Taken(spec *v1beta1.TargetGroupBindingSpec, others []v1beta1.TargetGroupBinding) string {
	for i := range others {
		other := &others[i]
		shared := other.Spec.MultiClusterTargetGroup && spec.MultiClusterTargetGroup
		if !shared && other.DeletionTimestamp.IsZero() {
			return takenBy(other)
		}
	}
	return ""
}

// Unmanageable says why targetgate must leave the binding alone, empty when it need not, and whether that is only until the
// group has been handed over to it.
func Unmanageable(binding *v1beta1.TargetGroupBinding, duplicates []v1beta1.TargetGroupBinding) (why string, successor bool) {
	if why := unworkable(binding); why != "" {
		return why, false
	}
	return Refusal(binding, duplicates)
}

// unworkable says why nothing can be done for the binding, whatever others there are.
func unworkable(binding *v1beta1.TargetGroupBinding) string {
	return cmp.Or(Incomplete(&binding.Spec), unrecordable(binding))
}

// Refusal returns why a binding that exists may not act on its target group, or "", and whether it only waits for the group to
// be handed over to it. Duplicates are the other bindings of the group that do not share it with this one.
func Refusal(binding *v1beta1.TargetGroupBinding, duplicates []v1beta1.TargetGroupBinding) (why string, successor bool) {
	owner := Owner(binding, duplicates)
	switch {
	case owner == nil:
		return "", false
	case owner.DeletionTimestamp.IsZero():
		return "spec.targetGroupARN: " + takenBy(owner), false
	default:
		return fmt.Sprintf("spec.targetGroupARN: TargetGroupBinding %s/%s still has this target group, and is being deleted",
			owner.Namespace, owner.Name), HasSuccessor([]v1beta1.TargetGroupBinding{*binding})
	}
}

func takenBy(owner *v1beta1.TargetGroupBinding) string {
	return fmt.Sprintf("TargetGroupBinding %s/%s has this target group already", owner.Namespace, owner.Name)
}

// Owner returns the oldest of the duplicates that can act, if it is older than the binding, or nil.
func Owner(binding *v1beta1.TargetGroupBinding, duplicates []v1beta1.TargetGroupBinding) *v1beta1.TargetGroupBinding {
	oldest := binding
	for i := range duplicates {
		if Incomplete(&duplicates[i].Spec) == "" && older(&duplicates[i], oldest) {
			oldest = &duplicates[i]
		}
	}
	if oldest == binding {
		return nil
	}
	return oldest
}

func older(a, b *v1beta1.TargetGroupBinding) bool {
	if !a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.CreationTimestamp.Before(&b.CreationTimestamp)
	}
	return a.UID < b.UID
}

// HasSuccessor reports whether one of the duplicates takes over every target when the owner goes. One that shares the group
// with other clusters cares only for its own targets.
func HasSuccessor(duplicates []v1beta1.TargetGroupBinding) bool {
	for i := range duplicates {
		spec := &duplicates[i].Spec
		if duplicates[i].DeletionTimestamp.IsZero() && !spec.MultiClusterTargetGroup && Incomplete(spec) == "" {
			return true
		}
	}
	return false
}

// Released reports whether the binding is being deleted and no controller of bindings holds it. Someone else may.
func Released(binding *v1beta1.TargetGroupBinding) bool {
	return !binding.DeletionTimestamp.IsZero() && !binding.IsHeld()
}
