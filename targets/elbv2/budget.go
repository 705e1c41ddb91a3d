// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package elbv2

import (
	"context"
	"slices"
	"sync"
	"time"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go/middleware"
	"k8s.io/utils/clock"
)

// Class is the urgency of a call. Of the calls that wait for the same bucket the lowest class goes first, and within
// a class the one that came first.
type Class int

// The classes, most urgent first.
const (
	ClassDeregister    Class = iota // a pod is on its way out: every second may lose requests
	ClassRegister                   // a pod waits to be let in
	ClassAdmission                  // a user waits for a binding to be created
	ClassWaitingHealth              // a pod waits for its health checks
	ClassOther                      // nobody waits
)

// Budget rations HTTP attempts, retries included. It is safe for concurrent use.
type Budget struct {
	rules   []ThrottleRule
	buckets []*bucket
}

// NewBudget returns full buckets, one a rule; DefaultThrottle's when there are no rules.
func NewBudget(rules []ThrottleRule, clk clock.WithDelayedExecution) *Budget {
	if len(rules) == 0 {
		rules = DefaultThrottle()
	}
	b := &Budget{rules: rules}
	for _, rule := range rules {
		b.buckets = append(b.buckets, &bucket{
			rate: rule.Rate, burst: float64(rule.Burst), tokens: float64(rule.Burst), filled: clk.Now(), clock: clk,
		})
	}
	return b
}

// wait takes a token for operation and blocks until there is one. Operations that no rule matches are free.
func (b *Budget) wait(ctx context.Context, operation string) error {
	bucket := b.bucketFor(operation)
	if bucket == nil {
		return nil
	}
	return bucket.wait(ctx, chargeOf(ctx).class)
}

func (b *Budget) bucketFor(operation string) *bucket {
	for i, rule := range b.rules {
		if rule.matches(operation) {
			return b.buckets[i]
		}
	}
	return nil
}

type classKey struct{}

// charge says to which class a call's attempts are charged, and whether its only attempt has been paid for.
type charge struct {
	class Class
	paid  bool
}

func withClass(ctx context.Context, class Class) context.Context {
	return context.WithValue(ctx, classKey{}, charge{class: class})
}

// withPaid is for a call of one attempt whose token has been taken already.
func withPaid(ctx context.Context, class Class) context.Context {
	return context.WithValue(ctx, classKey{}, charge{class: class, paid: true})
}

func chargeOf(ctx context.Context) charge {
	if c, ok := ctx.Value(classKey{}).(charge); ok {
		return c
	}
	return charge{class: ClassOther}
}

// refund gives back the token of a call that is not made after all.
func (b *Budget) refund(operation string) {
	if bucket := b.bucketFor(operation); bucket != nil {
		bucket.refund()
	}
}

// addTo charges every attempt of an SDK client to the budget: it stands behind the SDK's retry loop.
func (b *Budget) addTo(stack *middleware.Stack) error {
	return stack.Finalize.Insert(middleware.FinalizeMiddlewareFunc("targetgateBudget", b.chargeAttempt), "Retry", middleware.After)
}

func (b *Budget) chargeAttempt(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (
	middleware.FinalizeOutput, middleware.Metadata, error,
) {
	if !chargeOf(ctx).paid {
		if err := b.wait(ctx, awsmiddleware.GetOperationName(ctx)); err != nil {
			return middleware.FinalizeOutput{}, middleware.Metadata{}, err
		}
	}
	return next.HandleFinalize(ctx, in)
}

// bucket is a token bucket whose waiters are served by class.
type bucket struct {
	rate, burst float64 // tokens a second, and at most
	clock       clock.WithDelayedExecution

	mu      sync.Mutex
	tokens  float64
	filled  time.Time // when tokens was last brought up to date
	waiters []*waiter // most urgent first
	timer   clock.Timer
}

type waiter struct {
	class   Class
	granted chan struct{}
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
	w := &waiter{class: class, granted: make(chan struct{})}
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

// grant serves as many waiters as there are tokens and sets the timer for the next one. The caller holds the lock.
func (b *bucket) grant() {
	now := b.clock.Now()
	b.tokens = min(b.burst, b.tokens+b.rate*now.Sub(b.filled).Seconds())
	b.filled = now
	for b.tokens >= 1 && len(b.waiters) > 0 {
		b.tokens--
		close(b.waiters[0].granted)
		b.waiters = slices.Delete(b.waiters, 0, 1)
	}
	if b.timer != nil {
		b.timer.Stop()
		b.timer = nil
	}
	if len(b.waiters) > 0 {
		missing := time.Duration((1 - b.tokens) / b.rate * float64(time.Second))
		b.timer = b.clock.AfterFunc(missing+time.Millisecond, b.tick)
	}
}

func (b *bucket) tick() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.grant()
}
