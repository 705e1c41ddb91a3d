// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/targets/ownership"
	"github.com/targetgate/targetgate/targets/targetgroup"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// Beside the incumbent a binding is ours from the write that puts our finalizer on it (take) to the one that gives it back. Before and
// after these nothing is written for it, neither to AWS nor to the API server, and nothing is remembered.

// beside decides which bindings are ours, and takes and gives them back. Where nobody else works on bindings, all are ours.
type beside struct {
	mode     ownership.Mode
	reader   client.Reader // the cache
	clock    clock.PassiveClock
	bindings *memories
	claims   *claimWriter
	statuses *statusWriter
	fences   fences
	session  func(*v1beta1.TargetGroupBinding) session
	leave    func(types.NamespacedName) // forgets a binding
}

// standAside does what is due before a binding is ours, while the incumbent works on it all the same, and when it is to be ours no
// longer. Done is false when the pass may go on: always, where nobody else works on bindings.
func (b *beside) standAside(
	ctx context.Context, binding *v1beta1.TargetGroupBinding, duplicates []v1beta1.TargetGroupBinding,
) (_ ctrl.Result, done bool, _ error) {
	if b.mode != ownership.Beside {
		return ctrl.Result{}, false, nil
	}
	wanted, err := b.registers(ctx, binding, duplicates)
	if err != nil {
		return ctrl.Result{}, false, err
	}
	key, ours := client.ObjectKeyFromObject(binding), b.isOurs(binding)
	switch {
	case ours && !binding.DeletionTimestamp.IsZero():
		return ctrl.Result{}, false, nil // it takes no other finalizer, so that nobody else can deregister its targets
	case !ours && (!wanted || !binding.DeletionTimestamp.IsZero()):
		return b.leaveAlone(key, duplicates), true, nil
	case !wanted:
		return b.giveBack(b.session(binding), binding), true, nil
	case !ours:
		return b.take(ctx, b.session(binding), binding), true, nil
	default:
		result, done := b.watchRival(ctx, b.session(binding), binding)
		return result, done, nil
	}
}

// leaveAlone forgets a binding that is the incumbent's.
func (b *beside) leaveAlone(key client.ObjectKey, duplicates []v1beta1.TargetGroupBinding) ctrl.Result {
	b.leave(key)
	if len(duplicates) > 0 {
		return ctrl.Result{RequeueAfter: targetgroup.RecheckPause} // another namespace's label may decide
	}
	return ctrl.Result{}
}

// isOurs reports whether the binding has our finalizer, though the cache may not show it yet.
func (b *beside) isOurs(binding *v1beta1.TargetGroupBinding) bool {
	if m := b.bindings.find(client.ObjectKeyFromObject(binding)); m != nil && m.uid == binding.UID {
		return m.claims.isOurs(binding)
	}
	return b.mode.Holds(binding)
}

// registers reports whether the binding should be ours: its namespace has the label, the policy keeps the incumbent from it, and the
// incumbent has no other binding of its target group.
func (b *beside) registers(
	ctx context.Context, binding *v1beta1.TargetGroupBinding, duplicates []v1beta1.TargetGroupBinding,
) (bool, error) {
	if wanted, err := b.isFenced(ctx, binding); err != nil || !wanted {
		return false, err
	}
	for i := range duplicates {
		wanted, err := b.isFenced(ctx, &duplicates[i])
		if err != nil || !wanted && !b.mode.Holds(&duplicates[i]) {
			return false, err
		}
	}
	return true, nil
}

// isFenced reports whether the incumbent is kept from the binding.
func (b *beside) isFenced(ctx context.Context, binding *v1beta1.TargetGroupBinding) (bool, error) {
	registered, err := b.isRegistered(ctx, binding.Namespace)
	return registered && ownership.Unfenced(&binding.Spec) == "", err
}

