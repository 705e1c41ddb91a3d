// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"container/list"
	"time"

	"github.com/targetgate/targetgate/aws/budget/turns"
)

// waiter is a call that waits for a token.
type waiter struct {
	class    Class
	tenant   string
	since    time.Time
	deadline time.Time // of a class with deadlines; zero is as soon as possible
	due      time.Time // of such a class: when it has to be sent at the latest
	waits    bool      // it is better sent when it is due than before
	granted  chan struct{}

	waiting bool          // it stands in a queue or line
	arrival *list.Element // in its queue; nil when it stands in none
	place   turns.Place   // there
}

// waiters are the calls that wait at a bucket, by class. The lock of the bucket guards them.
type waiters struct {
	lines    [lineCount]line   // of the classes that have deadlines
	queues   [classCount]queue // of the others
	passed   int               // tokens since the last one of a class that was overdue, or of ClassOther and those after it
	departed int               // deregistrations since the last registration
}

// lineCount is how many classes have deadlines: ClassDeregister and ClassRegister.
const lineCount = ClassRegister + 1

const (
	// patience is how long a call of ClassOther, or of one after it, stands behind registrations and health: with many
	// groups to ask there is always one of these, and settings would never be read. After that, of every othersTurn tokens
	// one goes to such a call, and no more: otherwise many of them would delay calls that pods wait for. So it is of a late registration
	// behind late deregistrations.
	patience   = 10 * time.Second
	othersTurn = 5
)

func (ws *waiters) push(w *waiter, now time.Time) {
	if w.class < lineCount {
		ws.lines[w.class].push(w, now)
		return
	}
	ws.queues[w.class].push(w)
}

// remove takes w out, wherever it stands. It must be waiting.
func (ws *waiters) remove(w *waiter) {
	if w.class < lineCount {
		ws.lines[w.class].remove(w)
		return
	}
	ws.queues[w.class].remove(w)
}

// expire has calls that are due by now count as late.
func (ws *waiters) expire(now time.Time) {
	for class := range ws.lines {
		ws.lines[class].expire(now)
	}
}

// serve takes w out as it gets a token. One that stands in a queue must be the next there.
func (ws *waiters) serve(w *waiter, now time.Time) {
	ws.passed++
	if w.class < lineCount {
		ws.lines[w.class].serve(w)
		if ws.departed++; w.class == ClassRegister {
			ws.departed = 0
		}
		return
	}
	if overdue := ws.overdue(now); w.class >= ClassOther && (overdue == w.class || overdue == classCount) {
		ws.passed = 1
	}
	ws.queues[w.class].serve(w)
}

// overdue is the class of the call that has waited longest of ClassOther and those after it, if that is for too long; classCount for none.
func (ws *waiters) overdue(now time.Time) Class {
	overdue, before := classCount, now.Add(-patience+1)
	for class := ClassOther; class < classCount; class++ {
		if ws.queues[class].len() > 0 && ws.queues[class].waitsSince().Before(before) {
			overdue, before = class, ws.queues[class].waitsSince()
		}
	}
	return overdue
}

// count is how many calls of the class wait.
func (ws *waiters) count(class Class) int {
	if class < lineCount {
		return ws.lines[class].len()
	}
	return ws.queues[class].len()
}

func (ws *waiters) isEmpty() bool {
	for class := range classCount {
		if ws.count(class) > 0 {
			return false
		}
	}
	return true
}
