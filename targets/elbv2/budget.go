// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package elbv2

import (
	"context"
	"slices"
	"time"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go/middleware"
	"k8s.io/utils/clock"
)

// Class is the urgency of a call. Of the calls that wait for the same bucket the lowest class goes first; within a class
// the tenants take turns. ClassAdmission has a fifth of the bucket, for which it goes before ClassWaitingHealth, and never
// more. ClassOther gets every fifth token after 10 s, or the more urgent ones could keep it waiting for ever.
type Class int

// The classes, most urgent first.
const (
	ClassDeregister    Class = iota // a pod is on its way out: every second may lose requests
	ClassRegister                   // a pod waits to be let in
	ClassWaitingHealth              // a pod waits for its health checks
	ClassAdmission                  // a user waits for a binding to be created
	ClassOther                      // nobody waits, or what it was for has failed before

	classCount // how many there are
)

// String is the class as metrics name it.
func (c Class) String() string {
	return [classCount]string{"deregister", "register", "waiting-health", "admission", "other"}[c]
}

// Budget rations HTTP attempts of one account, retries included. It is safe for concurrent use.
type Budget struct {
	account string // as metrics name it; empty for the program's own
	clock   clock.WithDelayedExecution
	buckets []*bucket
}

// NewBudget returns the full buckets of the program's own account, one a rule; DefaultThrottle's when there are no rules.
func NewBudget(rules []ThrottleRule, clk clock.WithDelayedExecution) *Budget {
	return newBudget("", rulesOf(serviceID, rules), clk)
}

func newBudget(account string, rules []ThrottleRule, clk clock.WithDelayedExecution) *Budget {
	b := &Budget{account: account, clock: clk}
	for _, rule := range rules {
		if !b.knows(rule) {
			b.buckets = append(b.buckets, newBucket(rule, clk))
		}
	}
	return b
}

// knows says whether there is a rule with the same pattern already: the second one would match nothing.
func (b *Budget) knows(rule ThrottleRule) bool {
	return slices.ContainsFunc(b.buckets, func(known *bucket) bool { return known.rule.pattern() == rule.pattern() })
}

// wait takes a token for operation and blocks until there is one. Operations that no rule matches are free.
func (b *Budget) wait(ctx context.Context, operation string) (*token, error) {
	bucket := b.bucketFor(operation)
	if bucket == nil {
		return nil, nil
	}
	charge, start := chargeOf(ctx), b.clock.Now()
	token, err := bucket.wait(ctx, charge.class, charge.tenant)
	waitSeconds.WithLabelValues(b.account, bucket.rule.pattern(), charge.class.String()).Observe(b.clock.Since(start).Seconds())
	return token, err
}

func (b *Budget) bucketFor(operation string) *bucket {
	for _, bucket := range b.buckets {
		if bucket.rule.matches(operation) {
			return bucket
		}
	}
	return nil
}

type chargeKey struct{}

// charge says to which budget, class and tenant a call's attempts are charged, and whether its only attempt has been paid
// for. Without a budget they are free.
type charge struct {
	budget *Budget
	class  Class
	tenant string
	paid   bool
}

// settled is for a call of one attempt whose token has been taken already.
func (c charge) settled() charge {
	c.paid = true
	return c
}

func withCharge(ctx context.Context, c charge) context.Context {
	return context.WithValue(ctx, chargeKey{}, c)
}

func chargeOf(ctx context.Context) charge {
	if c, ok := ctx.Value(chargeKey{}).(charge); ok {
		return c
	}
	return charge{class: ClassOther}
}

// Calls are what a rush of rollouts has too few of, and a Deployment replaces its pods one after the other, as each new one
// becomes ready. So while tokens are short a call waits for more targets of its group: a registration for as long as a
// health check takes anyway, a deregistration for a small part of the 12 s and more that a load balancer needs to stop
// sending.
var gathering = map[Class]time.Duration{ClassRegister: time.Second, ClassDeregister: 300 * time.Millisecond}

// gather waits that long if the operation's bucket is half empty.
func (b *Budget) gather(ctx context.Context, class Class, operation string) error {
	bucket := b.bucketFor(operation)
	if bucket == nil || !bucket.short() {
		return nil
	}
	timer := b.clock.NewTimer(gathering[class])
	defer timer.Stop()
	select {
	case <-timer.C():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// addBudget charges every attempt of an SDK client to the budget of its call: it stands behind the SDK's retry loop.
func addBudget(stack *middleware.Stack) error {
	return stack.Finalize.Insert(middleware.FinalizeMiddlewareFunc("targetgateBudget", chargeAttempt), "Retry", middleware.After)
}

func chargeAttempt(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (
	middleware.FinalizeOutput, middleware.Metadata, error,
) {
	operation, c := awsmiddleware.GetOperationName(ctx), chargeOf(ctx)
	if c.budget == nil {
		return next.HandleFinalize(ctx, in)
	}
	if !c.paid {
		token, err := c.budget.wait(ctx, operation)
		if err != nil {
			return middleware.FinalizeOutput{}, middleware.Metadata{}, err
		}
		defer token.answered()
	}
	out, metadata, err := next.HandleFinalize(ctx, in)
	c.budget.notice(operation, err)
	return out, metadata, err
}

// notice slows a bucket down when AWS throttled its attempt. That it throttled AssumeRole says nothing of our bucket.
func (b *Budget) notice(operation string, err error) {
	if bucket := b.bucketFor(operation); bucket != nil && IsThrottled(err) && !isRoleError(err) {
		bucket.throttled()
	}
}
