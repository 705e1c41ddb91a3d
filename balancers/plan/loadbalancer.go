// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"

	"github.com/targetgate/targetgate/balancers/plan/actions"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

// loadBalancerSteps are the steps to the load balancer that stays or is created.
type loadBalancerSteps struct {
	*view
	*draft
}

// prepare creates the load balancer, or changes the one that is seen in place, apart from its security groups.
func (s loadBalancerSteps) prepare() {
	wanted := s.withSecurityGroups(s.wanted.LoadBalancers[0])
	if s.balancer == nil {
		s.create(wanted)
		return
	}
	if wanted.IPAMPool == "" { // another may need what the pool does not allow
		s.set(steps.IPAMPool, &wanted)
	}
	toIPv4 := wanted.AddressType == "ipv4" // then the subnets need no IPv6 any more; else they need it first
	if toIPv4 {
		s.set(steps.AddressType, &wanted)
	}
	if !sameSet(wanted.Subnets, s.balancer.Subnets) { // a subnet keeps its Elastic IP address
		s.do("its subnets differ", steps.SetSubnets{LoadBalancer: s.to(), Subnets: wanted.Subnets, Allocations: wanted.Allocations})
	}
	if !toIPv4 {
		s.set(steps.AddressType, &wanted)
	}
	if differ := differing(wanted.Attributes, wanted.Presets, s.balancer.Attributes); len(differ) > 0 {
		s.do("attributes differ", steps.SetLoadBalancerAttributes{LoadBalancer: s.to(), Attributes: differ})
	}
	if wanted.IPAMPool != "" {
		s.set(steps.IPAMPool, &wanted)
	}
}

// set brings a setting of the load balancer that is seen to what is wanted.
func (s loadBalancerSteps) set(setting steps.Setting, wanted *stack.LoadBalancer) {
	if why, value := setting.Differs(wanted, s.balancer); why != "" {
		s.do(why, steps.Set{LoadBalancer: s.to(), Setting: setting, Value: value})
	}
}

// guard sets the web ACL, the capacity and the protection. AWS takes only active load balancers for them. Where a web ACL takes over from
// one of WAF Classic it is set first: AWS takes the other one off at that.
func (s loadBalancerSteps) guard() {
	wanted, seen := &s.wanted.LoadBalancers[0], s.balancer
	if seen == nil {
		seen = &stack.LoadBalancer{WebACL: new(string), ClassicACL: new(string), Capacity: new(int32), Protection: &stack.Protection{}}
	}
	set := func(why string, change steps.Change) {
		if seen.Active {
			s.do(why, change)
		} else {
			s.doAfter(steps.Wait{Active: s.to()}, why+", and AWS allows it only for an active load balancer", change)
		}
	}
	for _, setting := range []steps.Setting{steps.WebACL, steps.ClassicACL, steps.Capacity} {
		if why, value := setting.Differs(wanted, seen); why != "" {
			set(why, steps.Set{LoadBalancer: s.to(), Setting: setting, Value: value})
		}
	}
	s.protect(seen.Protection, set)
}

// protect sets the protection, if it is known.
func (s loadBalancerSteps) protect(now *stack.Protection, set func(why string, change steps.Change)) {
	wanted := s.wanted.LoadBalancers[0].Shield
	switch {
	case wanted == nil || now == nil:
	case *wanted && now.ID == "":
		set("it is not protected", steps.Protect{LoadBalancer: s.to()})
	case !*wanted && now.Own:
		set("no member wants the protection", steps.Unprotect{LoadBalancer: s.to(), ID: now.ID})
	}
}

func (s loadBalancerSteps) create(wanted stack.LoadBalancer) {
	why := "it does not exist"
	if len(s.old) > 0 {
		why = "it replaces one with another scheme, which cannot be changed"
	}
	isTaken := func(b stack.LoadBalancer) bool { return b.Name == wanted.Name }
	if slices.ContainsFunc(s.old, isTaken) {
		wanted.Name = wanted.SpareName
	}
	wanted.Listeners = nil
	s.do(why, steps.CreateLoadBalancer{LoadBalancer: wanted})
	if len(wanted.Attributes) > 0 {
		s.do(why, steps.SetLoadBalancerAttributes{LoadBalancer: s.to(), Attributes: wanted.Attributes})
	}
}

func ids(refs []stack.Ref) []string {
	list := make([]string, len(refs))
	for i, ref := range refs {
		list[i] = actions.ID(ref)
	}
	return list
}

func sameSet(a, b []string) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(slices.Compact(a), slices.Compact(b))
}
