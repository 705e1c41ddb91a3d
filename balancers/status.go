// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package balancers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/balancers/frontend"
	"github.com/targetgate/targetgate/balancers/owners"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

// DefaultSettleTime is enough for DNS records that others make of the status, their time to live, and clients that keep addresses and
// connections.
const DefaultSettleTime = 10 * time.Minute

// statuses writes the statuses of the members.
type statuses struct{ *pass }

// writeStatuses writes the load balancer into the status of each active member, also while it is provisioned, and takes it out
// of the status of those that have left.
func (p statuses) writeStatuses(ctx context.Context) (errs error) {
	if shown := p.shown(); shown != nil {
		for _, member := range p.members.Active {
			if p.wanted.Front != nil && p.shownFront(member.Object) == nil && !p.hasFailedFront() {
				p.soon(frontPause)
			}
			if p.isToShow(member.Object, shown) && !p.awaitsFront(member) {
				_, err := p.writeStatus(ctx, member.Object, p.statusOf(member, shown))
				errs = errors.Join(errs, err)
			}
		}
		if errs == nil {
			p.noteMoved(shown)
		}
	}
	for i, member := range p.members.Inactive {
		if p.isToForget(member) {
			written, err := p.writeStatus(ctx, member, p.Frontend.StatusFor(member, nil, nil, false))
			p.members.Inactive[i], errs = written, errors.Join(errs, err)
		}
	}
	return errs
}

// isToShow reports whether the status of an active member is to have the load balancer.
func (p statuses) isToShow(member client.Object, shown *stack.LoadBalancer) bool {
	return !p.isLeaving(member) && !p.unclaimed[member.GetUID()] && !p.isUnserved(member) && !p.mustWait(member, shown)
}

// isUnserved reports whether the load balancer does not do what the member asks for, and has not served it before either: clients who come
// to it would find no rule, though they may be served where they come now.
func (p statuses) isUnserved(member client.Object) bool {
	return !p.isServed(member) && p.isUndone(member)
}

// frontPause is how often it is looked whether what stands in front has become active.
const frontPause = 10 * time.Second

// hasFailedFront reports whether AWS could not set up what stands in front.
func (p statuses) hasFailedFront() bool {
	return p.seen.Front != nil && slices.ContainsFunc(p.seen.Front.LoadBalancers, func(b stack.LoadBalancer) bool { return b.Failed != "" })
}

// awaitsFront reports whether the member's status is to name what stands in front alone, which clients cannot use yet.
func (p statuses) awaitsFront(member frontend.Member) bool {
	return p.Frontend.ShowsFrontAlone(member) && p.wanted.Front != nil && p.shownFront(member.Object) == nil
}

// isToForget reports whether the status of an inactive member is to be emptied.
func (p statuses) isToForget(member client.Object) bool {
	return member.GetDeletionTimestamp() == nil &&
		slices.ContainsFunc(p.Frontend.Addresses(member), func(address string) bool { return p.names[address] })
}

// shown is the load balancer that clients are to find; nil for none. While one replaces another, it is the old one until all that the old
// one may go for is there.
func (p statuses) shown() *stack.LoadBalancer {
	balancers := p.seen.LoadBalancers
	for _, wait := range p.result.Waits {
		isNew := func(b stack.LoadBalancer) bool {
			return wait.Settled != (stack.Ref{}) && !isOfFront(wait) && b.ARN != wait.Settled.ID && !p.isUnguarded(&b)
		}
		if i := slices.IndexFunc(balancers, isNew); i >= 0 {
			return &balancers[i]
		}
	}
	if i := slices.IndexFunc(balancers, p.isKnown); i >= 0 {
		return &balancers[i]
	}
	return p.likeWanted(balancers)
}

// likeWanted is the load balancer with the wanted scheme, else the first; nil for none.
func (p statuses) likeWanted(balancers []stack.LoadBalancer) *stack.LoadBalancer {
	if len(p.wanted.LoadBalancers) > 0 {
		scheme := p.wanted.LoadBalancers[0].Scheme
		if i := slices.IndexFunc(balancers, func(b stack.LoadBalancer) bool { return b.Scheme == scheme }); i >= 0 {
			return &balancers[i]
		}
	}
	if len(balancers) == 0 {
		return nil
	}
	return &balancers[0]
}

// isUnguarded reports whether a load balancer lacks the web ACL that is wanted, as the pass has not set it. Where that is not known, one
// that clients have been sent to counts as guarded.
func (p statuses) isUnguarded(balancer *stack.LoadBalancer) bool {
	if p.unknownACL {
		return !p.isKnown(*balancer)
	}
	sets := func(s steps.Step) bool {
		to, is := steps.Guarded(s.Change)
		return is && (to.ID == balancer.ARN || to.ID == "" && !slices.Contains(p.before, balancer.ARN))
	}
	isSet := func(s steps.Step) bool { _, is := steps.Guarded(s.Change); return is }
	return slices.ContainsFunc(p.steps, sets) && !slices.ContainsFunc(p.result.Done, isSet)
}

// mustWait reports whether clients of the member are served elsewhere, and would not be here yet, or without the web ACL.
func (p statuses) mustWait(member client.Object, shown *stack.LoadBalancer) bool {
	if len(p.Frontend.Addresses(member)) == 0 {
		return p.isUnguarded(shown)
	}
	isForClients := func(s steps.Step) bool { _, deletes := s.Change.(steps.DeleteTargetGroup); return !deletes }
	if p.isServed(member) || shown.Active && !p.awaits(member) && !slices.ContainsFunc(p.result.LeftOut, isForClients) {
		return false
	}
	p.soon(leavingPause)
	return true
}

