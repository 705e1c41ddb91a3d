// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targetgroup

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/targetgate/targetgate/aws/budget"
	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/consent"
)

// Env is what the calls of all groups share.
type Env struct {
	Clock clock.PassiveClock
	// DriftInterval is how old settings and tags may be.
	DriftInterval time.Duration
	// Consent says whether, and how, the tag of a group is asked for.
	Consent consent.Policy

	// Context ends the calls, which outlive a pass.
	Context context.Context
	// Requeue starts another pass over a binding.
	Requeue func(types.NamespacedName)
}

// Calls starts the calls of one group, beside the pass of its binding. Each method says when to come back for what it has not
// started; 0 is never: nothing is due, or the end of a call will requeue the binding.
type Calls struct {
	*Env
	*Group
	Binding types.NamespacedName
	Client  *elbv2.Client
}

// queuedCall is a call that waits for its token; the zero value is none.
type queuedCall struct {
	urgency budget.Urgency
	cancel  context.CancelFunc
}

// giveWay cancels the call if one that is as urgent as asked for should wait in its place.
func (q queuedCall) giveWay(asked budget.Urgency) {
	if q.cancel != nil && asked.Replaces(q.urgency) {
		q.cancel()
	}
}

// start has the call made beside the pass; the caller has begun it in its slot, and holds the group's lock.
func (c *Calls) start(urgency budget.Urgency, call func(context.Context, budget.Urgency)) queuedCall {
	ctx, cancel := context.WithCancel(c.Context)
	go func() {
		defer cancel()
		call(ctx, urgency)
		c.Requeue(c.Binding)
	}()
	return queuedCall{urgency: urgency, cancel: cancel}
}

// gaveWay reports whether the call with that context was cancelled before it was sent, for another one in its place.
func (c *Calls) gaveWay(ctx context.Context) bool {
	return ctx.Err() != nil && c.Context.Err() == nil
}

// log is for what is done about the group.
func (c *Calls) log() logr.Logger {
	return ctrl.LoggerFrom(c.Context).WithValues("binding", klog.KRef(c.Binding.Namespace, c.Binding.Name), "targetGroup", c.arn)
}
