// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"

	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

// changeFront plans what stands in front of the load balancer as a stack of its own, once. The first step begins anew, unless the load
// balancer replaces another: then it has to serve first.
func (p *planner) changeFront() {
	if p.frontDone || p.behind != (stack.Ref{}) {
		return
	}
	p.frontDone = true
	start := len(p.plan)
	switch {
	case p.wanted.Front != nil:
		p.addFront()
	case !p.anyHeld:
		p.deleteFront(func(front stack.Ref) {
			p.doAfter(steps.Wait{Settled: front}, "no member wants it", steps.DeleteLoadBalancer{LoadBalancer: front})
		})
	}
	p.deleteListeners()
	p.deleteUnused()
	if len(p.plan) > start && len(p.old) == 0 {
		p.plan[start].Anew = true
	}
}

// addFront plans what is to stand in front. To which of its ports held members listen is not known.
func (p *planner) addFront() {
	f := &planner{wanted: *p.wanted.Front, options: p.options, deleted: p.deleted, behind: p.to(), frontDone: true}
	if p.seen.Front != nil {
		f.seen = *p.seen.Front
	}
	for _, member := range p.wanted.Members {
		f.wanted.Members = append(f.wanted.Members, stack.Member{Name: member.Name, Held: member.Held})
	}
	balancer := f.wanted.LoadBalancers[0]
	balancer.SecurityGroups = slices.Clone(balancer.SecurityGroups)
	for i, group := range balancer.SecurityGroups {
		balancer.SecurityGroups[i] = p.securityGroup(group)
	}
	f.wanted.LoadBalancers = []stack.LoadBalancer{balancer}
	f.behindAt = map[int32]stack.Ref{}
	for _, l := range p.listen {
		f.behindAt[l.wanted.Port] = l.ref()
	}
	f.make()
	p.plan = append(p.plan, f.plan...)
}

// deleteFront deletes all that stands in front: each load balancer by remove, then what it needed. What follows waits until they are gone,
// as one that is protected goes on to serve.
func (p *planner) deleteFront(remove func(front stack.Ref)) {
	if p.seen.Front == nil {
		return
	}
	const why = "no load balancer needs it"
	for _, balancer := range p.seen.Front.LoadBalancers {
		remove(balancerRef(&balancer))
		p.doAfter(steps.Wait{Gone: balancerRef(&balancer)}, why, steps.Nothing{})
	}
	for _, group := range p.seen.Front.TargetGroups {
		p.deleted[group.ARN] = true
		p.do(why, steps.DeleteTargetGroup{Group: seenGroup(&group)})
	}
}

// isTarget says whether a load balancer in front sends to a port of this one.
func (p *planner) isTarget(port int32) bool {
	return p.seen.Front != nil && slices.ContainsFunc(p.seen.Front.TargetGroups, func(g stack.TargetGroup) bool {
		return p.balancer != nil && g.Target.ID == p.balancer.ARN && g.TargetPort == port && !p.deleted[g.ARN]
	})
}

// hasTarget says whether the load balancer behind is the target of a group.
func (p *planner) hasTarget(seen, wanted *stack.TargetGroup) bool {
	return seen.Target.ID != "" && seen.Target.ID == p.behind.ID && seen.TargetPort == wanted.TargetPort
}

// registerBehind has the load balancer behind be the target of a group.
func (p *planner) registerBehind(g *targetGroup) {
	if p.behind != (stack.Ref{}) && (g.seen == nil || !p.hasTarget(g.seen, &g.wanted)) {
		p.do("the load balancer is not its target", steps.RegisterLoadBalancer{
			Group: g.ref(), Target: p.behind, Listener: p.behindAt[g.wanted.TargetPort], Port: g.wanted.TargetPort,
		})
	}
}
