// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package elbv2

import (
	"context"
	"math"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// bucket is a token bucket whose waiters are served by class. AWS takes its token when a call arrives: calls that bunch up on
// the way find its bucket emptier than ours was, if that has gone on filling meanwhile. So ours holds less than the burst by
// as many as are under way: however long these take, there is a token for each at AWS.
type bucket struct {
	rule  ThrottleRule
	clock clock.WithDelayedExecution

	mu       sync.Mutex
	pace     pace
	tokens   float64
	filled   time.Time // when tokens and pace were last brought up to date
	underWay int       // calls that have their token and no answer yet
	waiters  []*waiter // most urgent first
	timer    clock.Timer
}

type waiter struct {
	class   Class
	since   time.Time
	granted chan struct{}
}

// patience is how long a call that nobody waits for stands behind those for health: with many groups to ask there is
// always one of these, and settings would never be read.
const patience = 10 * time.Second

func newBucket(rule ThrottleRule, clk clock.WithDelayedExecution) *bucket {
	return &bucket{
		rule: rule, clock: clk,
		pace: pace{full: rule.Rate, rate: rule.Rate}, tokens: float64(rule.Burst), filled: clk.Now(),
	}
}

// token is the right to make one call. Whoever has it says when the call was answered, or that it was not made. The nil
// token is of a call that is not rationed.
type token struct{ bucket *bucket }

func (t *token) answered() {
	if t != nil {
		t.bucket.settle(0)
	}
}

func (t *token) refund() {
	if t != nil {
		t.bucket.settle(1)
	}
}

func (b *bucket) wait(ctx context.Context, class Class) (*token, error) {
	w := b.enqueue(class)
	select {
	case <-w.granted:
		return &token{bucket: b}, nil
	case <-ctx.Done():
		b.abandon(w)
		return nil, ctx.Err()
	}
}

func (b *bucket) enqueue(class Class) *waiter {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := &waiter{class: class, since: b.clock.Now(), granted: make(chan struct{})}
	at, _ := slices.BinarySearchFunc(b.waiters, class+1, func(w *waiter, class Class) int { return int(w.class - class) })
	b.waiters = slices.Insert(b.waiters, at, w)
	b.grant()
	return w
}

// abandon takes w out of the line, or gives its token back when it was granted in the same moment.
func (b *bucket) abandon(w *waiter) {
	b.mu.Lock()
	at := slices.Index(b.waiters, w)
	if at >= 0 {
		b.waiters = slices.Delete(b.waiters, at, at+1)
		b.grant() // others may have waited for this one
	}
	b.mu.Unlock()
	if at < 0 {
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

// price is how many tokens there must be for the call, of which it takes one. Many calls that hang leave no room for that
// many tokens: a registration that has waited for as long as the reserve takes to fill goes when no more fit in. The caller
// holds the lock.
func (b *bucket) price(w *waiter) float64 {
	if w.class != ClassRegister {
		return 1
	}
	share := b.pace.rate / b.pace.full // or a throttled bucket would take minutes to fill that far
	reserve := math.Floor(reserved * share * float64(b.rule.Burst))
	if b.filled.Sub(w.since).Seconds() < reserve/b.pace.full {
		return 1 + reserve
	}
	return min(1+reserve, b.capacity())
}

// capacity is how many tokens fit in: one, however many calls hang. The caller holds the lock.
func (b *bucket) capacity() float64 { return max(1, float64(b.rule.Burst-b.underWay)) }

// refill brings tokens and pace up to date. The caller holds the lock.
func (b *bucket) refill() {
	now := b.clock.Now()
	b.tokens = min(b.capacity(), b.tokens+b.pace.advance(now.Sub(b.filled)))
	b.filled = now
}

// grant serves as many waiters as there are tokens and sets the timer for the next one. The caller holds the lock.
func (b *bucket) grant() {
	b.refill()
	for len(b.waiters) > 0 {
		next := b.next()
		if b.tokens < b.price(b.waiters[next]) {
			break
		}
		b.tokens--
		b.underWay++
		close(b.waiters[next].granted)
		b.waiters = slices.Delete(b.waiters, next, next+1)
	}
	if b.timer != nil {
		b.timer.Stop()
		b.timer = nil
	}
	if len(b.waiters) > 0 {
		b.timer = b.clock.AfterFunc(b.pace.until(b.price(b.waiters[0])-b.tokens)+time.Millisecond, b.tick)
	}
}

// next is the waiter whose turn it is: the first, unless that asks for health and a call of ClassOther has lost patience.
func (b *bucket) next() int {
	if b.waiters[0].class != ClassWaitingHealth {
		return 0
	}
	other := slices.IndexFunc(b.waiters, func(w *waiter) bool { return w.class == ClassOther })
	if other > 0 && b.filled.Sub(b.waiters[other].since) >= patience {
		return other
	}
	return 0
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
	return len(b.waiters) > 0 && b.waiters[0].class <= class
}

// level is what a bucket shows of itself.
type level struct {
	tokens, rate float64
	waiting      [classCount]int
}

func (b *bucket) level() level {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refill()
	l := level{tokens: b.tokens, rate: b.pace.rate}
	for _, w := range b.waiters {
		l.waiting[w.class]++
	}
	return l
}
