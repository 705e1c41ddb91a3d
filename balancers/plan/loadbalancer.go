// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"

	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

// prepareLoadBalancer creates the load balancer, or changes the one that is seen in place.
func (p *planner) prepareLoadBalancer() {
	wanted := p.wanted.LoadBalancers[0]
	wanted.SecurityGroups = slices.Clone(wanted.SecurityGroups)
	for i, group := range wanted.SecurityGroups {
		wanted.SecurityGroups[i] = p.securityGroup(group)
	}
	if p.balancer == nil {
		p.createLoadBalancer(wanted)
		return
	}
	if wanted.IPAMPool == "" { // another may need what the pool does not allow
		p.setIPAMPool(&wanted)
	}
	if !sameSet(ids(wanted.SecurityGroups), ids(p.balancer.SecurityGroups)) {
		p.do("its security groups differ", steps.SetSecurityGroups{LoadBalancer: p.to(), Groups: wanted.SecurityGroups})
	}
	toIPv4 := wanted.AddressType == "ipv4" // then the subnets need no IPv6 any more; else they need it first
	if toIPv4 {
		p.setAddressType(&wanted)
	}
	if !sameSet(wanted.Subnets, p.balancer.Subnets) || !sameSet(wanted.Allocations, p.balancer.Allocations) {
		p.do("its subnets differ", steps.SetSubnets{LoadBalancer: p.to(), Subnets: wanted.Subnets, Allocations: wanted.Allocations})
	}
	if !toIPv4 {
		p.setAddressType(&wanted)
	}
	if differ := differing(wanted.Attributes, wanted.Presets, p.balancer.Attributes); len(differ) > 0 {
		p.do("attributes differ", steps.SetLoadBalancerAttributes{LoadBalancer: p.to(), Attributes: differ})
	}
	if wanted.IPAMPool != "" {
		p.setIPAMPool(&wanted)
	}
}

func (p *planner) setIPAMPool(wanted *stack.LoadBalancer) {
	if wanted.IPAMPool != p.balancer.IPAMPool {
		p.do("its pool of addresses differs", steps.SetIPAMPool{LoadBalancer: p.to(), Pool: wanted.IPAMPool})
	}
}

// guard sets the web ACL, the capacity and the protection. AWS takes only active load balancers for them. Where a web ACL takes over from
// one of WAF Classic it is set first: AWS takes the other one off at that.
func (p *planner) guard() {
	wanted, seen := &p.wanted.LoadBalancers[0], p.balancer
	if seen == nil {
		seen = &stack.LoadBalancer{WebACL: new(string), ClassicACL: new(string), Capacity: new(int32), Protection: &stack.Protection{}}
	}
	set := func(why string, change steps.Change) {
		if seen.Active {
			p.do(why, change)
		} else {
			p.doAfter(steps.Wait{Active: p.to()}, why+", and AWS takes only an active load balancer for it", change)
		}
	}
	if differs(wanted.WebACL, seen.WebACL) {
		set("its web ACL differs", steps.SetWebACL{LoadBalancer: p.to(), WebACL: *wanted.WebACL})
	}
	if differs(wanted.ClassicACL, seen.ClassicACL) {
		set("its web ACL of AWS WAF Classic differs", steps.SetClassicACL{LoadBalancer: p.to(), ID: *wanted.ClassicACL})
	}
	if differs(wanted.Capacity, seen.Capacity) {
		set("its capacity differs", steps.SetCapacity{LoadBalancer: p.to(), Units: *wanted.Capacity})
	}
	p.protect(seen.Protection, set)
}

// protect sets the protection, if it is known.
func (p *planner) protect(now *stack.Protection, set func(why string, change steps.Change)) {
	wanted := p.wanted.LoadBalancers[0].Shield
	switch {
	case wanted == nil || now == nil:
	case *wanted && now.ID == "":
		set("it is not protected", steps.Protect{LoadBalancer: p.to()})
	case !*wanted && now.Own:
		set("no member wants the protection", steps.Unprotect{LoadBalancer: p.to(), ID: now.ID})
	}
}

// differs says whether something is wanted that is not seen, or not known.
func differs[T comparable](wanted, seen *T) bool {
	return wanted != nil && (seen == nil || *seen != *wanted)
}

func (p *planner) setAddressType(wanted *stack.LoadBalancer) {
	if wanted.AddressType != p.balancer.AddressType {
		p.do("its address type differs", steps.SetAddressType{LoadBalancer: p.to(), AddressType: wanted.AddressType})
	}
}

func (p *planner) createLoadBalancer(wanted stack.LoadBalancer) {
	why := "it does not exist"
	if len(p.old) > 0 {
		why = "it replaces one with another scheme, which cannot be changed"
	}
	isTaken := func(b stack.LoadBalancer) bool { return b.Name == wanted.Name }
	if slices.ContainsFunc(p.old, isTaken) {
		wanted.Name = wanted.SpareName
	}
	wanted.Listeners = nil
	p.do(why, steps.CreateLoadBalancer{LoadBalancer: wanted})
	if len(wanted.Attributes) > 0 {
		p.do(why, steps.SetLoadBalancerAttributes{LoadBalancer: p.to(), Attributes: wanted.Attributes})
	}
}

// replaceLoadBalancer deletes former load balancers once clients do not come to them any more. While one of them is protected, what it
// needs stays.
func (p *planner) replaceLoadBalancer() {
	if len(p.old) == 0 || p.anyHeld {
		return
	}
	const why = "it replaces one that clients still come to"
	if p.balancer == nil || !p.balancer.Active {
		p.doAfter(steps.Wait{Active: p.to()}, why, steps.Nothing{})
	}
	for _, g := range p.groups {
		if g.elsewhere != nil && slices.ContainsFunc(p.routes, func(r *route) bool { return has(r.now.Action, g.ref()) }) {
			p.doAfter(steps.Wait{Healthy: g.ref(), Instead: seenGroup(g.elsewhere)}, why, steps.Nothing{})
		}
	}
	p.changeFront()
	for _, balancer := range p.old {
		ref := balancerRef(&balancer)
		p.doAfter(steps.Wait{Settled: ref}, "another has replaced it", steps.DeleteLoadBalancer{LoadBalancer: ref})
		p.release(balancer.ARN)
	}
	p.deleteUnused()
}

// release notes that a load balancer sends to no target group any more.
func (p *planner) release(balancer string) {
	groups := slices.Clone(p.seen.TargetGroups)
	for i := range groups {
		groups[i].LoadBalancers = slices.DeleteFunc(slices.Clone(groups[i].LoadBalancers), func(arn string) bool { return arn == balancer })
	}
	p.seen.TargetGroups = groups
}

func ids(refs []stack.Ref) []string {
	list := make([]string, len(refs))
	for i, ref := range refs {
		list[i] = byID(ref)
	}
	return list
}

func sameSet(a, b []string) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(slices.Compact(a), slices.Compact(b))
}
