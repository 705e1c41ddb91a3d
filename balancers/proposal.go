// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package balancers

import (
	"cmp"
	"context"
	"slices"

	"github.com/targetgate/targetgate/balancers/fault"
	"github.com/targetgate/targetgate/balancers/frontend"
	"github.com/targetgate/targetgate/balancers/plan"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

// Proposal is what a pass over a group would do, and why.
type Proposal struct {
	Group stack.Group
	// Members belong to the group, in the order of their rules. Leaving ones belong to another group, and stay until that one serves them.
	Members, Leaving []string
	// Faults are those of members: one that is no warning holds its member. Overflow are rules for which the quota has no room.
	Faults   []fault.Fault
	Overflow []plan.Overflow
	// Wanted is what the members want.
	Wanted stack.Stack
	// Plan is for AWS and the bindings, Writes are for the Ingresses.
	Plan   steps.Plan
	Writes []Write
	// Orphaned says that there is a load balancer of the group and no Ingress: it is left alone.
	Orphaned bool
}

// Write is one of an Ingress.
type Write struct {
	Ingress string `json:"ingress"` // "namespace/name"
	Text    string `json:"text"`
}

// Propose says what a pass over the group would do. It writes nothing, so that of the Reconciler it needs what reads and what plans. A
// pass that has to wait may do less than what is proposed; what it leaves is proposed again.
func (r *Reconciler) Propose(ctx context.Context, group stack.Group) (Proposal, error) {
	p := r.newPass(group)
	out := Proposal{Group: group}
	var err error
	if err = p.load(ctx); err != nil {
		return out, err
	}
	out.Writes = claims{p}.proposed()
	out.Plan, err = p.propose(ctx)
	for _, member := range p.members.Active {
		if !p.isLeaving(member.Object) {
			out.Members = append(out.Members, member.Name)
		}
	}
	if err != nil {
		return out, err
	}
	out.Wanted, out.Orphaned, out.Overflow = p.wanted, p.isOrphaned(), p.overflow
	for _, member := range p.members.Leaving {
		out.Leaving = append(out.Leaving, frontend.NameOf(member))
	}
	out.Faults = slices.DeleteFunc(slices.Clone(p.faults), func(f fault.Fault) bool {
		member := p.member(f.Member)
		return member != nil && p.isLeaving(member)
	})
	out.Writes = append(out.Writes, statuses{p}.proposed(out.Plan)...)
	for _, member := range p.members.Inactive {
		out.Writes = append(out.Writes, Write{frontend.NameOf(member), "remove the finalizer " + r.Frontend.Finalizer(group)})
	}
	return out, nil
}

// propose finds by which steps what is seen becomes what the members want. It writes nothing.
func (p *pass) propose(ctx context.Context) (steps.Plan, error) {
	if err := (observer{p}).observe(ctx); err != nil {
		return nil, err
	}
	if p.leaveOutUnserved(); p.isOrphaned() {
		return nil, nil
	}
	p.keepLeaving()
	if err := p.build(ctx); err != nil {
		return nil, err
	}
	if err := (observer{p}).complete(ctx); err != nil {
		return nil, err
	}
	p.memory.inTurn(p.wanted.TargetGroups)
	p.memory.assumeVersions(&p.wanted, &p.seen)
	for i := range p.seen.LoadBalancers {
		balancer := &p.seen.LoadBalancers[i]
		p.before = append(p.before, balancer.ARN)
		balancer.InStatus = statuses{p}.isKnown(*balancer)
	}
	var planned steps.Plan
	planned, p.overflow = p.MakePlan(p.wanted, p.seen)
	p.lookups = lookups{}
	return planned, nil
}

// proposed are the finalizers that active members get.
func (p claims) proposed() (out []Write) {
	for _, member := range p.members.Active {
		if !p.isClaimed(member.Object) {
			out = append(out, Write{member.Name, "add the finalizer " + p.Frontend.Finalizer(p.group)})
		}
	}
	return out
}

// proposed are the statuses that change when all steps are done.
func (p statuses) proposed(planned steps.Plan) (out []Write) {
	isNew := slices.ContainsFunc(planned, func(s steps.Step) bool {
		c, is := s.Change.(steps.CreateLoadBalancer)
		return is && !c.LoadBalancer.Network
	})
	shown := p.shown()
	if shown != nil && !isNew {
		shown = cmp.Or(p.after(shown.ARN, planned), shown)
	}
	for _, member := range p.members.Active {
		switch {
		case p.isLeaving(member.Object), p.isUnserved(member.Object):
		case isNew:
			out = append(out, Write{member.Name, "write the name of the new load balancer to the status, once it serves"})
		case shown != nil:
			if status := p.statusOf(member, shown); status.Value != p.Frontend.StatusOf(member.Object) {
				out = append(out, Write{member.Name, "write " + status.Text() + " to the status"})
			}
		}
	}
	for _, member := range p.members.Inactive {
		if p.isToForget(member) {
			out = append(out, Write{frontend.NameOf(member), "empty the status"})
		}
	}
	return out
}

// after is the load balancer as it is when the steps are done, nil if it is gone then.
func (p *pass) after(arn string, planned steps.Plan) *stack.LoadBalancer {
	seen := stack.Copy(p.seen)
	for _, step := range planned {
		step.Change.On(&seen, steps.Made{})
	}
	return seen.LoadBalancer(arn)
}
