// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/targets/claims"
	"github.com/targetgate/targetgate/targets/ownership"
	"github.com/targetgate/targetgate/targets/report"
	"github.com/targetgate/targetgate/targets/status"
	"github.com/targetgate/targetgate/targets/targetgroup"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// Beside the incumbent a binding is ours from the write that puts our finalizer on it (take) to the one that gives it back. Before and
// after these nothing is written for it, neither to AWS nor to the API server, and nothing is remembered. An event is all it may get;
// gates of its pods are opened where users ask for that (early.go).

// beside decides which bindings are ours, and takes and gives them back. Where nobody else works on bindings, all are ours.
type beside struct {
	mode     ownership.Mode
	reader   client.Reader // the cache
	clock    clock.PassiveClock
	bindings *memories
	claims   *claims.Writer
	statuses *status.Writer
	reporter report.Reporter
	fences   fences
	untaken  untaken
	session  func(*v1beta1.TargetGroupBinding) session
	leave    func(types.NamespacedName) // forgets a binding
	// early opens the gates of a binding that is not ours, where that is wanted, and says when to look again.
	early func(context.Context, *v1beta1.TargetGroupBinding) (time.Duration, error)
}

// standAside does what is due before a binding is ours, while the incumbent works on it all the same, and when it is to be ours no
// longer. Done is false when the pass may go on: always, where nobody else works on bindings.
func (b *beside) standAside(
	ctx context.Context, binding *v1beta1.TargetGroupBinding, duplicates []v1beta1.TargetGroupBinding,
) (_ ctrl.Result, done bool, _ error) {
	if b.mode != ownership.Beside {
		return ctrl.Result{}, false, nil
	}
	why, err := b.whyNot(ctx, binding, duplicates)
	if err != nil {
		return ctrl.Result{}, false, err
	}
	switch standing := b.standing(binding); {
	case standing == claims.Left:
		return ctrl.Result{RequeueAfter: duplicatePause}, true, nil
	case standing == claims.Theirs:
		result, err := b.watchTheirs(ctx, binding, duplicates, why)
		return result, true, err
	case !binding.DeletionTimestamp.IsZero():
		return ctrl.Result{}, false, nil
	case standing == claims.Leaving || why != "":
		return b.giveBack(b.session(binding), binding), true, nil
	default:
		result, done := b.watchRival(ctx, b.session(binding), binding)
		return result, done, nil
	}
}

// watchTheirs takes a binding of the incumbent's if it is to be ours, or opens its gates early. Why says why it is not to be.
func (b *beside) watchTheirs(
	ctx context.Context, binding *v1beta1.TargetGroupBinding, duplicates []v1beta1.TargetGroupBinding, why string,
) (ctrl.Result, error) {
	if why == "" && binding.DeletionTimestamp.IsZero() {
		return b.take(ctx, b.session(binding), binding), nil
	}
	b.leaveAlone(binding, why)
	again, err := b.early(ctx, binding)
	return recheck(duplicates, again), err
}

// leaveAlone forgets a binding that is the incumbent's.
func (b *beside) leaveAlone(binding *v1beta1.TargetGroupBinding, why string) {
	b.leave(client.ObjectKeyFromObject(binding))
	b.tell(binding, why)
}

// recheck is when to look again at the incumbent's binding: after the pause, and where another namespace's label may decide.
func recheck(duplicates []v1beta1.TargetGroupBinding, pause time.Duration) ctrl.Result {
	var next requeue
	next.in(pause)
	if len(duplicates) > 0 {
		next.in(targetgroup.RecheckPause)
	}
	return next.result()
}

// standing says whose the binding is.
func (b *beside) standing(binding *v1beta1.TargetGroupBinding) claims.Standing {
	if m := b.bindings.find(client.ObjectKeyFromObject(binding)); m != nil && m.uid == binding.UID {
		return m.claims.Standing(binding)
	}
	if b.mode.Holds(binding) {
		return claims.Ours
	}
	return claims.Theirs
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
	r.beside.untaken.forget(key)
	r.early.forget(key)
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
	report.DeleteGauges(key)
	if m := r.bindings.find(key); m != nil { // nothing that is queued is sent any more
		m.group.Retire()
		m.status.Drop(r.Clock.Now())
	}
	r.bindings.forget(key)
	r.rules.forget(key)
	r.resolver.Holders.Hold(key, nil)
	r.resolver.Selectors.Drop(key)
}

// take has our finalizer put on the binding, in the place of the incumbent's, once the policy must be known to every API server. One whose
// record we may not read stays with the incumbent.
func (b *beside) take(ctx context.Context, s session, binding *v1beta1.TargetGroupBinding) ctrl.Result {
	if wait := b.fences.wait(binding.Namespace, b.clock.Now()); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}
	}
	if binding.Spec.MultiClusterTargetGroup && !b.mode.Holds(binding) && !b.claims.MayRecord(ctx, binding) {
		b.tell(binding, ownership.NoRecord)
		return ctrl.Result{RequeueAfter: targetgroup.RecheckPause}
	}
	b.untaken.forget(s.key)
	var next requeue
	next.in(b.claims.Take(s.claims, binding))
	return next.result()
}

// giveBack has the incumbent's finalizer put in the place of ours when no call or write of ours is under way any more. Calls that have
// not begun are dropped, and no target is touched. The next session of the binding has a group that may send again.
func (b *beside) giveBack(s session, binding *v1beta1.TargetGroupBinding) ctrl.Result {
	underWay := s.group.Retire()
	if s.status.Drop(b.clock.Now()) || underWay {
		return ctrl.Result{RequeueAfter: duplicatePause}
	}
	var next requeue
	next.in(b.claims.GiveBack(s.claims, binding))
	return next.result()
}

// watchRival keeps a pass from going on while the incumbent works on the binding, too, or may end a pass that it began before the
// binding was ours. The status is written all the same: a change of the spec has been seen.
func (b *beside) watchRival(ctx context.Context, s session, binding *v1beta1.TargetGroupBinding) (_ ctrl.Result, done bool) {
	wait, alarm := s.rival.look(binding, s.claims.Settled(), b.clock.Now())
	if wait <= 0 && ownership.HasBoth(binding) { // it has stopped, and its finalizer is left
		return b.take(ctx, s, binding), true
	}
	if wait <= 0 {
		return ctrl.Result{}, false
	}
	why := ""
	if alarm {
		s.group.Retire()
		why = rivalWorks
	}
	var next requeue
	next.in(wait)
	next.in(b.statuses.Write(s.status, binding, status.Input{
		Generation: binding.Generation, Group: s.group.Snapshot(), ClaimFailure: s.claims.Failure(), Rival: why,
		Promptly: b.isPrompt(binding),
	}))
	return next.result(), true
}

// isPrompt reports whether a generation of the binding counts as observed when it is seen. The incumbent's other controllers wait for that,
// and go on to the next load balancer then. The record of a shared group is believed by it, so there it waits for AWS.
func (b *beside) isPrompt(binding *v1beta1.TargetGroupBinding) bool {
	return b.mode == ownership.Beside && !binding.Spec.MultiClusterTargetGroup
}
