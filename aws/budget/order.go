// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"math"
	"time"
)

// A pod's deregistration has a deadline: the pod may stop serving some time after it. A registration has one too, by which its pod
// should be in, but nothing is lost when it is late. So:
//
//   - No deregistration is late for the sake of another call. One goes as soon as another call would make one of them late.
//   - Late registrations leave some tokens to deregistrations to come: each has a pod deleted soon.
//   - Otherwise the earliest deadline goes first, and a deregistration waits while no other call wants the token and less than half of
//     the tokens are left: others of its group may come and go in the same call, and a token that is kept is not lost. One whose target
//     has no replacement yet waits till it is due.
//   - What is late cannot be helped any more: late deregistrations go next, then late registrations. But where there are more of the former
//     than tokens, and all have missed their deadlines or had none, a registration that has waited for longer than patience gets a token
//     after every four of them: there may be hundreds, as when a namespace is deleted, and all new pods would wait for the last one.
//   - Where deadlines cannot all be kept, every second deregistration is one that is late, and of these and of registrations the tenants
//     take turns: how much one asks for makes no other late for long.
//
// As long as all deadlines can be kept, earliest first keeps them all.

// lineCount is how many classes have deadlines: ClassDeregister and ClassRegister.
const lineCount = ClassRegister + 1

// next is the waiter to serve now, or when there is none, the pause after which there may be one; 0 when no call waits. The caller
// holds the lock, and has brought the tokens up to date.
func (b *bucket) next() (*waiter, time.Duration) {
	for class := range b.lines {
		b.lines[class].expire(b.filled)
	}
	if b.tokens < 1 {
		if !b.someWait() {
			return nil, 0
		}
		return nil, b.pace.until(1 - b.tokens)
	}
	if w := b.nextTargets(); w != nil {
		return w, 0
	}
	if b.lines[ClassRegister].late.len() > 0 { // the tokens that it waits for are not for others
		return nil, b.pause()
	}
	for _, class := range [...]Class{ClassAdmission, ClassWaitingHealth, ClassOther, ClassProvision, ClassLate} {
		if b.queues[class].len() > 0 && (class != ClassAdmission || b.admission >= 1) {
			return b.queues[class].next(), 0
		}
	}
	return nil, b.pause()
}

// nextTargets is the registration, deregistration or overdue call to serve before all other calls, nil when there is none that wants
// to be served now. The caller holds the lock.
func (b *bucket) nextTargets() *waiter {
	leave, come := &b.lines[ClassDeregister], &b.lines[ClassRegister]
	if w := b.pressing(leave); w != nil {
		return w
	}
	if leave.late.len() > 0 {
		if b.starves(leave, come) {
			return come.late.next()
		}
		return leave.late.next()
	}
	if class := b.overdue(); class < classCount && b.passed >= othersTurn {
		return b.queues[class].next()
	}
	switch late := come.late.len() > 0; {
	case late && b.tokens >= 1+b.reserve():
		return come.late.next()
	case late:
		return nil
	default:
		return b.earlyTargets(leave, come)
	}
}

// starves reports whether a late registration goes before late deregistrations. The caller holds the lock.
func (b *bucket) starves(leave, come *line) bool {
	return b.departed >= othersTurn-1 && float64(leave.late.len()) > b.tokens && !b.filled.Before(leave.missed) &&
		come.late.len() > 0 && come.late.waitsSince().Before(b.filled.Add(-patience))
}

// earlyTargets is the next of the early calls, nil when there is none that wants to be served now. The caller holds the lock.
func (b *bucket) earlyTargets(leave, come *line) *waiter {
	leaves := leave.willing()
	if len(come.early) == 0 {
		if leaves != nil && b.plenty() {
			return leaves
		}
		return nil
	}
	comes := come.early[0]
	if !b.inTime(come, 0) {
		comes = come.inTurn()
	}
	if leaves != nil && leaves.due.Before(comes.due) {
		return leaves
	}
	return comes
}

// reserved is the part of the burst that late registrations leave to deregistrations: 12 of 20 tokens. When 50 Deployments are rolled at
// once, some 30 deregistrations come together, and the 4 s for which each may wait bring 16 tokens (package e2e/bench).
const reserved = 0.6

