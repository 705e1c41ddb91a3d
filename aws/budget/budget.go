// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"context"
	"slices"
	"time"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go/middleware"
	"k8s.io/utils/clock"

	"github.com/targetgate/targetgate/aws/awserr"
)

// Class is what kind of call waits for a token. Of the calls that wait for the same bucket the lowest class goes first, but for what
// deadlines say (Urgency); within a class the tenants take turns. ClassAdmission has a fifth of the bucket, for which it goes before
// ClassWaitingHealth, and never more. ClassOther and those after it get every fifth token between them after 10 s, or the more urgent
// ones could keep them waiting for ever; so does ClassRegister behind deregistrations that are late.
type Class int

// The classes, most urgent first.
const (
	ClassDeregister    Class = iota // a pod is on its way out: after the deadline every second may lose requests
	ClassRegister                   // a pod waits to be let in
	ClassWaitingHealth              // a pod waits for its health checks
	ClassAdmission                  // a user waits for a binding to be created
	ClassOther                      // nobody waits, or what it was for has failed before
	ClassProvision                  // a load balancer is made, changed or looked at
	ClassLate                       // as ClassProvision, and no request depends on it

	classCount // how many there are
)

// String is the class as metrics name it.
func (c Class) String() string {
	return [classCount]string{"deregister", "register", "waiting-health", "admission", "other", "provision", "late"}[c]
}

// Urgency is when a call wants its token.
type Urgency struct {
	Class Class
	// Deadline is by when the call should have been answered; zero is as soon as possible. Of ClassDeregister and ClassRegister only.
	Deadline time.Time
	// Waits says that a deregistration is better made at its deadline than before: its target serves, and nothing replaces it yet.
	Waits bool
}

// Now is the urgency of a call of that class without a deadline.
func (c Class) Now() Urgency { return Urgency{Class: c} }

// Replaces reports whether a call that waits as other says should wait as u says instead: it may be sent sooner then, or a deregistration
// should wait for longer that is better made at its deadline. A registration keeps its place.
func (u Urgency) Replaces(other Urgency) bool {
	if u.Class != other.Class || u.Class != ClassDeregister {
		return u.Class < other.Class
	}
	return u.Deadline.Before(other.Deadline) || u.Waits != other.Waits || u.Waits && u != other
}

// Budget rations HTTP attempts of one account, retries included. It is safe for concurrent use. The nil Budget, of an account that
// is not known yet, is short of nothing.
type Budget struct {
	account string
	clock   clock.WithDelayedExecution
	buckets []*bucket
}

// New returns the full buckets of an account, one a rule; DefaultRules' for a service without a rule. The account is as metrics
// name it, empty for the program's own: calls of EC2 and STS are charged to that, so no other has a bucket for them.
func New(account string, rules []Rule, clk clock.WithDelayedExecution) *Budget {
	b := &Budget{account: account, clock: clk}
	applicable := rulesOf(ELBv2, rules)
	if account == "" {
		for _, service := range ownServices {
			applicable = append(applicable, rulesOf(service, rules)...)
		}
	}
	for _, rule := range applicable {
		if !b.knows(rule) {
			b.buckets = append(b.buckets, newBucket(rule, clk))
		}
	}
	return b
}

// Account is the one that the budget is of, empty for the program's own.
func (b *Budget) Account() string { return b.account }

// knows reports whether there is a rule with the same pattern already: the second one would match nothing.
func (b *Budget) knows(rule Rule) bool {
	return slices.ContainsFunc(b.buckets, func(known *bucket) bool { return known.rule.pattern() == rule.pattern() })
}

// Take takes a token for the operation and blocks until there is one. Operations that no rule matches are free.
func (b *Budget) Take(ctx context.Context, service, operation string) (*Token, error) {
	bucket := b.bucketFor(service, operation)
	if bucket == nil {
		return nil, nil
	}
	charge, start := ChargeOf(ctx), b.clock.Now()
	token, err := bucket.wait(ctx, charge.Urgency, charge.Tenant)
	waitSeconds.WithLabelValues(b.account, bucket.rule.pattern(), charge.Class.String()).Observe(b.clock.Since(start).Seconds())
	return token, err
}

