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
	clock clock.WithDelayedExecution

	mu sync.Mutex // guards what is below, but for what a supply says does not change
	supply
	calls waiters
	timer clock.Timer
}

func newBucket(rule Rule, clk clock.WithDelayedExecution) *bucket {
	return &bucket{clock: clk, supply: newSupply(rule, clk.Now()), calls: waiters{passed: othersTurn}}
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
	}
	b.calls.push(w, now)
	b.grant()
	return w
}

// abandon takes w out of the line, or gives its token back when it was granted in the same moment.
func (b *bucket) abandon(w *waiter) {
	b.mu.Lock()
	waited := w.waiting
	if waited {
		b.calls.remove(w)
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
	b.update()
	b.underWay--
	b.tokens += returned
	b.grant()
}

// throttled takes notice that AWS had no token for a call that we had one for.
func (b *bucket) throttled() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.update()
	if b.pace.halve(b.filled) {
		b.tokens = 0
		b.grant() // the timer is set for a faster rate
	}
}

// accepted takes notice that AWS had a token for a call.
func (b *bucket) accepted() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.update()
	if b.pace.accept(b.filled) {
		b.grant() // the timer is set for a slower rate
	}
}

// update brings the supply up to date. The caller holds the lock.
func (b *bucket) update() { b.refill(b.clock.Now()) }

// grant serves as many waiters as there are tokens, and sets the timer for the next one. The caller holds the lock.
func (b *bucket) grant() {
	b.update()
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
	b.update()
	return !b.plenty() || b.calls.lines[ClassRegister].late.len() > 0
}

func (b *bucket) level() Level {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.update()
	l := Level{Operations: b.rule.pattern(), Tokens: b.tokens, Rate: b.pace.rate}
	for class := range classCount {
		l.Waiting[class] = b.calls.count(class)
	}
	return l
}
