// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/elbv2"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// finalize takes a binding that is being deleted apart: its targets are deregistered and its gates opened, whatever AWS
// says; the finalizer goes when a reading has shown that nothing is left.
func (r *Registrar) finalize(ctx context.Context, s session, binding *v1beta1.TargetGroupBinding) (ctrl.Result, error) {
	if !controllerutil.ContainsFinalizer(binding, v1beta1.Finalizer) {
		return ctrl.Result{}, nil
	}
	entries, complete := s.group.snapshot()
	p, err := r.planRemoval(ctx, binding, entries)
	if err != nil {
		return ctrl.Result{}, err
	}
	retryIn := r.apply(s, p)
	err = r.openGates(ctx, s.key)
	if err != nil || !r.emptied(s, entries, complete) {
		readIn := r.observe(s, urgencyOf(false, true))
		return ctrl.Result{RequeueAfter: soonest(retryIn, readIn)}, errors.Join(err, r.writeStatus(ctx, s, binding, view{
			generation: binding.Generation, deleting: true, complete: complete, entries: entries,
		}))
	}
	return ctrl.Result{}, r.release(ctx, binding)
}

// planRemoval deregisters everything in the group; in a group that several clusters share, only the targets that are
// pods of this cluster.
func (r *Registrar) planRemoval(ctx context.Context, binding *v1beta1.TargetGroupBinding, entries map[elbv2.Target]entry) (plan, error) {
	p := plan{deregister: departures{}}
	for target, e := range entries {
		if e.presence != registered || e.deregistering {
			continue
		}
		if binding.Spec.MultiClusterTargetGroup {
			pod, err := r.resolver.podAt(ctx, binding.Namespace, target.ID)
			if err != nil {
				return p, err
			}
			if pod == nil {
				continue
			}
		}
		p.deregister[target] = departureUnknown
	}
	return p, nil
}

// emptied reports whether nothing of ours is left in the group, or the group itself is gone.
func (r *Registrar) emptied(s session, entries map[elbv2.Target]entry, complete bool) bool {
	if s.group.arn == "" || elbv2.IsTargetGroupNotFound(s.group.failure()) {
		return true
	}
	return complete && !s.group.working() && !holdsRegistered(entries)
}

// openGates opens the gates of a binding that is going or gone, in every pod that carries them.
func (r *Registrar) openGates(ctx context.Context, key types.NamespacedName) error {
	var pods corev1.PodList
	err := r.Client.List(ctx, &pods, client.InNamespace(key.Namespace), client.UnsafeDisableDeepCopy,
		client.MatchingFields{indexPodGate: key.Name})
	if err != nil {
		return fmt.Errorf("listing gated pods: %w", err)
	}
	var failures []error
	for i := range pods.Items {
		_, err := r.Writer.Set(ctx, &pods.Items[i], readiness.GateFor(key.Name), readiness.BindingDeleted())
		failures = append(failures, err)
	}
	return errors.Join(failures...)
}

func (r *Registrar) release(ctx context.Context, binding *v1beta1.TargetGroupBinding) error {
	before := binding.DeepCopy()
	controllerutil.RemoveFinalizer(binding, v1beta1.Finalizer)
	err := r.Client.Patch(ctx, binding, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if client.IgnoreNotFound(err) != nil {
		r.event(binding, failedRemoveFinalizer(err))
		return fmt.Errorf("removing finalizer: %w", err)
	}
	return nil
}

// orphanHoldOff is how long a binding that was never seen must be missing before the gates that name it are opened: the
// cache of bindings may be behind the cache of pods, but not that long.
const orphanHoldOff = 15 * time.Second

// orphaned opens the gates of a binding that does not exist. One that was there before is gone for good; one that
// nobody has seen may be one that the cache does not show yet, and its pods wait for a while.
func (r *Registrar) orphaned(ctx context.Context, key types.NamespacedName) (ctrl.Result, error) {
	if wait := r.orphanedFor(key); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	return ctrl.Result{}, r.openGates(ctx, key)
}

// orphanedFor forgets the binding's group and says how long its gates have to wait still.
func (r *Registrar) orphanedFor(key types.NamespacedName) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.Clock.Now()
	if _, seen := r.groups[key]; seen {
		delete(r.groups, key)
		r.orphans[key] = now
	}
	opens, known := r.orphans[key]
	if !known {
		opens = now.Add(orphanHoldOff)
		r.orphans[key] = opens
	}
	return opens.Sub(now)
}
