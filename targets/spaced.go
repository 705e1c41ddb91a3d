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
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/targetgate/targetgate/targets/endpoints"
)

// breather is how long a binding is left alone after a pass has begun, as far as changes in the cluster are concerned. In a
// rollout pods and slices change by the dozen within moments, and a pass looks at all of them anyway.
const breather = 250 * time.Millisecond

// spacedQueue is a controller's queue that puts a breather between a pass and the next one that a watch asks for. The first
// change is acted on at once, and so are pods that leave and the answers of lanes.
type spacedQueue struct {
	priorityqueue.PriorityQueue[reconcile.Request]
	clock clock.PassiveClock

	mu    sync.Mutex
	begun map[reconcile.Request]time.Time // the passes that began less than a breather ago
}

// newQueue is for controller.Options.
func (r *Registrar) newQueue(
	name string, limiter workqueue.TypedRateLimiter[reconcile.Request],
) workqueue.TypedRateLimitingInterface[reconcile.Request] {
	return newSpacedQueue(name, limiter, r.Clock)
}

func newSpacedQueue(name string, limiter workqueue.TypedRateLimiter[reconcile.Request], clk clock.PassiveClock) *spacedQueue {
	inner := priorityqueue.New(name, func(o *priorityqueue.Opts[reconcile.Request]) {
		o.Log, o.RateLimiter = ctrl.Log.WithValues("controller", name), limiter
	})
	return &spacedQueue{PriorityQueue: inner, clock: clk, begun: map[reconcile.Request]time.Time{}}
}

// GetWithPriority is where a pass begins.
func (q *spacedQueue) GetWithPriority() (req reconcile.Request, priority int, shutdown bool) {
	req, priority, shutdown = q.PriorityQueue.GetWithPriority()
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.clock.Now()
	maps.DeleteFunc(q.begun, func(_ reconcile.Request, begun time.Time) bool { return now.Sub(begun) >= breather })
	q.begun[req] = now
	return req, priority, shutdown
}

// Add is what the handlers of most watches call.
func (q *spacedQueue) Add(req reconcile.Request) { q.AddWithOpts(priorityqueue.AddOpts{}, req) }

// AddWithOpts is what the others call, and whoever asks for a look later on.
func (q *spacedQueue) AddWithOpts(opts priorityqueue.AddOpts, requests ...reconcile.Request) {
	for _, req := range requests {
		one := opts
		if !opts.RateLimited {
			one.After = max(opts.After, q.left(req))
		}
		q.PriorityQueue.AddWithOpts(one, req)
	}
}

// urgentQueue is the same queue for what waits for no breather.
type urgentQueue struct{ *spacedQueue }

// Add has the pass begin at once.
func (q urgentQueue) Add(req reconcile.Request) { q.PriorityQueue.Add(req) }

// left is what is left of the binding's breather.
func (q *spacedQueue) left(req reconcile.Request) time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	return breather - q.clock.Since(q.begun[req])
}

// podHandler leaves out changes that mean nothing to a binding, and has what an event asks for wait for no breather when the
// pod leaves.
type podHandler struct {
	handler.EventHandler
	came func(*corev1.Pod)
}

// Create implements handler.EventHandler.
func (h podHandler) Create(ctx context.Context, e event.CreateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	h.came(e.Object.(*corev1.Pod))
	h.EventHandler.Create(ctx, e, queue)
}

// Update implements handler.EventHandler.
func (h podHandler) Update(ctx context.Context, e event.UpdateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	before, after := e.ObjectOld.(*corev1.Pod), e.ObjectNew.(*corev1.Pod)
	if !podChanged(before, after) {
		return
	}
	if !endpoints.IsTerminating(before) && endpoints.IsTerminating(after) {
		queue = urgentQueue{queue.(*spacedQueue)}
	}
	h.EventHandler.Update(ctx, e, queue)
}

// Delete implements handler.EventHandler. A pod that was not seen to leave is one that went while the watch was interrupted.
func (h podHandler) Delete(ctx context.Context, e event.DeleteEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	if !endpoints.IsTerminating(e.Object.(*corev1.Pod)) {
		queue = urgentQueue{queue.(*spacedQueue)}
	}
	h.EventHandler.Delete(ctx, e, queue)
}
