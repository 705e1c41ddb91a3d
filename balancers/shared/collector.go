// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package shared

import (
	"context"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/targetgate/targetgate/aws/awserr"
	"github.com/targetgate/targetgate/balancers/apply"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

// View is what is known to be in AWS.
type View interface {
	// Shared are the security groups that all load balancers of the cluster share: one, unless two controllers have made one each.
	Shared(ctx context.Context) ([]stack.SecurityGroup, error)
	// Uses is what uses a security group, read now.
	Uses(ctx context.Context, group string) (stack.Uses, error)
}

// Applier does steps.
type Applier interface {
	Run(ctx context.Context, pass apply.Pass) apply.Result
}

// Options of a Collector.
type Options struct {
	Client  client.Client // reads from caches
	View    View
	Applier Applier
	Clock   clock.PassiveClock
	Cluster string
	// Held is an object with a finalizer of a front end, such as "Ingress shop/web", "" for none.
	Held func(ctx context.Context) (string, error)
	// Given is the ID of the group that the user has made, which is never deleted; "" for none.
	Given string
	// Interval is how often it is looked whether nothing needs the group any more, besides whenever a group of Ingresses ends.
	Interval time.Duration
}

// Collector deletes the security group that all load balancers of the cluster share, and the rules by which targets let it in, once no
// object of the cluster needs it, and nothing in AWS uses it. It is safe for concurrent use. A nil one deletes nothing.
type Collector struct {
	Options
	passes passes
	ended  chan struct{}
	since  time.Time // when something could first not be removed, as AWS says that something else uses it
	told   string    // what was logged last of who keeps the group
}

// New returns a Collector that begins with Start.
func New(options Options) *Collector {
	return &Collector{Options: options, ended: make(chan struct{}, 1)}
}

const (
	// quiet is for how long nothing must have ended: what is deleted may be created again at once.
	quiet = 5 * time.Second
	// AWS keeps a security group busy for a minute or two after its last load balancer. What is longer in use is tried again after a tenth
	// of the time that it has taken.
	lingerPause    = 10 * time.Second
	lingerPatience = 5 * time.Minute
	// failurePause is when it is tried again after a failure.
	failurePause = time.Minute
	// timeout bounds one attempt, during which no pass over Ingresses begins.
	timeout = 30 * time.Second
)

// Pause is when a pass may begin that could not Enter.
const Pause = time.Second

// Enter reports whether a pass over a group of Ingresses may begin. If so, it must Leave. It is false for the seconds in which the security
// group is deleted.
func (c *Collector) Enter() bool { return c == nil || c.passes.enter() }

// Leave says that a pass has ended.
func (c *Collector) Leave() {
	if c != nil {
		c.passes.leave()
	}
}

// Ended says that a group of Ingresses has ended, or an Ingress of it.
func (c *Collector) Ended() {
	if c == nil {
		return
	}
	select {
	case c.ended <- struct{}{}:
	default: // it is known
	}
}

// Start is a source of a controller, so that it begins when the controller does. It requests nothing.
func (c *Collector) Start(ctx context.Context, _ workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	go func() {
		for ctx.Err() == nil {
			pause, err := c.collect(ctx)
			if err != nil {
				ctrl.LoggerFrom(ctx).Error(err, "Failed to look whether the shared security group is needed")
			}
			select {
			case <-ctx.Done():
			case <-time.After(pause):
			case <-c.ended:
				c.awaitQuiet(ctx)
			}
		}
	}()
	return nil
}

// awaitQuiet waits until nothing has ended for some seconds, or the context ends.
func (c *Collector) awaitQuiet(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(quiet):
			return
		case <-c.ended:
		}
	}
}

// collect deletes the groups that nothing needs, and says when to look again. While there is none, or an object needs it, it calls nobody.
func (c *Collector) collect(ctx context.Context) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	groups, err := c.View.Shared(ctx)
	if err != nil {
		return failurePause, err
	}
	if len(groups) == 0 {
		return c.Interval, nil
	}
	if !c.passes.shutOut() {
		return lingerPause, nil
	}
	defer c.passes.letIn()
	pause := c.Interval
	for _, group := range groups {
		if group.ID == c.Given {
			continue
		}
		if group.Name != stack.BackendSecurityGroupName(c.Cluster) && group.Description != stack.SharedDescription {
			c.tell(ctx, "Kept a security group that has the tags of the shared one: targetgate has not made it", group.ID, "name "+group.Name)
			continue
		}
		again, err := c.collectOne(ctx, group.ID)
		if err != nil {
			return failurePause, err
		}
		pause = min(pause, again)
	}
	return pause, nil
}

// collectOne deletes a group, if nothing needs it, and says when to look again.
func (c *Collector) collectOne(ctx context.Context, group string) (time.Duration, error) {
	needed, err := c.neededBy(ctx, group)
	if err != nil || needed != "" {
		c.since = time.Time{}
		return c.Interval, err
	}
	uses, err := c.View.Uses(ctx, group)
	if err != nil {
		return 0, err
	}
	if by := usedBy(uses); by != "" {
		c.tell(ctx, "Kept the shared security group, though no object of the cluster needs it: it goes when nothing uses it", group, by)
		return c.Interval, nil
	}
	result := c.Applier.Run(ctx, apply.Pass{ID: stack.ID{Cluster: c.Cluster}, Plan: removal(group, uses)})
	return c.again(ctx, group, result), nil
}

// removal removes the rules that let the group in, then the group.
func removal(group string, uses stack.Uses) (plan steps.Plan) {
	const why = "no load balancer needs it"
	for _, id := range uses.Groups() {
		plan = append(plan, steps.Step{Why: why, Change: steps.Revoke{Group: stack.Ref{ID: id}, Rules: uses.In(id)}})
	}
	return append(plan, steps.Step{Why: why, Change: steps.DeleteSecurityGroup{Group: stack.Ref{ID: group, Part: stack.SharedPart}}})
}

// again is when to try again what AWS has refused.
func (c *Collector) again(ctx context.Context, group string, result apply.Result) time.Duration {
	for _, failure := range result.Failures {
		ctrl.LoggerFrom(ctx).Error(failure.Err, "Failed to remove the shared security group", "securityGroup", group,
			"step", steps.LogText(failure.Step.Change))
		return failurePause
	}
	if len(result.Later) == 0 {
		c.since, c.told = time.Time{}, ""
		return c.Interval
	}
	now := c.Clock.Now()
	if c.since.IsZero() {
		c.since = now
	}
	age := now.Sub(c.since)
	if age < lingerPatience {
		return lingerPause
	}
	c.tell(ctx, "Failed to remove the shared security group, which something uses, will retry less and less often", group,
		awserr.Message(result.Later[0].Err))
	return min(max(lingerPause, age/10), c.Interval)
}

// tell logs who keeps the group, once for each answer.
func (c *Collector) tell(ctx context.Context, what, group, by string) {
	if text := what + group + by; text != c.told {
		ctrl.LoggerFrom(ctx).Info(what, "securityGroup", group, "by", by)
		c.told = text
	}
}
