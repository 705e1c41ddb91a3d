// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// Claims are what has to be written before a target may enter the group, so that it will be found again and cleaned up by
// whoever comes after us: the finalizer of the binding and, for a shared group, the record of our targets. They are written beside
// the passes, like the end of both when the binding goes, one write at a time for each binding: an API server that takes its time
// over one, for a webhook of somebody else's, holds no departure up.

// claimTimeout bounds the writes of one claim. The API server gives a request up after as long.
const claimTimeout = time.Minute

// claim has written what is missing for the plan, and says when to come back after a failure.
func (r *Registrar) claim(s session, binding *v1beta1.TargetGroupBinding, p plan) (retryIn time.Duration) {
	wanted, changed := s.group.nextRecord(p)
	if changed = changed && binding.Spec.MultiClusterTargetGroup; !changed {
		wanted = nil
	}
	s.group.mu.Lock()
	defer s.group.mu.Unlock()
	due := changed || s.group.lacksFinalizer(binding)
	if !due && !s.group.claims.busy {
		s.group.claims.clear()
	}
	retryIn, _ = start(&s.group.claims, due, r.Clock.Now(), func() {
		r.writeClaim(s, func(ctx context.Context) error {
			if err := r.addFinalizer(ctx, s.group, binding.DeepCopy()); err != nil {
				return err
			}
			return r.saveRecord(ctx, s.group, binding, wanted)
		})
	})
	return retryIn
}

// writeClaim makes the writes of a claim and has the binding looked at again.
func (r *Registrar) writeClaim(s session, write func(context.Context) error) {
	ctx, cancel := context.WithTimeout(r.lanes, claimTimeout)
	defer cancel()
	err := write(ctx)
	if err != nil && !apierrors.IsConflict(err) {
		ctrl.LoggerFrom(r.lanes).Error(err, "Writing to the API server, will try again", "binding", s.key)
	}
	s.group.claimDone(r.Clock.Now(), err)
	r.wake(s.key)
}

// claimDone takes the end of the writes. After a conflict the cache has yet to show what it missed.
func (g *group) claimDone(now time.Time, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if apierrors.IsConflict(err) {
		g.claims.cancelled()
		g.claims.retryAt = now.Add(jitter(conflictRetry))
		return
	}
	g.claims.end(now, err)
}

// lacksFinalizer reports whether the binding has no finalizer of ours, or still has the incumbent's checkpoints: the cache may
// show it as it was before we changed that. The caller holds the lock.
func (g *group) lacksFinalizer(binding *v1beta1.TargetGroupBinding) bool {
	return binding.ResourceVersion != g.claimedFrom && !finalizerIsRight(binding)
}

// addsFinalizer reports whether the finalizer is being added: its end wakes the binding. A status that is written meanwhile
// would have the API server refuse it, and the first registration wait.
func (g *group) addsFinalizer(binding *v1beta1.TargetGroupBinding) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.claims.busy && g.lacksFinalizer(binding)
}

func finalizerIsRight(binding *v1beta1.TargetGroupBinding) bool {
	_, checkpoint := binding.Annotations[v1beta1.CheckpointAnnotation]
	_, timestamp := binding.Annotations[v1beta1.CheckpointTimestampAnnotation]
	return controllerutil.ContainsFinalizer(binding, v1beta1.Finalizer) && !checkpoint && !timestamp
}

// claimed says which targets may be registered: those for which everything is written. Others may leave. The caller holds the
// lock, also while it asks.
func (g *group) claimed(binding *v1beta1.TargetGroupBinding) func(elbv2.Target) bool {
	ours := controllerutil.ContainsFinalizer(binding, v1beta1.Finalizer) || binding.ResourceVersion == g.claimedFrom
	return func(target elbv2.Target) bool {
		_, recorded := g.record[target]
		return ours && (!binding.Spec.MultiClusterTargetGroup || g.recordWritten && recorded)
	}
}

// addFinalizer puts our finalizer on the binding and removes the incumbent's checkpoints; that these could not be removed
// is told and is no error. The lock is optimistic: lists of finalizers must not be overwritten.
func (r *Registrar) addFinalizer(ctx context.Context, g *group, binding *v1beta1.TargetGroupBinding) error {
	if finalizerIsRight(binding) {
		return nil
	}
	before := binding.DeepCopy()
	added := controllerutil.AddFinalizer(binding, v1beta1.Finalizer)
	delete(binding.Annotations, v1beta1.CheckpointAnnotation)
	delete(binding.Annotations, v1beta1.CheckpointTimestampAnnotation)
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	err := r.Client.Patch(ctx, binding, patch)
	if err == nil {
		g.setClaimedFrom(before.ResourceVersion)
		return nil
	}
	r.tellFailed(binding, g, err, failedAddFinalizer(err))
	if !added {
		ctrl.LoggerFrom(r.lanes).Error(err, "Removing the checkpoint annotations, will try again with the next pass")
		return nil
	}
	return fmt.Errorf("adding finalizer: %w", err)
}

func (g *group) setClaimedFrom(version string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.claimedFrom, g.failed = version, ""
}

// releaseLater has the binding released beside the pass, once a claim that is under way has ended, and says when to come back
// after a failure. Left is to be told then.
func (r *Registrar) releaseLater(s session, binding *v1beta1.TargetGroupBinding, left *bindingEvent) (retryIn time.Duration) {
	s.group.mu.Lock()
	defer s.group.mu.Unlock()
	due := binding.ResourceVersion != s.group.claimedFrom // or the cache does not show yet that it is released
	retryIn, _ = start(&s.group.claims, due, r.Clock.Now(), func() {
		r.writeClaim(s, func(ctx context.Context) error {
			err := r.release(ctx, s.group, binding)
			if err == nil && left != nil {
				r.event(binding, *left)
			}
			return err
		})
	})
	return retryIn
}

// release lets the API server delete the binding, once what we keep beside it is gone.
func (r *Registrar) release(ctx context.Context, g *group, binding *v1beta1.TargetGroupBinding) error {
	if err := r.deleteRecord(ctx, binding); err != nil {
		return err
	}
	released := binding.DeepCopy()
	controllerutil.RemoveFinalizer(released, v1beta1.Finalizer)
	err := r.Client.Patch(ctx, released, client.MergeFromWithOptions(binding, client.MergeFromWithOptimisticLock{}))
	if client.IgnoreNotFound(err) != nil {
		r.tellFailed(binding, g, err, failedRemoveFinalizer(err))
		return fmt.Errorf("removing finalizer: %w", err)
	}
	g.setClaimedFrom(binding.ResourceVersion)
	return nil
}

// claimFailure is why nothing may be registered, nil when everything is written or may be soon.
func (g *group) claimFailure() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.claims.lasting()
}
