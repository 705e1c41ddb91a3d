// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// bucket is a token bucket whose waiters are served by class and deadline (order.go). AWS takes its token when a call
// arrives: calls that bunch up on the way find its bucket emptier than ours was, if that has gone on filling meanwhile. So
// ours holds less than the burst by as many as are under way: however long these take, there is a token for each at AWS.
type bucket struct {
	rule   Rule
	clock  clock.WithDelayedExecution
	leaves bool // pods' deregistrations take their tokens here

	mu        sync.Mutex
	pace      pace
	tokens    float64
	admission float64           // how many of them lookups for users may take
	filled    time.Time         // when tokens and pace were last brought up to date
	underWay  int               // calls that have their token and no answer yet
	lines     [lineCount]line   // of the classes that have deadlines
	queues    [classCount]queue // of the others
	passed    int               // tokens since the last one of a class that was overdue, or of ClassOther and those after it
	departed  int               // deregistrations since the last registration
	timer     clock.Timer
}

const (
	// patience is how long a call of ClassOther, or of one after it, stands behind registrations and health: with many
	// groups to ask there is always one of these, and settings would never be read. After that, of every othersTurn tokens
	// one goes to such a call, and no more: otherwise many of them would delay calls that pods wait for. So it is of a late registration
	// behind late deregistrations.
	patience   = 10 * time.Second
	othersTurn = 5

	// admissionShare is the part of tokens and burst that lookups for users take at most. They go before health for that:
	// so neither keeps the other waiting for long, and as every replica answers users, and has a bucket of its own, the
	// replicas that do nothing else add as little to the account's calls.
	admissionShare = 0.2
)

func newBucket(rule Rule, clk clock.WithDelayedExecution) *bucket {
	b := &bucket{
		rule: rule, clock: clk, leaves: rule.matches(ELBv2, "DeregisterTargets"),
		pace: pace{full: rule.Rate, rate: rule.Rate}, tokens: float64(rule.Burst), filled: clk.Now(), passed: othersTurn,
	}
	b.admission = b.rule.admissionBurst()
	return b
}

// Token is the right to make one call. Whoever has it says when the call was answered, or that it was not made. The nil
// token is of a call that is not rationed.
type Token struct{ bucket *bucket }

// Answered says that the call was answered.
func (t *Token) Answered() {
	if t != nil {
		t.bucket.settle(0)
	}
}

// Refund says that the call was not made.
func (t *Token) Refund() {
	if t != nil {
		t.bucket.settle(1)
	}
}

func (b *bucket) wait(ctx context.Context, u Urgency, tenant string) (*Token, error) {
	w := b.enqueue(u, tenant)
	select {
	case <-w.granted:
		return &Token{bucket: b}, nil
	case <-ctx.Done():
		b.abandon(w)
		return nil, ctx.Err()
	}
}

func (b *bucket) enqueue(u Urgency, tenant string) *waiter {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.clock.Now()
	w := &waiter{class: u.Class, tenant: tenant, since: now, waits: u.Waits, granted: make(chan struct{})}
	if u.Class < lineCount {
		if w.due, w.deadline = now, u.Deadline; !u.Deadline.IsZero() {
			w.due = u.Deadline.Add(-CallTime)
		}
		b.lines[u.Class].push(w, now)
	} else {
		b.queues[u.Class].push(w)
	}
	b.grant()
	return w
}

// abandon takes w out of the line, or gives its token back when it was granted in the same moment.
func (b *bucket) abandon(w *waiter) {
	b.mu.Lock()
	waited := w.waiting
	switch {
	case waited && w.class < lineCount:
		b.lines[w.class].remove(w)
	case waited:
		b.queues[w.class].remove(w)
	}
	if waited {
		b.grant() // others may have waited for this one
	}
	b.mu.Unlock()
	if !waited {
		b.settle(1)
	}
}

// settle ends what began with a token, and gives back as many as are returned.
func (b *bucket) settle(returned float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refill()
	b.underWay--
	b.tokens += returned
	b.grant()
}

// throttled takes notice that AWS had no token for a call that we had one for.
func (b *bucket) throttled() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refill()
	if b.pace.halve(b.filled) {
		b.tokens = 0
		b.grant() // the timer is set for a faster rate
	}
}

// accepted takes notice that AWS had a token for a call.
func (b *bucket) accepted() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refill()
	if b.pace.accept(b.filled) {
		b.grant() // the timer is set for a slower rate
	}
}

// capacity is how many tokens fit in: one, however many calls hang. The caller holds the lock.
func (b *bucket) capacity() float64 { return max(1, float64(b.rule.Burst-b.underWay)) }

// admissionBurst is how many tokens there may be for lookups: one, however small the bucket is.
func (r Rule) admissionBurst() float64 { return max(1, admissionShare*float64(r.Burst)) }

// refill brings tokens and pace up to date. The caller holds the lock.
func (b *bucket) refill() {
	now := b.clock.Now()
	came := b.pace.advance(now.Sub(b.filled))
	b.tokens = min(b.capacity(), b.tokens+came)
	b.admission = min(b.rule.admissionBurst(), b.admission+admissionShare*came)
	b.filled = now
}

// grant serves as many waiters as there are tokens, and sets the timer for the next one. The caller holds the lock.
func (b *bucket) grant() {
	b.refill()
	w, pause := b.next()
	for ; w != nil; w, pause = b.next() {
		b.take(w)
		close(w.granted)
	}
	if b.timer != nil {
		b.timer.Stop()
		b.timer = nil
	}
	if pause > 0 {
		b.timer = b.clock.AfterFunc(pause+time.Millisecond, b.tick)
	}
}

func (b *bucket) tick() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.grant()
}

// short reports whether less than half of the tokens are left, or registrations are late.
func (b *bucket) short() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refill()
	return !b.plenty() || b.lines[ClassRegister].late.len() > 0
}

func (b *bucket) level() Level {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refill()
	l := Level{Operations: b.rule.pattern(), Tokens: b.tokens, Rate: b.pace.rate}
	for class := range classCount {
		l.Waiting[class] = b.waiting(class)
	}
	return l
}
