// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
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
	case !p.held.any:
		p.deleteFront(p.seen.Front, func(front stack.Ref) {
			p.doAfter(steps.Wait{Settled: front}, "no member wants it", steps.DeleteLoadBalancer{LoadBalancer: front})
		})
	}
	p.listeners.delete()
	p.deleteUnusedAfterAll()
	if len(p.old) == 0 {
		p.beginAnew(start)
	}
}

// addFront plans what is to stand in front. To which of its ports held members listen is not known.
func (p *planner) addFront() {
	wanted, seen := *p.wanted.Front, stack.Stack{}
	if p.seen.Front != nil {
		seen = *p.seen.Front
	}
	for _, member := range p.wanted.Members {
		wanted.Members = append(wanted.Members, stack.Member{Name: member.Name, Held: member.Held})
	}
	wanted.LoadBalancers = []stack.LoadBalancer{p.withSecurityGroups(wanted.LoadBalancers[0])}
	v := look(wanted, seen, p.options)
	v.behind, v.behindAt, v.inTurn = p.to(), map[int32]stack.Ref{}, len(p.old) > 0
	for _, l := range p.listeners.list {
		v.behindAt[l.wanted.Port] = l.ref()
	}
	newPlanner(v, p.draft).make()
}

// deleteFront deletes all that stands in front: each load balancer by remove, then what it needed. What follows waits until they are gone,
// as one that is protected goes on to serve.
func (d *draft) deleteFront(front *stack.Stack, remove func(front stack.Ref)) {
	if front == nil {
		return
	}
	const why = "no load balancer needs it"
	for _, balancer := range front.LoadBalancers {
		remove(balancerRef(&balancer))
	}
	d.awaitEnd(why, front.LoadBalancers)
	for _, group := range front.TargetGroups {
		d.deleted[group.ARN] = true
		d.do(why, steps.DeleteTargetGroup{Group: seenGroup(&group)})
	}
}