func (b *Budget) bucketFor(service, operation string) *bucket {
	if b == nil {
		return nil
	}
	for _, bucket := range b.buckets {
		if bucket.rule.matches(service, operation) {
			return bucket
		}
	}
	return nil
}

// Short reports whether less than half of the operation's tokens are left, or registrations that need them are late.
func (b *Budget) Short(service, operation string) bool {
	bucket := b.bucketFor(service, operation)
	return bucket != nil && bucket.short()
}

type chargeKey struct{}

// Charge says to which budget and tenant a call's attempts are charged, and how urgent they are. Without a budget they are free.
type Charge struct {
	Budget *Budget
	Urgency
	Tenant string
	paid   bool // a call of one attempt, whose token has been taken already
}

// Paid is for a call of one attempt whose token has been taken already.
func (c Charge) Paid() Charge {
	c.paid = true
	return c
}

// WithCharge returns a context for calls that are charged to c.
func WithCharge(ctx context.Context, c Charge) context.Context {
	return context.WithValue(ctx, chargeKey{}, c)
}

// ChargeOf is what calls of the context are charged to.
func ChargeOf(ctx context.Context) Charge {
	if c, ok := ctx.Value(chargeKey{}).(Charge); ok {
		return c
	}
	return Charge{Urgency: ClassOther.Now()}
}

// Calls are what a rush of rollouts has too few of, and a Deployment replaces its pods one after the other, as each new one
// becomes ready. So while tokens are short a call waits for more targets of its group: a registration for as long as a
// health check takes anyway, a deregistration for a small part of the 12 s and more that a load balancer needs to stop
// sending. One with a deadline waits in the line.
var coalesceWindow = map[Class]time.Duration{ClassRegister: time.Second, ClassDeregister: 300 * time.Millisecond}

// Coalesce waits that long if the operation's bucket is half empty.
func (b *Budget) Coalesce(ctx context.Context, u Urgency, service, operation string) error {
	if u.Class == ClassDeregister && !u.Deadline.IsZero() || !b.Short(service, operation) {
		return nil
	}
	timer := b.clock.NewTimer(coalesceWindow[u.Class])
	defer timer.Stop()
	select {
	case <-timer.C():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// AddTo has the budget charge every attempt of an SDK client, retries included: it stands behind the SDK's retry loop.
func AddTo(stack *middleware.Stack) error {
	return stack.Finalize.Insert(middleware.FinalizeMiddlewareFunc("targetgateBudget", chargeAttempt), "Retry", middleware.After)
}

func chargeAttempt(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (
	middleware.FinalizeOutput, middleware.Metadata, error,
) {
	service, operation, c := awsmiddleware.GetServiceID(ctx), awsmiddleware.GetOperationName(ctx), ChargeOf(ctx)
	if c.Budget == nil {
		return next.HandleFinalize(ctx, in)
	}
	if !c.paid {
		token, err := c.Budget.Take(ctx, service, operation)
		if err != nil {
			return middleware.FinalizeOutput{}, middleware.Metadata{}, err
		}
		defer token.Answered()
	}
	out, metadata, err := next.HandleFinalize(ctx, in)
	c.Budget.observe(service, operation, err)
	return out, metadata, err
}

// observe tells the attempt's bucket whether AWS had a token for it. That it throttled AssumeRole says nothing of our bucket, nor does an
// attempt without an answer.
func (b *Budget) observe(service, operation string, err error) {
	bucket := b.bucketFor(service, operation)
	switch {
	case bucket == nil || awserr.IsRoleError(err):
	case awserr.IsThrottled(err):
		bucket.throttled()
	case err == nil || awserr.IsDefinite(err):
		bucket.accepted()
	}
}
