// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import "time"

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

// next is the waiter to serve now, or when there is none, the pause after which there may be one; 0 when no call waits. The caller
// holds the lock, and has brought the tokens up to date.
func (b *bucket) next() (*waiter, time.Duration) {
	b.calls.expire(b.filled)
	if b.tokens < 1 {
		if b.calls.isEmpty() {
			return nil, 0
		}
		return nil, b.pace.until(1 - b.tokens)
	}
	if w := b.nextTargets(); w != nil {
		return w, 0
	}
	if b.calls.lines[ClassRegister].late.len() > 0 { // the tokens that it waits for are not for others
		return nil, b.pause()
	}
	for _, class := range [...]Class{ClassAdmission, ClassWaitingHealth, ClassOther, ClassProvision, ClassLate} {
		if b.calls.queues[class].len() > 0 && (class != ClassAdmission || b.admission >= 1) {
			return b.calls.queues[class].next(), 0
		}
	}
	return nil, b.pause()
}

// nextTargets is the registration, deregistration or overdue call to serve before all other calls, nil when there is none that wants
// to be served now. The caller holds the lock.
func (b *bucket) nextTargets() *waiter {
	leave, come := &b.calls.lines[ClassDeregister], &b.calls.lines[ClassRegister]
	if w := b.pressing(leave); w != nil {
		return w
	}
	if leave.late.len() > 0 {
		if b.starves(leave, come) {
			return come.late.next()
		}
		return leave.late.next()
	}
	if class := b.calls.overdue(b.filled); class < classCount && b.calls.passed >= othersTurn {
		return b.calls.queues[class].next()
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
	return b.calls.departed >= othersTurn-1 && float64(leave.late.len()) > b.tokens && !b.filled.Before(leave.missed) &&
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

// pause is how long it takes until a call that waits although there is a token may be served, 0 when none does: the lookups have
// used up their share, late registrations leave the rest to others, or deregistrations wait. The caller holds the lock.
func (b *bucket) pause() time.Duration {
	var first time.Duration
	sooner := func(pause time.Duration) {
		if first == 0 || pause < first {
			first = pause
		}
	}
	if b.calls.queues[ClassAdmission].len() > 0 && b.admission < 1 {
		sooner(b.pace.until((1 - b.admission) / admissionShare))
	}
	leave := &b.calls.lines[ClassDeregister]
	if b.calls.lines[ClassRegister].late.len() > 0 {
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
	b.spend(w.class)
	b.calls.serve(w, b.filled)
}
