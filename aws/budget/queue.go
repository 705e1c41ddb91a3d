// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"container/list"
	"time"

	"github.com/targetgate/targetgate/aws/budget/turns"
)

// queue holds the waiters of one class, whose tenants take turns. The zero value is an empty queue.
type queue struct {
	arrivals list.List // of *waiter, the oldest first
	turns    turns.Queue[*waiter]
}

func (q *queue) len() int { return q.turns.Len() }

// waitsSince is when the oldest waiter came. There must be one.
func (q *queue) waitsSince() time.Time {
	return q.arrivals.Front().Value.(*waiter).since // nothing else is put in
}

func (q *queue) push(w *waiter) {
	w.arrival, w.place, w.waiting = q.arrivals.PushBack(w), q.turns.Push(w.tenant, w), true
}

// next is the waiter whose turn it is. There must be one.
func (q *queue) next() *waiter { return q.turns.Next() }

// serve takes w out, which is the next.
func (q *queue) serve(w *waiter) {
	q.turns.Pop()
	q.left(w)
}

// remove takes w out, wherever it stands. It must be in the queue.
func (q *queue) remove(w *waiter) {
	q.turns.Remove(w.place)
	q.left(w)
}

func (q *queue) left(w *waiter) {
	q.arrivals.Remove(w.arrival)
	w.arrival, w.waiting = nil, false
}
