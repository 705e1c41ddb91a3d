// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package claims

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/contest"
	"github.com/targetgate/targetgate/targets/events"
	"github.com/targetgate/targetgate/targets/ownership"
	"github.com/targetgate/targetgate/targets/plan"
	"github.com/targetgate/targetgate/targets/report"
	"github.com/targetgate/targetgate/targets/retry"
	"github.com/targetgate/targetgate/targets/targetgroup"
	"github.com/targetgate/targetgate/targets/v1beta1"
	"github.com/targetgate/targetgate/targets/writes"
)

// Claims are those of one binding. Safe for concurrent use.
type Claims struct {
	mode ownership.Mode

	mu      sync.Mutex
	slot    retry.Slot // of writes
	version string     // of the binding that we last put our finalizer on, or took it off
	claimed bool       // the binding has had our finalizer since we took it off last
	contest contest.Contest
	failed  string // the reason of the event about the last change of finalizers, empty after a success

	giving    giving    // of the binding back to the incumbent
	settlesAt time.Time // until then a pass that the incumbent began before the binding was ours may end

	discarded bool // nothing is kept any more beside a binding that is gone

	record        ownership.Record // of a shared group, nil before it was read; replaced as a whole
	recordWritten bool             // there is a ConfigMap that says the same
	recordLost    bool             // as somebody else has changed it
	recheckAt     time.Time        // when it is read again, zero before that is known
	records       contest.Contest
}

// New returns the claims of a binding of which nothing is known yet.
func New(mode ownership.Mode) *Claims {
	return &Claims{mode: mode, slot: retry.Slot{MaxBackoff: retry.MaxUrgentBackoff, Category: retry.Kubernetes}}
}

// Writer writes claims. Safe for concurrent use, after Start.
type Writer struct {
	client   client.Client
	uncached client.Reader
	clock    clock.PassiveClock
	reporter report.Reporter
	refusals refusals

	context context.Context // ends the writes, which outlive a pass
	requeue func(types.NamespacedName)
}

// NewWriter returns a writer that writes by way of c, and reads records from uncached: they are read too rarely to be kept in a cache.
func NewWriter(c client.Client, uncached client.Reader, clk clock.PassiveClock, reporter report.Reporter) *Writer {
	return &Writer{client: c, uncached: uncached, clock: clk, reporter: reporter}
}

// Start is called before any write: ctx ends the writes, and the end of each requeues its binding.
func (w *Writer) Start(ctx context.Context, requeue func(types.NamespacedName)) {
	w.context, w.requeue = ctx, requeue
}

// Claim has written what is missing for the plan, and says when to come back after a failure.
func (w *Writer) Claim(c *Claims, binding *v1beta1.TargetGroupBinding, group targetgroup.Snapshot, p plan.Plan) (retryIn time.Duration) {
	w.see(c, binding)
	c.mu.Lock()
	defer c.mu.Unlock()
	var wanted ownership.Record
	changed := false
	switch {
	case !binding.Spec.MultiClusterTargetGroup:
	case group.Complete():
		wanted = nextRecord(c.record, group.Targets, p)
		changed = !c.recordWritten || !maps.Equal(wanted, c.record)
	case c.recordLost:
		wanted, changed = c.record, true
	}
	due := changed || c.lacksFinalizer(binding)
	if !due && !c.slot.Busy {
		c.slot.Clear()
	}
	retryIn, _ = w.start(c, binding, due, func(ctx context.Context) error {
		if err := w.addFinalizer(ctx, c, binding.DeepCopy()); err != nil || !changed {
			return err
		}
		return w.saveRecord(ctx, c, binding, wanted)
	})
	return retry.Soonest(retryIn, w.recheck(c, binding))
}

// start begins the writes of a claim if they are due and may start, and requeues the binding when they end. The caller holds
// the lock.
func (w *Writer) start(c *Claims, binding *v1beta1.TargetGroupBinding, due bool, write func(context.Context) error) (
	retryIn time.Duration, began bool,
) {
	key := client.ObjectKeyFromObject(binding)
	retryIn, began = c.slot.Start(due, w.clock.Now())
	if began {
		go func() {
			ctx, cancel := context.WithTimeout(w.context, writes.ClaimTimeout)
			defer cancel()
			err := write(ctx)
			if err != nil && !apierrors.IsConflict(err) {
				ctrl.LoggerFrom(w.context).Error(err, "Failed to claim or release a binding, will retry", "binding", key)
			}
			c.done(w.clock.Now(), err)
			w.requeue(key)
		}()
	}
	return retryIn, began
}

// done takes the end of the writes. After a conflict the cache has yet to show what it missed.
func (c *Claims) done(now time.Time, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if apierrors.IsConflict(err) {
		c.slot.Cancel()
		c.slot.RetryAt = now.Add(retry.Jitter(writes.ConflictPause))
		return
	}
	c.slot.End(now, err)
}

