// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package beside

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
	"github.com/targetgate/targetgate/targets/plan"
	"github.com/targetgate/targetgate/targets/report"
	"github.com/targetgate/targetgate/targets/retry"
	"github.com/targetgate/targetgate/targets/status"
	"github.com/targetgate/targetgate/targets/targetgroup"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// Memories are what the registrar remembers of bindings.
type Memories interface {
	// Of is what is remembered of the binding, from now on.
	Of(*v1beta1.TargetGroupBinding) Memory
	// Claims are those of the binding, nil when nothing is remembered of it.
	Claims(*v1beta1.TargetGroupBinding) *claims.Claims
	// Forget drops what is remembered of the binding of that name.
	Forget(types.NamespacedName)
}

// Memory is what is remembered of one binding.
type Memory struct {
	Group  *targetgroup.Group
	Claims *claims.Claims
	Status *status.Status
	Rival  *Rival
	// Foreign is what is known of targets that nothing in the cluster explains.
	Foreign plan.Foreign
}

// Taker decides which bindings are ours, and takes and gives them back. Where nobody else works on bindings, all are ours.
type Taker struct {
	Mode     ownership.Mode
	Reader   client.Reader // the cache
	Clock    clock.PassiveClock
	Memories Memories
	Claims   *claims.Writer
	Statuses *status.Writer
	Reporter report.Reporter
	Early    *EarlyGates

	fences  fences
	untaken untaken
}

// callPause is the pause before the next check of a call or write of ours that is under way.
const callPause = 500 * time.Millisecond

// StandAside takes the binding, gives it back, or waits while the incumbent works on it. When done, the pass ends. Where nobody else works
// on bindings it is never done.
func (t *Taker) StandAside(
	ctx context.Context, binding *v1beta1.TargetGroupBinding, duplicates []v1beta1.TargetGroupBinding,
) (_ ctrl.Result, done bool, _ error) {
	if t.Mode != ownership.Beside {
		return ctrl.Result{}, false, nil
	}
	why, err := t.whyNot(ctx, binding, duplicates)
	if err != nil {
		return ctrl.Result{}, false, err
	}
	switch standing := t.standing(binding); {
	case standing == claims.Left:
		return ctrl.Result{RequeueAfter: callPause}, true, nil
	case standing == claims.Theirs:
		result, err := t.watchTheirs(ctx, binding, duplicates, why)
		return result, true, err
	case !binding.DeletionTimestamp.IsZero():
		return ctrl.Result{}, false, nil
	case standing == claims.Leaving || why != "":
		return t.giveBack(t.Memories.Of(binding), binding), true, nil
	default:
		result, done := t.watchRival(ctx, t.Memories.Of(binding), binding)
		return result, done, nil
	}
}

// watchTheirs takes a binding of the incumbent's if it is to be ours, or opens its gates early. Why says why it is not to be.
func (t *Taker) watchTheirs(
	ctx context.Context, binding *v1beta1.TargetGroupBinding, duplicates []v1beta1.TargetGroupBinding, why string,
) (ctrl.Result, error) {
	if why == "" && binding.DeletionTimestamp.IsZero() {
		return t.take(ctx, t.Memories.Of(binding), binding), nil
	}
	t.leaveAlone(binding, why)
	again, err := t.Early.Open(ctx, binding)
	if err != nil {
		return ctrl.Result{}, err
	}
	return recheck(duplicates, again), nil
}

// leaveAlone forgets a binding that is the incumbent's.
func (t *Taker) leaveAlone(binding *v1beta1.TargetGroupBinding, why string) {
	t.Memories.Forget(client.ObjectKeyFromObject(binding))
	t.tell(binding, why)
}

// recheck is when to look again at the incumbent's binding: after the pause, and where another namespace's label may decide.
func recheck(duplicates []v1beta1.TargetGroupBinding, pause time.Duration) ctrl.Result {
	if len(duplicates) > 0 {
		pause = retry.Soonest(pause, targetgroup.RecheckPause)
	}
	return ctrl.Result{RequeueAfter: pause}
}

