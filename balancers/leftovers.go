// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package balancers

import (
	"context"
	"errors"
	"slices"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/targetgate/targetgate/aws/awserr"
	"github.com/targetgate/targetgate/balancers/apply"
	"github.com/targetgate/targetgate/balancers/orphans"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

// Stacks lists what there is in AWS.
type Stacks interface {
	// Stacks are the IDs of all that have a part there.
	Stacks(ctx context.Context) ([]stack.ID, error)
}

// leftoverPause is when the stacks are listed again after a failure.
const leftoverPause = time.Minute

// enqueueLeftovers requests passes over all groups of which there is something in AWS, at the start and in each drift interval: also over
// those without any Ingress, of which a former process has left something, such as a security group that lingered.
func (r *Reconciler) enqueueLeftovers(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	go func() {
		for ctx.Err() == nil {
			pause := r.DriftInterval
			requests, err := r.leftovers(ctx)
			if err != nil {
				ctrl.LoggerFrom(ctx).Error(err, "Failed to list what there is in AWS")
				pause = leftoverPause
			}
			enqueueLast(queue, requests)
			select {
			case <-time.After(pause):
			case <-ctx.Done():
			}
		}
	}()
	return nil
}

// enqueueLast puts these requests behind all others, unless something else asks for one of them. The queue is that of newQueue.
func enqueueLast(queue workqueue.TypedRateLimitingInterface[reconcile.Request], requests []reconcile.Request) {
	low := priorityqueue.AddOpts{Priority: ptr.To(handler.LowPriority)}
	queue.(priorityqueue.PriorityQueue[reconcile.Request]).AddWithOpts(low, requests...)
}

func (r *Reconciler) leftovers(ctx context.Context) (out []reconcile.Request, err error) {
	ids, err := r.Stacks.Stacks(ctx)
	if err != nil {
		return nil, err
	}
	groups := r.groupsNamed(ids)
	kept, err := r.collect(ctx, groups)
	if err != nil {
		return nil, err
	}
	if r.Issuer != nil {
		var ofCertificates []stack.ID
		ofCertificates, err = r.Issuer.Stacks(ctx)
		groups = append(groups, r.groupsNamed(ofCertificates)...)
	}
	for _, group := range groups {
		if !kept[group] {
			out = append(out, requestOf(group))
		}
	}
	return out, err
}

func (r *Reconciler) groupsNamed(ids []stack.ID) (groups []stack.Group) {
	for _, id := range ids {
		if id.Kind == r.Frontend.Kind() {
			groups = append(groups, stack.GroupNamed(id.Name))
		}
	}
	return groups
}

// isOrphaned reports whether there is something that nobody of ours asks for, and that is left alone: what another controller may be
// making, and a load balancer, unless this process has seen that the last Ingress was deleted, none has asked for it for long enough, or a
// user asks for that.
func (p *pass) isOrphaned() bool {
	return p.isEmpty() && (p.members.Mentioned || hasLoadBalancer(&p.seen) && !p.vanished && !p.isCollected())
}

// isCollected reports whether the load balancer is to be deleted though no Ingress has told so.
func (p *pass) isCollected() bool {
	return (p.requested || p.collector.allows(p.group)) && len(orphans.Foreign(p.group, &p.seen)) == 0
}

// leaveOthers leaves alone what has the tags of the group and is not its own; of a group of which nobody tells, what has no name that a
// controller gives it.
func (p *pass) leaveOthers() {
	if p.isEmpty() && !p.vanished {
		orphans.KeepNamed(p.Cluster, p.group, &p.seen)
		return
	}
	members := orphans.Members{Leave: !p.hasMembers() && !p.vanished, Serve: func(b *stack.LoadBalancer) bool {
		return statuses{p}.mayServe(b) || !p.memory.moved[b.ARN].IsZero()
	}}
	members.Given = p.Frontend.GivenNames(p.members)
	p.others = orphans.LeaveOthers(p.Cluster, p.group, &p.seen, members)
}

// hasLoadBalancer reports whether one is seen.
func hasLoadBalancer(seen *stack.Stack) bool {
	return slices.ContainsFunc(seen.All(), func(s *stack.Stack) bool { return len(s.LoadBalancers) > 0 })
}

// What AWS does not do yet it often does in a moment. What it does not remove because something else uses it is later tried again after a
// tenth of the time that it has taken: somebody else must first let go of it.
const (
	lingerPause    = 10 * time.Second
	lingerPatience = 5 * time.Minute
)

// lingers is since when something cannot be removed, as something else uses it or its targets are still there, and whether that was
// logged.
type lingers struct {
	since  time.Time
	logged bool
}

// awaitLingering has the next pass come when it is time to try what cannot be done yet. After a while it tells of what something else uses,
// and of bindings that remain.
func (p *pass) awaitLingering(ctx context.Context) {
	for _, later := range p.result.Later {
		switch {
		case awserr.IsInUse(later.Err), errors.Is(later.Err, apply.ErrLingers):
			p.lingering[steps.Step{Change: later.Step.Change}.String()] = later.Err
		case !later.IsKept():
			p.soon(lingerPause)
		}
	}
	now, before := p.Clock.Now(), p.memory.lingering
	p.memory.lingering = map[string]lingers{}
	for what, err := range p.lingering {
		l, known := before[what]
		if !known {
			l.since = now
		}
		pause := lingerPause
		age, isBinding := now.Sub(l.since), errors.Is(err, apply.ErrLingers)
		switch {
		case age < lingerPatience:
		case isBinding: // which may go at any moment
			teller{p}.tellAll(p.words().Warning, "Cannot %s yet: %v. Its conditions say what prevents that", what, err)
		default:
			pause = max(pause, min(age/10, p.DriftInterval))
			why := awserr.Message(err)
			teller{p}.tellAll(p.words().Warning, "Cannot %s: %s. Remove the cause: until then, targetgate retries less and less often", what, why)
			if !l.logged {
				ctrl.LoggerFrom(ctx).Info("Failed to remove what something else uses, will retry less and less often", "step", what, "reason", why)
			}
			l.logged = true
		}
		p.soon(pause)
		p.memory.lingering[what] = l
	}
}
