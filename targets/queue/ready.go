// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/targetgate/targetgate/aws/budget/turns"
)

// lastShare is in how many passes one is for a request of low priority, while some wait.
const lastShare = 4

// ready orders the requests that are ready, for client-go's queue, and knows with which priorities they were asked for.
type ready struct {
	tenantOf func(reconcile.Request) string
	limits   Limits

	mu          sync.Mutex
	priorities  map[reconcile.Request]int // the highest that was asked for since the last pass began
	first, last turns.Queue[reconcile.Request]
	waiting     map[reconcile.Request]waiting
	handed      int // requests of first in a row while some of last waited
	closed      bool
	running     map[reconcile.Request]running
	workers     map[string]int             // that passes of a tenant have
	long        map[reconcile.Request]bool // those whose last pass was long
}

// running is a pass that has begun.
type running struct {
	tenant string
	since  time.Time
}

// waiting is where a request waits for a worker: in last when its priority is low.
type waiting struct {
	tenant string
	isLow  bool
	place  turns.Place
}

func newReady(tenantOf func(reconcile.Request) string, limits Limits) *ready {
	return &ready{
		tenantOf: tenantOf, limits: limits, priorities: map[reconcile.Request]int{}, waiting: map[reconcile.Request]waiting{},
		running: map[reconcile.Request]running{}, workers: map[string]int{}, long: map[reconcile.Request]bool{},
	}
}

func (r *ready) ask(request reconcile.Request, priority int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if asked, ok := r.priorities[request]; !ok || priority > asked {
		r.priorities[request] = priority
	}
}

// take ends what was asked for.
func (r *ready) take(request reconcile.Request) (priority int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	priority = r.priorities[request]
	delete(r.priorities, request)
	return priority
}

func (r *ready) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
}

func (r *ready) othersWait(request reconcile.Request) bool {
	tenant := r.tenantOf(request)
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.first.HasOthers(tenant) || r.last.HasOthers(tenant)
}

// Push implements workqueue.Queue.
func (r *ready) Push(request reconcile.Request) {
	tenant := r.tenantOf(request)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.put(request, tenant)
}

// Touch implements workqueue.Queue: a request that waits is asked for again. It may have another priority or tenant by now.
func (r *ready) Touch(request reconcile.Request) {
	tenant := r.tenantOf(request)
	r.mu.Lock()
	defer r.mu.Unlock()
	if w := r.waiting[request]; w.tenant != tenant || w.isLow != r.isLow(request) {
		r.queue(w.isLow).Remove(w.place)
		r.put(request, tenant)
	}
}

// put is called with the lock held, as are the functions below it but for Len and Pop.
func (r *ready) put(request reconcile.Request, tenant string) {
	low := r.isLow(request)
	r.waiting[request] = waiting{tenant, low, r.queue(low).Push(tenant, request)}
}

func (r *ready) isLow(request reconcile.Request) bool {
	return r.priorities[request] < 0 || r.long[request]
}

// mayWork reports whether one more pass of the tenant may run.
func (r *ready) mayWork(tenant string) bool {
	return r.limits.OfTenant == 0 || r.workers[tenant] < r.limits.OfTenant
}

func (r *ready) queue(low bool) *turns.Queue[reconcile.Request] {
	if low {
		return &r.last
	}
	return &r.first
}

// Len implements workqueue.Queue: it is how many requests may have a pass now. Others wait for the end of a pass of their tenant, whose
// worker asks again.
func (r *ready) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return 0
	}
	n := len(r.waiting)
	for tenant := range r.workers { // no more than there are workers
		if !r.mayWork(tenant) {
			n -= r.first.LenOf(tenant) + r.last.LenOf(tenant)
		}
	}
	return n
}

// Pop implements workqueue.Queue.
func (r *ready) Pop() reconcile.Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	low := r.last.Len() > 0 && (r.first.Len() == 0 || r.handed >= lastShare-1)
	request, ok := r.queue(low).PopOf(r.mayWork)
	if !ok { // Len was not 0, so that there is one in the other
		low = !low
		request, _ = r.queue(low).PopOf(r.mayWork)
	}
	if r.handed++; low || r.last.Len() == 0 {
		r.handed = 0
	}
	r.begin(request)
	delete(r.waiting, request)
	return request
}

// begin notes a pass that begins. It is called with the lock held.
func (r *ready) begin(request reconcile.Request) {
	now := running{tenant: r.waiting[request].tenant}
	if r.limits.Long > 0 {
		now.since = r.limits.Clock.Now()
	}
	r.running[request] = now
	r.workers[now.tenant]++
}

// done notes that a pass has ended.
func (r *ready) done(request reconcile.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	ended, ok := r.running[request]
	if !ok {
		return
	}
	delete(r.running, request)
	if r.workers[ended.tenant]--; r.workers[ended.tenant] == 0 {
		delete(r.workers, ended.tenant)
	}
	delete(r.long, request)
	if r.limits.Long > 0 && r.limits.Clock.Since(ended.since) >= r.limits.Long {
		r.long[request] = true
	}
}