// lacksFinalizer reports whether the binding has no finalizer of ours, or still has what is removed with it: the cache may show it as it
// was before we changed that. The caller holds the lock.
func (c *Claims) lacksFinalizer(binding *v1beta1.TargetGroupBinding) bool {
	return binding.ResourceVersion != c.version && !c.mode.IsClaimed(binding)
}

// isOurs reports whether the binding has our finalizer, though the cache may not show it yet. The caller holds the lock.
func (c *Claims) isOurs(binding *v1beta1.TargetGroupBinding) bool {
	return c.mode.Holds(binding) || binding.ResourceVersion == c.version
}

// IsOurs reports whether the binding has our finalizer, though the cache may not show it yet.
func (c *Claims) IsOurs(binding *v1beta1.TargetGroupBinding) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.isOurs(binding)
}

// AddsFinalizer reports whether the finalizer is being added: its end requeues the binding. A status that is written meanwhile
// would have the API server refuse it, and the first registration wait.
func (c *Claims) AddsFinalizer(binding *v1beta1.TargetGroupBinding) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.slot.Busy && c.lacksFinalizer(binding)
}

// Claimed says which targets may be registered: those for which everything is written. Others may leave.
func (c *Claims) Claimed(binding *v1beta1.TargetGroupBinding) func(elbv2.Target) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	ours := c.isOurs(binding)
	record, written := c.record, c.recordWritten
	return func(target elbv2.Target) bool {
		_, recorded := record[target]
		return ours && (!binding.Spec.MultiClusterTargetGroup || written && recorded)
	}
}

// Failure is why nothing may be registered, nil when everything is written or may be soon.
func (c *Claims) Failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.slot.Lasting()
}

// addFinalizer claims the binding in one patch; that what the incumbent left could not be removed is an event and no error, if the
// finalizer is ours already. The lock is optimistic: lists of finalizers must not be overwritten.
func (w *Writer) addFinalizer(ctx context.Context, c *Claims, binding *v1beta1.TargetGroupBinding) error {
	if c.mode.IsClaimed(binding) {
		return nil
	}
	before := binding.DeepCopy()
	isNew := c.mode.Claim(binding)
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	err := w.client.Patch(ctx, binding, patch)
	if err == nil {
		c.setVersion(before.ResourceVersion)
		c.noteClaimed()
		return nil
	}
	w.emitFailed(binding, c, err, events.Warning("FailedAddFinalizer", "AddFinalizer", "%v", err))
	if !isNew {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to remove what the other controller left, will retry with the next pass",
			"binding", klog.KObj(binding))
		return nil
	}
	return fmt.Errorf("adding finalizer: %w", err)
}

func (c *Claims) setVersion(version string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.version, c.failed, c.giving = version, "", giving{}
}

// emitFailed records an event about a change of finalizers that failed, once for as long as it does. A conflict only asks for another try.
func (w *Writer) emitFailed(binding *v1beta1.TargetGroupBinding, c *Claims, err error, e events.Event) {
	if !apierrors.IsConflict(err) && c.noteFailure(e.Reason) {
		w.reporter.Event(binding, e)
	}
}

// noteFailure notes why a change of finalizers fails, and reports whether the last one did not fail for that reason.
func (c *Claims) noteFailure(reason string) (isNew bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	isNew = c.failed != reason
	c.failed = reason
	return isNew
}

// Release has the binding released beside the pass, once a claim that is under way has ended, and says when to come back after a
// failure. Left is to be told then.
func (w *Writer) Release(c *Claims, binding *v1beta1.TargetGroupBinding, left *events.Event) (retryIn time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	due := binding.ResourceVersion != c.version // or the cache does not show yet that it is released
	retryIn, _ = w.start(c, binding, due, func(ctx context.Context) error {
		err := w.removeFinalizer(ctx, c, binding)
		if err == nil && left != nil {
			w.reporter.Event(binding, *left)
		}
		return err
	})
	return retryIn
}

// removeFinalizer lets the API server delete the binding, and then deletes what we keep beside it. In the other order, whoever comes after
// us in between would not know that nothing of ours is left in the group. What cannot be deleted then stays: the next
// binding of that name tells of it, and does not believe it.
func (w *Writer) removeFinalizer(ctx context.Context, c *Claims, binding *v1beta1.TargetGroupBinding) error {
	record, err := w.readConfigMap(ctx, binding)
	if err != nil {
		return fmt.Errorf("reading the record of our targets: %w", err)
	}
	released := binding.DeepCopy()
	c.mode.Release(released)
	err = w.client.Patch(ctx, released, client.MergeFromWithOptions(binding, client.MergeFromWithOptimisticLock{}))
	if client.IgnoreNotFound(err) != nil {
		w.emitFailed(binding, c, err, events.Warning("FailedRemoveFinalizer", "RemoveFinalizer", "%v", err))
		return fmt.Errorf("removing finalizer: %w", err)
	}
	c.setVersion(binding.ResourceVersion)
	if err := w.deleteRecord(ctx, record); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to delete the ConfigMap of a binding that is gone: delete it yourself",
			"configMap", klog.KObj(record), "binding", klog.KObj(binding))
	}
	return nil
}
