// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"cmp"
	"slices"
	"time"
)

// CallTime is how long before its deadline a call is due. AWS mostly answers in less than half a second. The rest is for a process that
// is short of CPU: 0.62 s is the longest seen, with five test beds on two slow processors.
const CallTime = time.Second

// line holds the waiters of a class that has deadlines. Each operation takes time in proportion to those that are early, at most. The
// zero value is an empty line.
type line struct {
	early  []*waiter // those that are not due yet, the first due first
	late   queue     // those that are due or past that: their tenants take turns
	missed time.Time // when the last deadline of those that were ever late has passed

	served map[string]int // the tenants' last turns among the early, nil while there are none
	turns  int
}

func (l *line) len() int { return len(l.early) + l.late.len() }

func (l *line) push(w *waiter, now time.Time) {
	if !w.due.After(now) {
		l.pushLate(w)
		return
	}
	at, _ := slices.BinarySearchFunc(l.early, w, byDue)
	l.early = slices.Insert(l.early, at, w)
	w.waiting = true
}

// byDue orders waiters by when they are due, then by when they came.
func byDue(a, b *waiter) int {
	return cmp.Or(a.due.Compare(b.due), a.since.Compare(b.since))
}

// remove takes w out, wherever it stands. It must be in the line.
func (l *line) remove(w *waiter) {
	if w.arrival != nil {
		l.late.remove(w)
		return
	}
	at, _ := slices.BinarySearchFunc(l.early, w, byDue)
	at += slices.Index(l.early[at:], w) // of those due at the same time
	w.waiting = false
	l.drop(at, at+1)
}

// expire moves to the late those that are due by now.
func (l *line) expire(now time.Time) {
	due := 0
	for due < len(l.early) && !l.early[due].due.After(now) {
		l.pushLate(l.early[due])
		due++
	}
	l.drop(0, due)
}

func (l *line) pushLate(w *waiter) {
	l.late.push(w)
	if w.deadline.After(l.missed) {
		l.missed = w.deadline
	}
}

// serve takes w out, and notes its tenant's turn.
func (l *line) serve(w *waiter) {
	l.turns++
	if w.arrival != nil {
		l.late.serve(w)
		return
	}
	if l.served == nil {
		l.served = map[string]int{}
	}
	l.served[w.tenant] = l.turns
	l.remove(w)
}

// drop takes some of the early out.
func (l *line) drop(from, to int) {
	if l.early = slices.Delete(l.early, from, to); len(l.early) == 0 {
		l.served = nil
	}
}

// inTurn is the early waiter whose tenant was served least recently, of these the first due. There must be one.
func (l *line) inTurn() *waiter {
	return slices.MinFunc(l.early, func(a, b *waiter) int {
		return cmp.Or(cmp.Compare(l.served[a.tenant], l.served[b.tenant]), byDue(a, b))
	})
}

// willing is the first due of the early that need not wait, nil when there is none.
func (l *line) willing() *waiter {
	if at := slices.IndexFunc(l.early, func(w *waiter) bool { return !w.waits }); at >= 0 {
		return l.early[at]
	}
	return nil
}
