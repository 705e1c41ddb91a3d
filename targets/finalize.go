// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/elbv2"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// finalize takes a binding that is being deleted apart: its gates are opened whatever AWS says, its targets are
// deregistered, and the finalizer goes when AWS has accepted that for every target of a group that has been read. Targets
// of which another binding takes care are left to it.
func (r *Registrar) finalize(
	ctx context.Context, s session, binding *v1beta1.TargetGroupBinding, rivals []v1beta1.TargetGroupBinding,
) (ctrl.Result, error) {
	defer observeStage(stageCleanup, r.Clock)()
	if !controllerutil.ContainsFinalizer(binding, v1beta1.Finalizer) {
		return ctrl.Result{}, r.openGates(ctx, s.key, readiness.BindingDeleted())
	}
	if elder(binding, rivals) != nil || hasHeir(rivals) {
		return r.handOver(ctx, s, binding)
	}
	if err := r.recall(ctx, s, binding); err != nil {
		return ctrl.Result{}, errors.Join(err, r.openGates(ctx, s.key, readiness.BindingDeleted()))
	}
	mine := s.group.mine(binding)
	entries, _ := s.group.snapshot()
	removal := planRemoval(entries, mine)
	retryIn := r.letGo(s, removal, 0)
	r.letIn(s, removal, false)
	gateErr := r.openGates(ctx, s.key, readiness.BindingDeleted())
	entries, complete := s.group.snapshot()
	if s.group.emptied(entries, complete, mine) {
		return r.releaseAfter(ctx, s.group, binding, gateErr)
	}
	readIn := r.observe(s, look{at: s.group.lastReading().Add(pollUnsettled), class: elbv2.ClassOther})
	countIn := r.writeStatus(s, binding, view{
		generation: binding.Generation, deleting: true, complete: complete, entries: entries,
	})
	return ctrl.Result{RequeueAfter: r.soonestRetry(ctx, gateErr, retryIn, readIn, countIn)}, nil
}

// planRemoval deregisters everything of ours that is or may be in the group.
func planRemoval(entries map[elbv2.Target]entry, mine func(elbv2.Target) bool) plan {
	p := plan{deregister: departures{}}
	for target, e := range entries {
		if mine(target) && e.mayBeIn() && e.leavable() {
			p.deregister[target] = departureUnknown
		}
	}
	return p
}

// emptied reports whether nothing of ours is left in the group, or the group itself is gone.
func (g *group) emptied(entries map[elbv2.Target]entry, complete bool, mine func(elbv2.Target) bool) bool {
	if g.arn == "" || g.isGone() {
		return true
	}
	for target, e := range entries {
		if mine(target) && (e.mayBeIn() || e.registering || e.deregistering) {
			return false
		}
	}
	return complete
}

// openGates opens the binding's gate in every pod that carries it.
func (r *Registrar) openGates(ctx context.Context, key types.NamespacedName, why readiness.Health) error {
	return r.openGatesOf(ctx, key, r.gatedPods(key), why)
}

func (r *Registrar) openGatesOf(ctx context.Context, key types.NamespacedName, pods []*corev1.Pod, why readiness.Health) error {
	return sideBySide(ctx, pods, func(ctx context.Context, pod *corev1.Pod) error {
		wrote, err := r.Writer.Set(ctx, pod, readiness.GateFor(key.Name), why)
		if wrote {
			r.tellPod(verdict{pod: pod, health: why}, readiness.GateFor(key.Name))
		}
		return err
	})
}

// maxPatches is how many pods are patched side by side when their binding goes.
const maxPatches = 16

// sideBySide writes to each pod, some at a time, and returns all failures together.
func sideBySide[T any](ctx context.Context, pods []T, write func(context.Context, T) error) error {
	failures := make([]error, len(pods))
	var writes errgroup.Group
	writes.SetLimit(maxPatches)
	for i, pod := range pods {
		writes.Go(func() error {
			ctx, cancel := context.WithTimeout(ctx, patchTimeout)
			defer cancel()
			failures[i] = write(ctx, pod)
			return nil
		})
	}
	_ = writes.Wait() // its functions return nil
	return errors.Join(failures...)
}

// releaseAfter ends a pass with the binding's release, which is tried again soon when the cache is behind.
func (r *Registrar) releaseAfter(ctx context.Context, g *group, binding *v1beta1.TargetGroupBinding, gateErr error) (ctrl.Result, error) {
	err := errors.Join(gateErr, r.release(ctx, g, binding))
	if apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: jitter(conflictRetry)}, nil
	}
	return ctrl.Result{}, err
}

// release lets the API server delete the binding, once what we keep beside it is gone.
func (r *Registrar) release(ctx context.Context, g *group, binding *v1beta1.TargetGroupBinding) error {
	if err := r.forget(ctx, binding); err != nil {
		return err
	}
	before := binding.DeepCopy()
	controllerutil.RemoveFinalizer(binding, v1beta1.Finalizer)
	err := r.Client.Patch(ctx, binding, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if client.IgnoreNotFound(err) != nil {
		r.tellFailed(binding, g, err, failedRemoveFinalizer(err))
		return fmt.Errorf("removing finalizer: %w", err)
	}
	return nil
}

// cacheLag is longer than one cache is ever behind another.
const cacheLag = 15 * time.Second

// orphanHoldOff is how long a pod must be seen without the binding of its gate before the gate is opened for that: the cache of
// bindings may be behind the cache of pods, also when a binding is created again under the name of one that went.
const orphanHoldOff = cacheLag

// orphan is a pod at the gate of a binding that does not exist.
type orphan struct {
	binding types.NamespacedName
	pod     types.UID
}

// orphaned opens the gates of a binding that does not exist.
func (r *Registrar) orphaned(ctx context.Context, key types.NamespacedName) (ctrl.Result, error) {
	hideBinding(key)
	due, wait := r.heldOff(key, r.gatedPods(key))
	return ctrl.Result{RequeueAfter: wait}, r.openGatesOf(ctx, key, due, readiness.BindingDeleted())
}

// heldOff forgets the binding's group and finds the pods whose hold-off is over. It says how long the next one's lasts, 0 when
// none waits.
func (r *Registrar) heldOff(key types.NamespacedName, pods []*corev1.Pod) (due []*corev1.Pod, wait time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.groups, key)
	before := r.forgetOrphans(key)
	now := r.Clock.Now()
	for _, pod := range pods {
		if isLeaving(pod) || readiness.IsOpen(pod, readiness.GateFor(key.Name)) {
			continue
		}
		o := orphan{key, pod.UID}
		since, known := before[o]
		if !known {
			since = now
		}
		r.orphans[o] = since
		if left := orphanHoldOff - now.Sub(since); left > 0 {
			wait = soonest(wait, left)
		} else {
			due = append(due, pod)
		}
	}
	return due, wait
}

// forgetOrphans takes the binding's orphans out, and since when they were seen. The caller holds the lock.
func (r *Registrar) forgetOrphans(key types.NamespacedName) map[orphan]time.Time {
	taken := map[orphan]time.Time{}
	maps.DeleteFunc(r.orphans, func(o orphan, since time.Time) bool {
		if o.binding == key {
			taken[o] = since
		}
		return o.binding == key
	})
	return taken
}
