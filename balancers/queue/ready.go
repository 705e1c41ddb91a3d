// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/targetgate/targetgate/aws/budget/turns"
)

// lastShare is which part of the passes is for requests of low priority, while there are others: one in so many.
const lastShare = 4

// ready orders the requests that are ready, for client-go's queue, and knows with which priorities they were asked for.
type ready struct {
	tenantOf func(reconcile.Request) string

	mu         sync.Mutex
	priorities map[reconcile.Request]int // the highest that was asked for since the last pass began
	first      turns.Queue[reconcile.Request]
	last       turns.Queue[reconcile.Request] // those of low priority
	lasting    map[reconcile.Request]turns.Place
	handed     int // requests of first in a row while some of last waited
	closed     bool
}

func newReady(tenantOf func(reconcile.Request) string) *ready {
	return &ready{tenantOf: tenantOf, priorities: map[reconcile.Request]int{}, lasting: map[reconcile.Request]turns.Place{}}
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
	return r.first.HasOthers(tenant)
}

// Push implements workqueue.Queue.
func (r *ready) Push(request reconcile.Request) {
	tenant := r.tenantOf(request)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch priority := r.priorities[request]; {
	case priority < 0:
		r.lasting[request] = r.last.Push(tenant, request)
	case priority >= GoesOn:
		r.first.PushFirst(tenant, request)
	default:
		r.first.Push(tenant, request)
	}
}

// Touch implements workqueue.Queue: a request that waits is asked for again, perhaps with a higher priority.
func (r *ready) Touch(request reconcile.Request) {
	tenant := r.tenantOf(request)
	r.mu.Lock()
	defer r.mu.Unlock()
	if place, ok := r.lasting[request]; ok && r.priorities[request] >= 0 {
		r.last.Remove(place)
		delete(r.lasting, request)
		r.first.Push(tenant, request)
	}
}

// Len implements workqueue.Queue.
func (r *ready) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return 0
	}
	return r.first.Len() + r.last.Len()
}

// Pop implements workqueue.Queue.
func (r *ready) Pop() reconcile.Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last.Len() > 0 && (r.first.Len() == 0 || r.handed >= lastShare-1) {
		request := r.last.Pop()
		delete(r.lasting, request)
		r.handed = 0
		return request
	}
	r.handed++
	return r.first.Pop()
}
