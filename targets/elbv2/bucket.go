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

// delaySpread is how much later than another a call may reach AWS that was let go before it: the first on a connection
// waits for the handshake. AWS takes its tokens when calls arrive, so calls that bunch up on the way find its bucket
// emptier than ours was: by rate x spread tokens at most, and that many are never handed out.
const delaySpread = 250 * time.Millisecond

// bucket is a token bucket whose waiters are served by class. It holds less than the rule's burst, see delaySpread.
type bucket struct {
	rule     ThrottleRule
	capacity float64
	clock    clock.WithDelayedExecution

	mu      sync.Mutex
	pace    pace
	tokens  float64
	filled  time.Time // when tokens and pace were last brought up to date
	waiters []*waiter // most urgent first
	timer   clock.Timer
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
	capacity := max(1, float64(rule.Burst)-math.Ceil(rule.Rate*delaySpread.Seconds()))
	return &bucket{
		rule: rule, capacity: capacity, clock: clk,
		pace: pace{full: rule.Rate, rate: rule.Rate}, tokens: capacity, filled: clk.Now(),
	}
}

func (b *bucket) wait(ctx context.Context, class Class) error {
	w := b.enqueue(class)
	select {
	case <-w.granted:
		return nil
	case <-ctx.Done():
		b.abandon(w)
		return ctx.Err()
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
	defer b.mu.Unlock()
	if at := slices.Index(b.waiters, w); at >= 0 {
		b.waiters = slices.Delete(b.waiters, at, at+1)
		return
	}
	b.tokens++
	b.grant()
}

func (b *bucket) refund() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tokens++
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

// refill brings tokens and pace up to date. The caller holds the lock.
func (b *bucket) refill() {
	now := b.clock.Now()
	b.tokens = min(b.capacity, b.tokens+b.pace.advance(now.Sub(b.filled)))
	b.filled = now
}

// grant serves as many waiters as there are tokens and sets the timer for the next one. The caller holds the lock.
func (b *bucket) grant() {
	b.refill()
	for b.tokens >= 1 && len(b.waiters) > 0 {
		b.tokens--
		next := b.next()
		close(b.waiters[next].granted)
		b.waiters = slices.Delete(b.waiters, next, next+1)
	}
	if b.timer != nil {
		b.timer.Stop()
		b.timer = nil
	}
	if len(b.waiters) > 0 {
		b.timer = b.clock.AfterFunc(b.pace.until(1-b.tokens)+time.Millisecond, b.tick)
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
	return b.tokens < b.capacity/2
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