// isRegistered reports whether the namespace is one whose bindings are ours: all are, where nobody else works on bindings.
func (b *beside) isRegistered(ctx context.Context, namespace string) (bool, error) {
	if b.mode != ownership.Beside {
		return true, nil
	}
	var ns corev1.Namespace
	if err := b.reader.Get(ctx, client.ObjectKey{Name: namespace}, &ns, client.UnsafeDisableDeepCopy); err != nil {
		b.fences.see(namespace, false, b.clock.Now()) // one that is created again is a new one
		return false, fmt.Errorf("getting namespace: %w", err)
	}
	registered := ownership.IsRegistered(ns.Labels)
	b.fences.see(namespace, registered, b.clock.Now())
	return registered, nil
}

// absent is a pass over a binding that does not exist.
func (r *Registrar) absent(ctx context.Context, key types.NamespacedName) (ctrl.Result, error) {
	registered, err := r.beside.isRegistered(ctx, key.Namespace)
	if client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, err
	}
	if !registered {
		r.leave(key)
		return ctrl.Result{}, nil
	}
	return r.orphaned(key), nil
}

// leave forgets a binding.
func (r *Registrar) leave(key types.NamespacedName) {
	deleteGauges(key)
	if m := r.bindings.find(key); m != nil { // nothing that is queued is sent any more
		m.group.Retire()
		m.status.drop()
	}
	r.bindings.forget(key)
	r.rules.forget(key)
	r.resolver.Holders.Hold(key, nil)
	r.resolver.Selectors.Drop(key)
}

// take has our finalizer put on the binding, in the place of the incumbent's, once the policy must be known to every API server. One whose
// record we may not read stays with the incumbent.
func (b *beside) take(ctx context.Context, s session, binding *v1beta1.TargetGroupBinding) ctrl.Result {
	now := b.clock.Now()
	if wait := b.fences.wait(binding.Namespace, now); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}
	}
	if binding.Spec.MultiClusterTargetGroup && !b.claims.mayRecord(ctx, binding) {
		return ctrl.Result{RequeueAfter: targetgroup.RecheckPause}
	}
	if binding.IsHeld() {
		s.rival.settlesAt = now.Add(settleDelay)
	}
	var next requeue
	next.in(b.claims.take(s, binding))
	return next.result()
}

// giveBack has the incumbent's finalizer put in the place of ours when no call or write of ours is under way any more. Calls that have
// not begun are dropped, and no target is touched.
func (b *beside) giveBack(s session, binding *v1beta1.TargetGroupBinding) ctrl.Result {
	underWay := s.group.Retire()
	if s.status.drop() || underWay {
		return ctrl.Result{RequeueAfter: duplicatePause}
	}
	var next requeue
	next.in(b.claims.giveBack(s, binding))
	return next.result()
}

// watchRival keeps a pass from going on while the incumbent works on the binding, too, or may end a pass that it began before the
// binding was ours.
func (b *beside) watchRival(ctx context.Context, s session, binding *v1beta1.TargetGroupBinding) (_ ctrl.Result, done bool) {
	now := b.clock.Now()
	wait, alarm := s.rival.look(binding, now)
	if wait <= 0 && ownership.HasBoth(binding) { // it has stopped, and its finalizer is left
		return b.take(ctx, s, binding), true
	}
	if wait <= 0 {
		return ctrl.Result{}, false
	}
	var next requeue
	next.in(wait)
	if alarm {
		s.group.Retire()
		next.in(b.statuses.write(s, binding, statusInput{
			generation: binding.Generation, group: s.group.Snapshot(), claimFailure: s.claims.failure(), rival: rivalWorks,
		}))
	}
	return next.result(), true
}

// isPrompt reports whether a generation of the binding counts as observed when it is seen. The incumbent's other controllers wait for that,
// and go on to the next load balancer then. The record of a shared group is believed by it, so there it waits for AWS.
func (b *beside) isPrompt(binding *v1beta1.TargetGroupBinding) bool {
	return b.mode == ownership.Beside && !binding.Spec.MultiClusterTargetGroup
}
