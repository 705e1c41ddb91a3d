// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"iter"
	"maps"
	"slices"

	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

// rebind updates bindings. A binding belongs to its target group, whatever its name.
func (p *planner) rebind() {
	for binding, g := range p.bindings() {
		if seen := p.bindingOf(g); seen != nil && !sameSpec(binding.Spec, seen.Spec) {
			binding.Name = seen.Name
			p.do("it differs", steps.UpdateBinding{Binding: binding})
		}
	}
}

// bind creates the bindings that are missing of these target groups.
func (p *planner) bind(these func(*targetGroup) bool) {
	for binding, g := range p.bindings() {
		if g.bound || p.bindingOf(g) != nil || !these(g) {
			continue
		}
		g.bound = true
		if g.name == g.wanted.SpareName || p.isTaken(binding) {
			binding.Name = g.wanted.SpareName
		}
		p.do("nothing registers the target group's targets", steps.CreateBinding{Binding: binding})
	}
}

// bindings are the wanted ones, with their target groups.
func (p *planner) bindings() iter.Seq2[stack.Binding, *targetGroup] {
	return func(yield func(stack.Binding, *targetGroup) bool) {
		for _, binding := range p.wanted.Bindings {
			i := slices.IndexFunc(p.groups, func(g *targetGroup) bool { return g.wanted.Part == binding.Group.Part })
			if i < 0 {
				continue
			}
			binding.Group, binding.Spec.Peer = p.groups[i].ref(), p.securityGroup(binding.Spec.Peer)
			if !yield(binding, p.groups[i]) {
				return
			}
		}
	}
}

func (p *planner) bindingOf(g *targetGroup) *stack.Binding {
	for i, binding := range p.seen.Bindings {
		if g.seen != nil && binding.Group.ID == g.seen.ARN {
			return &p.seen.Bindings[i]
		}
	}
	return nil
}

func (p *planner) isTaken(binding stack.Binding) bool {
	return slices.ContainsFunc(p.seen.Bindings, func(other stack.Binding) bool {
		return other.Namespace == binding.Namespace && other.Name == binding.Name
	})
}

// sameSpec leaves labels of others aside, and the peer of a binding without rules.
func sameSpec(wanted, seen stack.BindingSpec) bool {
	for key, value := range wanted.Labels {
		if seen.Labels[key] != value {
			return false
		}
	}
	type plain struct {
		texts        [6]string
		rules, multi bool
	}
	of := func(s stack.BindingSpec) plain {
		p := plain{rules: s.Networking != nil, multi: s.MultiCluster}
		p.texts = [6]string{s.Service, s.Port.String(), s.TargetType, s.Protocol, s.AddressType, s.VPC}
		return p
	}
	samePeer := wanted.Networking == nil || byID(wanted.Peer) == byID(seen.Peer)
	return of(wanted) == of(seen) && samePeer && slices.Equal(wanted.Networking, seen.Networking) &&
		maps.Equal(wanted.NodeSelector, seen.NodeSelector)
}

// deleteUnused deletes target groups that no route needs any more, each after its bindings, and bindings without a target group. What
// another load balancer sends to stays.
func (p *planner) deleteUnused() {
	for _, group := range p.seen.TargetGroups {
		if p.isUnused(&group) {
			p.deleted[group.ARN] = true
			p.deleteBindings(group.ARN)
			p.do("no member wants it", steps.DeleteTargetGroup{Group: seenGroup(&group)})
		}
	}
	if !p.anyHeld {
		for _, binding := range p.seen.Bindings {
			known := func(g stack.TargetGroup) bool { return g.ARN == binding.Group.ID }
			if !p.deleted[binding.Group.ID] && !slices.ContainsFunc(p.seen.TargetGroups, known) {
				p.deleted[binding.Group.ID] = true
				p.deleteBindings(binding.Group.ID)
			}
		}
	}
}

func (p *planner) deleteBindings(group string) {
	for _, binding := range p.seen.Bindings {
		if binding.Group.ID == group {
			p.do("no member wants its target group", steps.DeleteBinding{Namespace: binding.Namespace, Name: binding.Name})
		}
	}
}

func (p *planner) isUnused(group *stack.TargetGroup) bool {
	ref := seenGroup(group)
	elsewhere := func(arn string) bool { return p.balancer == nil || arn != p.balancer.ARN }
	return !p.deleted[group.ARN] && !p.isHeld(group.ARN) && !slices.ContainsFunc(group.LoadBalancers, elsewhere) &&
		!slices.ContainsFunc(p.groups, func(g *targetGroup) bool { return g.ref() == ref }) &&
		!slices.ContainsFunc(p.listen, func(l *listener) bool { return l.gone && l.seen != nil && l.sendsTo(ref) }) &&
		!slices.ContainsFunc(p.routes, func(r *route) bool { return has(r.now.Action, ref) })
}
