// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"fmt"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/targetgate/targetgate/targets/ownership"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// Package ownership says which of the bindings of one target group acts. A binding that acted already, as the older one
// reached our cache after it, is retired before the older one acts: it sends nothing more, and a call that is under way is
// waited for. One that is deleted hands the group over with all targets in it: those that the successor asks for stay
// registered without a gap, and the others are nobody's, which the successor's next readings find out.

// duplicatePause is the pause before the next look at a duplicate's call that is under way.
const duplicatePause = 500 * time.Millisecond

// duplicates are the other bindings of the binding's target group, but for those that share it knowingly as it does, and those that
// have let go of it already. Of a group that thousands share, those are not even listed.
func (o others) duplicates(ctx context.Context, binding *v1beta1.TargetGroupBinding) ([]v1beta1.TargetGroupBinding, error) {
	return duplicatesIn(ctx, o.reader, binding)
}

func duplicatesIn(ctx context.Context, reader client.Reader, binding *v1beta1.TargetGroupBinding) ([]v1beta1.TargetGroupBinding, error) {
	if binding.Spec.TargetGroupARN == "" {
		return nil, nil
	}
	index := ownership.IndexGroup
	if binding.Spec.MultiClusterTargetGroup {
		index = ownership.IndexExclusive
	}
	var list v1beta1.TargetGroupBindingList
	err := reader.List(ctx, &list, client.UnsafeDisableDeepCopy, client.MatchingFields{index: binding.Spec.TargetGroupARN})
	if err != nil {
		return nil, fmt.Errorf("listing bindings of the target group: %w", err)
	}
	var duplicates []v1beta1.TargetGroupBinding
	for i := range list.Items {
		other := &list.Items[i]
		if other.UID != binding.UID && !ownership.Released(other) {
			duplicates = append(duplicates, *other)
		}
	}
	return duplicates, nil
}

// retire has the duplicates send nothing more, and reports whether a call of theirs is still under way.
func (r *Registrar) retire(duplicates []v1beta1.TargetGroupBinding) (underWay bool) {
	for i := range duplicates {
		if m := r.remembered(client.ObjectKeyFromObject(&duplicates[i])); m != nil && m.group.Retire() {
			underWay = true
		}
	}
	return underWay
}

// remembered is what is remembered of a binding, nil when nothing is.
func (r *Registrar) remembered(key client.ObjectKey) *memory {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.bindings[key]
}

// transfer lets a binding that is being deleted go without touching a target: they are the other binding's.
func (r *Registrar) transfer(s session, binding *v1beta1.TargetGroupBinding) (next time.Duration) {
	if s.group.Retire() {
		return duplicatePause
	}
	return r.claims.release(s, binding, nil)
}

// bindingsOfGroup are the other bindings of the binding's target group.
func (w *watcher) bindingsOfGroup(ctx context.Context, o client.Object) []reconcile.Request {
	duplicates, err := w.others.duplicates(ctx, o.(*v1beta1.TargetGroupBinding))
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to list the bindings of a target group")
	}
	out := make([]reconcile.Request, len(duplicates))
	for i := range duplicates {
		out[i].NamespacedName = client.ObjectKeyFromObject(&duplicates[i])
	}
	return out
}

// duplicatesChanged lets through what may change who has a target group: a binding comes, goes, lets go of it or no longer shares it.
func duplicatesChanged() predicate.Funcs {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld.(*v1beta1.TargetGroupBinding), e.ObjectNew.(*v1beta1.TargetGroupBinding)
		return before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero() || ownership.Released(before) != ownership.Released(after) ||
			before.Spec.MultiClusterTargetGroup != after.Spec.MultiClusterTargetGroup
	}}
}
