// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"maps"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/targetgate/targetgate/targets/endpoints"
	"github.com/targetgate/targetgate/targets/queue"
)

// debounceInterval is the least time between two passes over a binding that changes in the cluster ask for. In a rollout pods and
// slices change by the dozen within moments, and one pass looks at all of them.
const debounceInterval = 250 * time.Millisecond

// debouncedQueue is a controller's queue that delays a pass that a watch asks for until debounceInterval after the last one began.
// The first change is acted on at once, and so are terminating pods and the answers of AWS. controller-runtime has no such queue;
// without it a rollout of 500 pods made 11,200 passes instead of 6,400. The namespaces of bindings take turns.
type debouncedQueue struct {
	*queue.Queue // of passes that may begin
	limiter      workqueue.TypedRateLimiter[reconcile.Request]
	clock        clock.PassiveClock

	mu      sync.Mutex
	begun   map[reconcile.Request]time.Time // the passes that began less than debounceInterval ago, and some before
	pruned  time.Time                       // when those before were dropped
	planned map[reconcile.Request]plannedPass
}

// plannedPass may begin later. A binding has one at most: a pass that begins before, for whatever reason, is that one, too.
type plannedPass struct {
	at       time.Time
	priority int
	timer    *time.Timer
}

// newQueue is for controller.Options.
func (w *watcher) newQueue(
	name string, limiter workqueue.TypedRateLimiter[reconcile.Request],
) workqueue.TypedRateLimitingInterface[reconcile.Request] {
	return newDebouncedQueue(name, limiter, w.clock)
}

func newDebouncedQueue(name string, limiter workqueue.TypedRateLimiter[reconcile.Request], clk clock.PassiveClock) *debouncedQueue {
	return &debouncedQueue{
		Queue:   queue.New(name, limiter, func(req reconcile.Request) string { return req.Namespace }),
		limiter: limiter, clock: clk, begun: map[reconcile.Request]time.Time{}, planned: map[reconcile.Request]plannedPass{},
	}
}

// GetWithPriority is where a pass begins.
func (q *debouncedQueue) GetWithPriority() (req reconcile.Request, priority int, shutdown bool) {
	req, priority, shutdown = q.Queue.GetWithPriority()
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.clock.Now()
	if now.Sub(q.pruned) >= debounceInterval { // not in each pass: there may be thousands
		maps.DeleteFunc(q.begun, func(_ reconcile.Request, begun time.Time) bool { return now.Sub(begun) >= debounceInterval })
		q.pruned = now
	}
	q.begun[req] = now
	if planned, ok := q.planned[req]; ok {
		planned.timer.Stop()
		priority = max(priority, planned.priority)
		delete(q.planned, req)
	}
	return req, priority, shutdown
}

// Add is what the handlers of most watches call.
func (q *debouncedQueue) Add(req reconcile.Request) { q.AddWithOpts(priorityqueue.AddOpts{}, req) }

// AddWithOpts is what the others call, and whoever asks for a look later on.
func (q *debouncedQueue) AddWithOpts(opts priorityqueue.AddOpts, requests ...reconcile.Request) {
	for _, req := range requests {
		var after time.Duration
		if opts.RateLimited {
			after = q.limiter.When(req)
		} else {
			after = max(opts.After, q.left(req))
		}
		q.plan(req, after, ptr.Deref(opts.Priority, 0))
	}
}

// plan has a pass begin after the pause, or before when one is planned, with the higher priority of both.
func (q *debouncedQueue) plan(req reconcile.Request, pause time.Duration, priority int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	before, isPlanned := q.planned[req]
	if isPlanned {
		priority = max(priority, before.priority)
	}
	if pause <= 0 {
		q.Queue.AddWithOpts(priorityqueue.AddOpts{Priority: &priority}, req)
		return
	}
	now := q.clock.Now()
	at := now.Add(pause)
	if isPlanned {
		before.timer.Stop()
		if before.at.Before(at) {
			at = before.at
		}
	}
	q.planned[req] = plannedPass{at, priority, time.AfterFunc(at.Sub(now), func() { q.plan(req, 0, priority) })}
}

// undelayedQueue is the same queue without the delay.
type undelayedQueue struct{ *debouncedQueue }

// undelayed is for the queue that newQueue has made: controller-runtime hands it on as it got it.
func undelayed(queue workqueue.TypedRateLimitingInterface[reconcile.Request]) undelayedQueue {
	return undelayedQueue{queue.(*debouncedQueue)}
}

// Add begins the pass at once.
func (q undelayedQueue) Add(req reconcile.Request) { q.addAfter(req, 0) }

// addAfter begins the pass after the pause, at once when that is 0.
func (q undelayedQueue) addAfter(req reconcile.Request, pause time.Duration) { q.plan(req, pause, 0) }

// left is how much of the interval is left for the binding.
func (q *debouncedQueue) left(req reconcile.Request) time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	return debounceInterval - q.clock.Since(q.begun[req])
}

// podHandler leaves out changes that mean nothing to a binding, and asks for a pass without delay when the pod
// terminates, or will do so sooner.
type podHandler struct {
	handler.EventHandler
	first   handler.EventHandler // of those of the first list: all bindings that exist come by themselves then
	changed func(before, after *corev1.Pod) bool
	came    func(*corev1.Pod)
}

// Create implements handler.EventHandler.
func (h podHandler) Create(ctx context.Context, e event.CreateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	h.came(e.Object.(*corev1.Pod))
	next := h.EventHandler
	if e.IsInInitialList {
		next = h.first
	}
	next.Create(ctx, e, queue)
}

// Update implements handler.EventHandler.
func (h podHandler) Update(ctx context.Context, e event.UpdateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	before, after := e.ObjectOld.(*corev1.Pod), e.ObjectNew.(*corev1.Pod)
	if !h.changed(before, after) {
		return
	}
	if !endpoints.IsTerminating(before) && endpoints.IsTerminating(after) || leavesSooner(before, after) {
		queue = undelayed(queue)
	}
	h.EventHandler.Update(ctx, e, queue)
}

// Delete implements handler.EventHandler. A pod that was not seen to leave is one that went while the watch was interrupted.
func (h podHandler) Delete(ctx context.Context, e event.DeleteEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	if !endpoints.IsTerminating(e.Object.(*corev1.Pod)) {
		queue = undelayed(queue)
	}
	h.EventHandler.Delete(ctx, e, queue)
}