// awaits reports whether something that is to serve the member does not yet. What is for another member alone does not count.
func (p statuses) awaits(member client.Object) bool {
	return slices.ContainsFunc(slices.Concat(p.result.Waits, p.result.Behind), func(w steps.Wait) bool {
		owner := owners.OfGroup(w.Healthy, p.wanted, p.seen)
		return !delaysNobody(w) && (owner == "" || owner == frontend.NameOf(member))
	})
}

// isServed reports whether the member's status has the name of one of the group's load balancers.
func (p statuses) isServed(member client.Object) bool {
	return slices.ContainsFunc(p.seen.All(), func(s *stack.Stack) bool {
		return slices.ContainsFunc(s.LoadBalancers, func(b stack.LoadBalancer) bool { return p.hasName(member, b) })
	})
}

// isKnown reports whether the status of a member has the name of a load balancer.
func (p statuses) isKnown(balancer stack.LoadBalancer) bool {
	return slices.ContainsFunc(p.members.Active, func(m frontend.Member) bool { return p.hasName(m.Object, balancer) })
}

// mayServe reports whether the status of any member has the name of a load balancer, also of one that leaves or is being deleted.
func (p statuses) mayServe(balancer *stack.LoadBalancer) bool {
	return p.isKnown(*balancer) || slices.ContainsFunc(slices.Concat(p.members.Inactive, p.members.Leaving), func(o client.Object) bool {
		return p.hasName(o, *balancer)
	})
}

// hasName reports whether the status of a member has the name of a load balancer.
func (p *pass) hasName(member client.Object, balancer stack.LoadBalancer) bool {
	name := strings.ToLower(balancer.DNSName)
	return name != "" && slices.Contains(p.Frontend.Addresses(member), name)
}

// statusOf is what the status of a member is to say: the load balancer, and what stands in front of it.
func (p statuses) statusOf(member frontend.Member, shown *stack.LoadBalancer) frontend.Status {
	front := p.shownFront(member.Object)
	return p.Frontend.StatusFor(member.Object, shown, front, front != nil && p.Frontend.ShowsFrontAlone(member))
}

// shownFront is the Network Load Balancer that clients of the member are to find; nil for none. One that is not active is not, as it would
// answer none of those that find it; where one replaces another, that is the other one until then.
func (p statuses) shownFront(member client.Object) (shown *stack.LoadBalancer) {
	if p.seen.Front == nil || len(p.wanted.LoadBalancers) > 0 && p.wanted.Front == nil {
		return nil
	}
	for i := range p.seen.Front.LoadBalancers {
		front := &p.seen.Front.LoadBalancers[i]
		isWanted := p.wanted.Front != nil && p.wanted.Front.LoadBalancers[0].Scheme == front.Scheme
		switch {
		case isWanted && front.Active:
			return front
		case p.hasName(member, *front):
			shown = front
		}
	}
	return shown
}

// isOfFront reports whether something in front of the load balancer is waited for.
func isOfFront(w steps.Wait) bool {
	return slices.ContainsFunc([]stack.Ref{w.Active, w.Gone, w.Settled}, func(r stack.Ref) bool { return r.Part == stack.FrontPart }) ||
		stack.IsFrontGroup(w.Healthy.Part)
}

// delaysNobody reports whether what is waited for is no reason why a member is not served yet: it stands in front, or is the end of a load
// balancer, or of a security group on one.
func delaysNobody(w steps.Wait) bool {
	return isOfFront(w) || w.Gone != (stack.Ref{}) || w.Open != (stack.Ref{})
}

// writeStatus writes the status if it differs, and returns the member as it is then.
func (p statuses) writeStatus(ctx context.Context, member client.Object, status frontend.Status) (client.Object, error) {
	if !p.isStatusDue(member, status) {
		return member, nil
	}
	changed := member.DeepCopyObject().(client.Object)
	status.Set(changed)
	err := client.IgnoreNotFound(p.Client.Status().Patch(ctx, changed, client.MergeFrom(member)))
	if err != nil {
		teller(p).warn(member, reasonUpdateStatus, "Failed update status due to %v", err)
		return member, fmt.Errorf("writing status of %s %s: %w", p.words().Object, frontend.NameOf(member), err)
	}
	p.memory.wrote(statusThing(member), status.Value, changed.GetResourceVersion(), p.Clock.Now())
	return changed, nil
}

// noteMoved takes in which of the group's load balancers are in no status: of two that replace each other only the one that is shown is in
// one, apart from those of members whose status is not ours to write now.
func (p statuses) noteMoved(shown *stack.LoadBalancer) {
	for _, s := range p.seen.All() {
		for _, balancer := range s.LoadBalancers {
			isKnown := func(member frontend.Member) bool {
				if front := p.shownFront(member.Object); front != nil && front.ARN == balancer.ARN {
					return true
				}
				return p.hasName(member.Object, balancer) && !p.isToShow(member.Object, shown)
			}
			if balancer.ARN == shown.ARN || slices.ContainsFunc(p.members.Active, isKnown) {
				p.memory.movedTo(balancer.ARN)
			} else {
				p.memory.movedFrom(balancer.ARN, p.Clock.Now())
			}
		}
	}
}

// unsettled is for how long the load balancer must still serve, 0 for no longer.
func (p statuses) unsettled(arn string) time.Duration {
	return p.memory.unsettled(arn, p.Clock.Now(), p.SettleTime)
}
