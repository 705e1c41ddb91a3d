// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"container/list"
	"time"
)

// waiter is a call that waits for a token.
type waiter struct {
	class   Class
	tenant  string
	since   time.Time
	due     time.Time // of a class with deadlines: when it has to be sent at the latest
	waits   bool      // it is better sent when it is due than before
	granted chan struct{}

	waiting        bool          // it stands in a queue or line
	arrival, place *list.Element // in its class's queue and in its tenant's; nil when it stands in none
}

// queue holds the waiters of one class. The tenants take turns, and the calls of one tenant go in the order in which they
// came: whoever asks rarely waits for one call of each other tenant, however many calls these have waiting. Each
// operation takes the same time, however long the queue is. The zero value is an empty queue.
type queue struct {
	arrivals list.List                // of *waiter, the oldest first
	turns    list.List                // of *tenantQueue, the next one first; none is empty
	tenants  map[string]*list.Element // of turns, by name
}

type tenantQueue struct {
	name    string
	waiters list.List // of *waiter, the oldest first
}

func (q *queue) len() int { return q.arrivals.Len() }

// waitsSince is when the oldest waiter came. There must be one.
func (q *queue) waitsSince() time.Time {
	return q.arrivals.Front().Value.(*waiter).since //nolint:forcetypeassert // nothing else is put in
}

func (q *queue) push(w *waiter) {
	turn, ok := q.tenants[w.tenant]
	if !ok {
		if q.tenants == nil {
			q.tenants = map[string]*list.Element{}
		}
		turn = q.turns.PushBack(&tenantQueue{name: w.tenant})
		q.tenants[w.tenant] = turn
	}
	w.arrival, w.place, w.waiting = q.arrivals.PushBack(w), tenantAt(turn).waiters.PushBack(w), true
}

// next is the waiter whose turn it is. There must be one.
func (q *queue) next() *waiter {
	return tenantAt(q.turns.Front()).waiters.Front().Value.(*waiter) //nolint:forcetypeassert // nothing else is put in
}

// serve takes w out, which is the next. Its tenant's next turn comes after those of all others.
func (q *queue) serve(w *waiter) {
	q.turns.MoveToBack(q.tenants[w.tenant])
	q.remove(w)
}

// remove takes w out, wherever it stands. It must be in the queue.
func (q *queue) remove(w *waiter) {
	turn := q.tenants[w.tenant]
	tenantAt(turn).waiters.Remove(w.place)
	q.arrivals.Remove(w.arrival)
	w.arrival, w.place, w.waiting = nil, nil, false
	if tenantAt(turn).waiters.Len() == 0 {
		q.turns.Remove(turn)
		delete(q.tenants, w.tenant)
	}
}

func tenantAt(turn *list.Element) *tenantQueue {
	return turn.Value.(*tenantQueue) //nolint:forcetypeassert // nothing else is put in
}