// standing says whose the binding is.
func (t *Taker) standing(binding *v1beta1.TargetGroupBinding) claims.Standing {
	if known := t.Memories.Claims(binding); known != nil {
		return known.Standing(binding)
	}
	if t.Mode.Holds(binding) {
		return claims.Ours
	}
	return claims.Theirs
}

// IsRegistered reports whether the namespace is one whose bindings are ours: all are, where nobody else works on bindings.
func (t *Taker) IsRegistered(ctx context.Context, namespace string) (bool, error) {
	if t.Mode != ownership.Beside {
		return true, nil
	}
	var ns corev1.Namespace
	if err := t.Reader.Get(ctx, client.ObjectKey{Name: namespace}, &ns, client.UnsafeDisableDeepCopy); err != nil {
		t.fences.see(namespace, false, t.Clock.Now()) // one that is created again is a new one
		return false, fmt.Errorf("getting namespace: %w", err)
	}
	registered := ownership.IsRegistered(ns.Labels)
	t.fences.see(namespace, registered, t.Clock.Now())
	return registered, nil
}

// take has our finalizer put on the binding, in the place of the incumbent's, once the policy must be known to every API server. One whose
// record we may not read stays with the incumbent.
func (t *Taker) take(ctx context.Context, m Memory, binding *v1beta1.TargetGroupBinding) ctrl.Result {
	if wait := t.fences.wait(binding.Namespace, t.Clock.Now()); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}
	}
	if binding.Spec.MultiClusterTargetGroup && !t.Mode.Holds(binding) && !t.Claims.MayRecord(ctx, binding) {
		t.tell(binding, ownership.NoRecord)
		return ctrl.Result{RequeueAfter: targetgroup.RecheckPause}
	}
	t.untaken.forget(client.ObjectKeyFromObject(binding))
	return ctrl.Result{RequeueAfter: t.Claims.Take(m.Claims, binding)}
}

// giveBack has the incumbent's finalizer put in the place of ours when no call or write of ours is under way any more. Calls that have
// not begun are dropped, and no target is touched. The next pass over the binding has a group that may send again.
func (t *Taker) giveBack(m Memory, binding *v1beta1.TargetGroupBinding) ctrl.Result {
	underWay := m.Group.Retire()
	if m.Status.Drop(t.Clock.Now()) || underWay {
		return ctrl.Result{RequeueAfter: callPause}
	}
	return ctrl.Result{RequeueAfter: t.Claims.GiveBack(m.Claims, binding)}
}

// watchRival keeps a pass from going on while the incumbent works on the binding, too, or may end a pass that it began before the
// binding was ours. The status is written all the same: a change of the spec has been seen.
func (t *Taker) watchRival(ctx context.Context, m Memory, binding *v1beta1.TargetGroupBinding) (_ ctrl.Result, done bool) {
	wait, alarm := m.Rival.look(binding, m.Claims.Settled(), t.Clock.Now())
	if wait <= 0 && ownership.HasBoth(binding) { // it has stopped, and its finalizer is left
		return t.take(ctx, m, binding), true
	}
	if wait <= 0 {
		return ctrl.Result{}, false
	}
	why := ""
	if alarm {
		m.Group.Retire()
		why = rivalWorks
	}
	again := t.Statuses.Write(m.Status, binding, status.Input{
		Generation: binding.Generation, Group: m.Group.Snapshot(), ClaimFailure: m.Claims.Failure(), Foreign: m.Foreign, Rival: why,
		Promptly: t.IsPrompt(binding),
	})
	return ctrl.Result{RequeueAfter: retry.Soonest(wait, again)}, true
}

// IsPrompt reports whether a generation of the binding counts as observed when it is seen. The incumbent's other controllers wait for that,
// and go on to the next load balancer then. The record of a shared group is believed by it, so there it waits for AWS.
func (t *Taker) IsPrompt(binding *v1beta1.TargetGroupBinding) bool {
	return t.Mode == ownership.Beside && !binding.Spec.MultiClusterTargetGroup
}

// Absent is called when a binding does not exist.
func (t *Taker) Absent(key types.NamespacedName) {
	t.untaken.forget(key)
	t.Early.Forget(key)
}
