// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Queue is a controller's queue, a priorityqueue.PriorityQueue. It is safe for concurrent use.
type Queue struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]
	ready *ready
}

// Limits say how many workers passes may have. The zero value limits nothing.
type Limits struct {
	// OfTenant is how many passes of one tenant may run at once, 0 for any number. Others find a worker at once if there are more.
	OfTenant int
	// Long is from when a pass counts as long, 0 for never: the next one over its request comes after those over others, as if it had a low
	// priority.
	Long  time.Duration
	Clock clock.PassiveClock // needed with Long
}

// New returns one of that name, for metrics. tenantOf is asked while a lock is held: it must be quick, and ask for no pass.
func New(name string, limiter workqueue.TypedRateLimiter[reconcile.Request], tenantOf func(reconcile.Request) string) *Queue {
	return NewLimited(name, limiter, tenantOf, Limits{})
}

// NewLimited is New with limits.
func NewLimited(
	name string, limiter workqueue.TypedRateLimiter[reconcile.Request], tenantOf func(reconcile.Request) string, limits Limits,
) *Queue {
	ready := newReady(tenantOf, limits)
	inner := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[reconcile.Request]{Name: name, Queue: ready})
	delaying := workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[reconcile.Request]{Name: name, Queue: inner})
	limited := workqueue.NewTypedRateLimitingQueueWithConfig(limiter,
		workqueue.TypedRateLimitingQueueConfig[reconcile.Request]{Name: name, DelayingQueue: delaying})
	return &Queue{limited, ready}
}

// Add is AddWithOpts with the usual priority, without delay.
func (q *Queue) Add(request reconcile.Request) { q.AddWithOpts(priorityqueue.AddOpts{}, request) }

// AddWithOpts requests passes. The usual priority is 0; a negative one is that of what was there when the process began, and comes last.
// What is rate limited begins after the limiter's pause alone.
func (q *Queue) AddWithOpts(opts priorityqueue.AddOpts, requests ...reconcile.Request) {
	for _, request := range requests {
		q.ready.ask(request, ptr.Deref(opts.Priority, 0))
		switch {
		case opts.RateLimited:
			q.AddRateLimited(request)
		case opts.After > 0:
			q.AddAfter(request, opts.After)
		default:
			q.TypedRateLimitingInterface.Add(request)
		}
	}
}

// GetWithPriority is where a pass begins. The priority is the highest of those asked for since the last one began.
func (q *Queue) GetWithPriority() (request reconcile.Request, priority int, shutdown bool) {
	request, shutdown = q.Get()
	return request, q.ready.take(request), shutdown
}

// Done ends a pass.
func (q *Queue) Done(request reconcile.Request) {
	q.ready.done(request) // first: whoever is woken finds that the tenant may have a worker again
	q.TypedRateLimitingInterface.Done(request)
}

// ShutDown ends the queue. After it no request is handed out, not even one that waits.
func (q *Queue) ShutDown() {
	q.ready.close()
	q.TypedRateLimitingInterface.ShutDown()
}

// OthersWait reports whether a request of another tenant than this one's waits for a worker.
func (q *Queue) OthersWait(request reconcile.Request) bool { return q.ready.othersWait(request) }
