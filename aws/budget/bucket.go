// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"context"
	"math"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// bucket is a token bucket whose waiters are served by class, and within a class by tenant. AWS takes its token when a call
// arrives: calls that bunch up on the way find its bucket emptier than ours was, if that has gone on filling meanwhile. So
// ours holds less than the burst by as many as are under way: however long these take, there is a token for each at AWS.
type bucket struct {
	rule  Rule
	clock clock.WithDelayedExecution

	mu        sync.Mutex
	pace      pace
	tokens    float64
	admission float64   // how many of them lookups for users may take
	filled    time.Time // when tokens and pace were last brought up to date
	underWay  int       // calls that have their token and no answer yet
	queues    [classCount]queue
	passed    int // tokens that went to others since the last one of a class that was overdue, or of ClassOther and those after it
	timer     clock.Timer
}

const (
	// patience is how long a call of ClassOther, or of one after it, stands behind registrations and health: with many
	// groups to ask there is always one of these, and settings would never be read. After that, of every othersTurn tokens
	// one goes to such a call, and no more: otherwise many of them would delay calls that pods wait for.
	patience   = 10 * time.Second
	othersTurn = 5

	// admissionShare is the part of tokens and burst that lookups for users take at most. They go before health for that:
	// so neither keeps the other waiting for long, and as every replica answers users, and has a bucket of its own, the
	// replicas that do nothing else add as little to the account's calls.
	admissionShare = 0.2
)

func newBucket(rule Rule, clk clock.WithDelayedExecution) *bucket {
	b := &bucket{
		rule: rule, clock: clk,
		pace: pace{full: rule.Rate, rate: rule.Rate}, tokens: float64(rule.Burst), filled: clk.Now(), passed: othersTurn,
	}
	b.admission = b.admissionBurst()
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

func (b *bucket) wait(ctx context.Context, class Class, tenant string) (*Token, error) {
	w := b.enqueue(class, tenant)
	select {
	case <-w.granted:
		return &Token{bucket: b}, nil
	case <-ctx.Done():
		b.abandon(w)
		return nil, ctx.Err()
	}
}

func (b *bucket) enqueue(class Class, tenant string) *waiter {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := &waiter{class: class, tenant: tenant, since: b.clock.Now(), granted: make(chan struct{})}
	b.queues[class].push(w)
	b.grant()
	return w
}

// abandon takes w out of the line, or gives its token back when it was granted in the same moment.
func (b *bucket) abandon(w *waiter) {
	b.mu.Lock()
	waited := w.place != nil
	if waited {
		b.queues[w.class].remove(w)
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

// reserved is the part of the burst that registrations leave to deregistrations. The pods that they let in take as many
// others away some seconds later, all at once; without it these would stand in a line of their own while the next
// registrations stand in theirs, which is the longer one anyway.
const reserved = 0.4

// price is how many tokens there must be for the next call of the class, of which it takes one. Many calls that hang leave
// no room for that many tokens: when a registration has waited for as long as the reserve takes to fill, registrations go
// when no more fit in. The caller holds the lock.
func (b *bucket) price(class Class) float64 {
	if class != ClassRegister {
		return 1
	}
	share := b.pace.rate / b.pace.full // or a throttled bucket would take minutes to fill that far
	reserve := math.Floor(reserved * share * float64(b.rule.Burst))
	if b.filled.Sub(b.queues[class].waitsSince()).Seconds() < reserve/b.pace.full {
		return 1 + reserve
	}
	return min(1+reserve, b.capacity())
}

// capacity is how many tokens fit in: one, however many calls hang. The caller holds the lock.
func (b *bucket) capacity() float64 { return max(1, float64(b.rule.Burst-b.underWay)) }

// admissionBurst is how many tokens there may be for lookups: one, however small the bucket is.
func (b *bucket) admissionBurst() float64 { return max(1, admissionShare*float64(b.rule.Burst)) }

// refill brings tokens and pace up to date. The caller holds the lock.
func (b *bucket) refill() {
	now := b.clock.Now()
	came := b.pace.advance(now.Sub(b.filled))
	b.tokens = min(b.capacity(), b.tokens+came)
	b.admission = min(b.admissionBurst(), b.admission+admissionShare*came)
	b.filled = now
}

// grant serves as many waiters as there are tokens and sets the timer for the next one. The caller holds the lock.
func (b *bucket) grant() {
	b.refill()
	class, lack := b.next()
	for ; class < classCount && lack <= 0; class, lack = b.next() {
		b.take(class)
		close(b.queues[class].pop().granted)
	}
	if b.timer != nil {
		b.timer.Stop()
		b.timer = nil
	}
	if class < classCount {
		b.timer = b.clock.AfterFunc(b.pace.until(lack)+time.Millisecond, b.tick)
	}
}

// take takes a token for a call of that class. The caller holds the lock.
func (b *bucket) take(class Class) {
	b.tokens--
	b.underWay++
	b.passed++
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

// next is the class whose turn it is, and how many tokens have to come in before that; classCount when no call waits. The
// caller holds the lock.
func (b *bucket) next() (next Class, lack float64) {
	overdue := b.overdue()
	for _, turn := range []struct {
		class Class
		may   bool
	}{
		{ClassDeregister, true},
		{overdue, overdue < classCount && b.passed >= othersTurn},
		{ClassRegister, true},
		{ClassAdmission, b.admission >= 1},
		{ClassWaitingHealth, true},
		{ClassOther, true},
		{ClassProvision, true},
		{ClassLate, true},
	} {
		if turn.may && b.queues[turn.class].len() > 0 {
			return turn.class, b.price(turn.class) - b.tokens
		}
	}
	if b.queues[ClassAdmission].len() > 0 {
		return ClassAdmission, max(1-b.tokens, (1-b.admission)/admissionShare)
	}
	return classCount, 0
}

func (b *bucket) tick() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.grant()
}

// short reports whether less than half of the tokens are left.
func (b *bucket) short() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refill()
	return b.tokens < float64(b.rule.Burst)/2
}

// queued reports whether calls at least as urgent as class wait for a token.
func (b *bucket) queued(class Class) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for urgent := range class + 1 {
		if b.queues[urgent].len() > 0 {
			return true
		}
	}
	return false
}

func (b *bucket) level() Level {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refill()
	l := Level{Operations: b.rule.pattern(), Tokens: b.tokens, Rate: b.pace.rate}
	for class := range b.queues {
		l.Waiting[class] = b.queues[class].len()
	}
	return l
}
