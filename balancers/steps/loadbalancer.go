// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"cmp"
	"slices"
	"strings"

	"github.com/targetgate/targetgate/balancers/stack"
)

// CreateLoadBalancer makes one with its tags, without listeners; Attributes follow by SetLoadBalancerAttributes.
type CreateLoadBalancer struct{ LoadBalancer stack.LoadBalancer }

func (c CreateLoadBalancer) Text() string {
	kind := map[bool]string{false: " load balancer ", true: " Network Load Balancer "}[c.LoadBalancer.Network]
	return "create " + c.LoadBalancer.Scheme + kind + c.LoadBalancer.Name
}
func (CreateLoadBalancer) Effect() Effect { return Makes }

func (c CreateLoadBalancer) created() (string, map[string]string) {
	return c.LoadBalancer.Part(), c.LoadBalancer.Tags
}

func (c CreateLoadBalancer) On(seen *stack.Stack, made Made) {
	b := stack.Copy(c.LoadBalancer)
	b.ARN, b.Name, b.DNSName, b.Active, b.SpareName = made.ID, cmp.Or(made.Name, b.Name), made.DNSName, false, ""
	b.SecurityGroups, b.Attributes, b.Listeners = seenRefs(b.SecurityGroups), map[string]string{}, nil
	b.WebACL, b.ClassicACL, b.Capacity, b.Protection = new(string), new(string), new(int32), &stack.Protection{}
	slices.Sort(b.Subnets)
	in := seen.In(b.Network)
	in.LoadBalancers = append(in.LoadBalancers, b)
}

// onBalancer does something to a load balancer that is seen.
func onBalancer(seen *stack.Stack, ref stack.Ref, do func(*stack.LoadBalancer)) {
	if b := seen.LoadBalancer(ref.ID); b != nil {
		do(b)
	}
}

// SetSubnets replaces the subnets.
type SetSubnets struct {
	LoadBalancer stack.Ref
	Subnets      []string
	// Allocations of Elastic IP addresses, as of a load balancer.
	Allocations []string
}

func (c SetSubnets) Text() string {
	return "set subnets " + strings.Join(c.Subnets, ", ") + " of " + balancerText(c.LoadBalancer)
}
func (SetSubnets) Effect() Effect { return Sets }

func (c SetSubnets) On(seen *stack.Stack, _ Made) {
	onBalancer(seen, c.LoadBalancer, func(b *stack.LoadBalancer) { b.SetSubnets(c.Subnets, c.Allocations) })
}

// SetSecurityGroups replaces the security groups.
type SetSecurityGroups struct {
	LoadBalancer stack.Ref
	Groups       []stack.Ref
}

func (c SetSecurityGroups) Text() string {
	texts := make([]string, len(c.Groups))
	for i, group := range c.Groups {
		texts[i] = refText(group)
	}
	return "set security groups " + strings.Join(texts, ", ") + " of " + balancerText(c.LoadBalancer)
}
func (SetSecurityGroups) Effect() Effect { return Moves }

func (c SetSecurityGroups) On(seen *stack.Stack, _ Made) {
	onBalancer(seen, c.LoadBalancer, func(b *stack.LoadBalancer) { b.SecurityGroups = seenRefs(c.Groups) })
}

// SetLoadBalancerAttributes sets these and leaves others.
type SetLoadBalancerAttributes struct {
	LoadBalancer stack.Ref
	Attributes   map[string]string
}

func (c SetLoadBalancerAttributes) Text() string {
	return "set " + mapText(c.Attributes) + " of " + balancerText(c.LoadBalancer)
}
func (SetLoadBalancerAttributes) Effect() Effect { return Sets }

func (c SetLoadBalancerAttributes) On(seen *stack.Stack, _ Made) {
	onBalancer(seen, c.LoadBalancer, func(b *stack.LoadBalancer) { merge(b.Attributes, c.Attributes) })
}

// DeleteLoadBalancer deletes one with its listeners and rules. It is refused for a protected one, whose protection is left alone.
type DeleteLoadBalancer struct{ LoadBalancer stack.Ref }

func (c DeleteLoadBalancer) Text() string    { return "delete " + balancerText(c.LoadBalancer) }
func (DeleteLoadBalancer) Effect() Effect    { return Removes }
func (c DeleteLoadBalancer) deleted() string { return c.LoadBalancer.ID }

func (c DeleteLoadBalancer) On(seen *stack.Stack, _ Made) {
	for _, s := range seen.All() {
		is := func(b stack.LoadBalancer) bool { return b.ARN == c.LoadBalancer.ID }
		s.LoadBalancers = slices.DeleteFunc(slices.Clone(s.LoadBalancers), is)
		for i := range s.TargetGroups {
			g := &s.TargetGroups[i]
			g.LoadBalancers = slices.DeleteFunc(slices.Clone(g.LoadBalancers), func(arn string) bool { return arn == c.LoadBalancer.ID })
		}
	}
}
