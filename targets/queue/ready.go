// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/targetgate/targetgate/aws/budget/turns"
)

// lastShare is in how many passes one is for a request of low priority, while some wait.
const lastShare = 4

// ready orders the requests that are ready, for client-go's queue, and knows with which priorities they were asked for.
type ready struct {
	tenantOf func(reconcile.Request) string

	mu          sync.Mutex
	priorities  map[reconcile.Request]int // the highest that was asked for since the last pass began
	first, last turns.Queue[reconcile.Request]
	waiting     map[reconcile.Request]waiting
	handed      int // requests of first in a row while some of last waited
	closed      bool
}

// waiting is where a request waits for a worker: in last when its priority is low.
type waiting struct {
	tenant string
	isLow  bool
	place  turns.Place
}

func newReady(tenantOf func(reconcile.Request) string) *ready {
	return &ready{tenantOf: tenantOf, priorities: map[reconcile.Request]int{}, waiting: map[reconcile.Request]waiting{}}
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

func (r *ready) isLow(request reconcile.Request) bool { return r.priorities[request] < 0 }

func (r *ready) queue(low bool) *turns.Queue[reconcile.Request] {
	if low {
		return &r.last
	}
	return &r.first
}

// Len implements workqueue.Queue.
func (r *ready) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return 0
	}
	return len(r.waiting)
}

// Pop implements workqueue.Queue.
func (r *ready) Pop() reconcile.Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	low := r.last.Len() > 0 && (r.first.Len() == 0 || r.handed >= lastShare-1)
	if r.handed++; low || r.last.Len() == 0 {
		r.handed = 0
	}
	request := r.queue(low).Pop()
	delete(r.waiting, request)
	return request
}