// reserve is how many tokens that are, as long as there is room for them: many calls may hang. While AWS accepts nothing there are none: a
// call finds out when it accepts calls again, and tokens do not. Nor are there any where no deregistration comes. The caller holds the
// lock.
func (b *bucket) reserve() float64 {
	if b.pace.refused || !b.leaves {
		return 0
	}
	share := b.pace.rate / b.pace.full // or a throttled bucket would take minutes to fill that far
	return min(math.Floor(reserved*share*float64(b.rule.Burst)), b.capacity()-1)
}

// pressing is the deregistration that has to go now, nil while others may go first. The caller holds the lock.
func (b *bucket) pressing(leave *line) *waiter {
	switch {
	case len(leave.early) == 0 || b.inTime(leave, 1):
		return nil
	case b.inTime(leave, 0):
		return leave.early[0]
	case leave.late.len() > 0 && leave.turns%2 == 0: // every second one
		return leave.late.next()
	default:
		return leave.early[0]
	}
}

// inTime reports whether the early calls of the line can all be sent before they are due, after so many tokens were spent otherwise.
// The caller holds the lock.
func (b *bucket) inTime(l *line, spent float64) bool {
	for i, w := range l.early {
		if b.tokens-spent+b.pace.sure(w.due.Sub(b.filled)) < float64(i+1) {
			return false
		}
	}
	return true
}

// plenty reports whether at least half of the tokens are left. The caller holds the lock.
func (b *bucket) plenty() bool { return b.tokens >= float64(b.rule.Burst)/2 }

// pause is how long it takes until a call that waits although there is a token may be served, 0 when none does: the lookups have
// used up their share, late registrations leave the rest to others, or deregistrations wait. The caller holds the lock.
func (b *bucket) pause() time.Duration {
	var first time.Duration
	sooner := func(pause time.Duration) {
		if first == 0 || pause < first {
			first = pause
		}
	}
	if b.queues[ClassAdmission].len() > 0 && b.admission < 1 {
		sooner(b.pace.until((1 - b.admission) / admissionShare))
	}
	leave := &b.lines[ClassDeregister]
	if b.lines[ClassRegister].late.len() > 0 {
		sooner(b.pace.until(1 + b.reserve() - b.tokens))
	}
	if leave.willing() != nil && !b.plenty() {
		sooner(b.pace.until(float64(b.rule.Burst)/2 - b.tokens))
	}
	if len(leave.early) > 0 {
		sooner(b.latest(leave))
	}
	return first
}

// latest is after which pause the first of the line's early calls may press although no other call takes a token: when it is due, or
// before that when more are due together than there is room for tokens. It reckons with the present rate. While that rises, the call may
// not press yet then; so the next look is when there is one more token, or when the first call is due. The caller holds the lock.
func (b *bucket) latest(l *line) time.Duration {
	latest := l.early[0].due.Sub(b.filled)
	for i, w := range l.early[min(len(l.early), int(b.capacity())):] {
		latest = min(latest, w.due.Sub(b.filled)-time.Duration(float64(i+1)/b.pace.rate*float64(time.Second)))
	}
	if latest <= 0 {
		return min(b.pace.until(1), l.early[0].due.Sub(b.filled))
	}
	return latest
}

// take takes the waiter out, and a token for it. The caller holds the lock.
func (b *bucket) take(w *waiter) {
	b.tokens--
	b.underWay++
	b.passed++
	if w.class < lineCount {
		b.lines[w.class].serve(w)
		if b.departed++; w.class == ClassRegister {
			b.departed = 0
		}
		return
	}
	b.takeOther(w.class)
	b.queues[w.class].serve(w)
}

func (b *bucket) takeOther(class Class) {
	switch class {
	case ClassAdmission:
		b.admission--
	case ClassOther, ClassProvision, ClassLate:
		if overdue := b.overdue(); overdue == class || overdue == classCount {
			b.passed = 1
		}
	}
}

// overdue is the class of the call that has waited longest of ClassOther and those after it, if that is for too long; classCount for
// none. The caller holds the lock.
func (b *bucket) overdue() Class {
	overdue, before := classCount, b.filled.Add(-patience+1)
	for class := ClassOther; class < classCount; class++ {
		if b.queues[class].len() > 0 && b.queues[class].waitsSince().Before(before) {
			overdue, before = class, b.queues[class].waitsSince()
		}
	}
	return overdue
}

// waiting is how many calls of the class wait. The caller holds the lock.
func (b *bucket) waiting(class Class) int {
	if class < lineCount {
		return b.lines[class].len()
	}
	return b.queues[class].len()
}

func (b *bucket) someWait() bool {
	for class := range classCount {
		if b.waiting(class) > 0 {
			return true
		}
	}
	return false
}
