// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"iter"
	"maps"
	"slices"

	"github.com/targetgate/targetgate/balancers/plan/actions"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

// bindingSteps are the steps to bindings.
type bindingSteps struct {
	*view
	*draft
	groups targetGroups
}

// update updates bindings, either those that must not change before the security groups of the load balancer have, or the others. A binding
// belongs to its target group, whatever its name.
func (s bindingSteps) update(afterSecurityGroups bool) {
	for binding, g := range s.all() {
		seen := s.of(g)
		if seen != nil && !sameSpec(binding.Spec, seen.Spec) && s.isCutOff(&binding, seen) == afterSecurityGroups {
			binding.Name = seen.Name
			s.do("it differs", steps.UpdateBinding{Binding: binding})
		}
	}
}

// isCutOff says whether the load balancer, with the security groups that it is seen to have, would not reach the targets any more.
func (s bindingSteps) isCutOff(wanted, seen *stack.Binding) bool {
	return s.balancer != nil && seen.Spec.Networking != nil && slices.ContainsFunc(s.balancer.SecurityGroups, isPeer(seen)) &&
		(wanted.Spec.Networking == nil || !slices.ContainsFunc(s.balancer.SecurityGroups, isPeer(wanted)))
}

func isPeer(of *stack.Binding) func(group stack.Ref) bool {
	return func(group stack.Ref) bool { return actions.ID(group) == actions.ID(of.Spec.Peer) }
}

// create creates the bindings that are missing of these target groups.
func (s bindingSteps) create(these func(*targetGroup) bool) {
	for binding, g := range s.all() {
		if g.bound || s.of(g) != nil || !these(g) {
			continue
		}
		g.bound = true
		if g.name != g.wanted.Name || s.isTaken(binding) {
			binding.Name = g.wanted.SpareName
		}
		s.do("nothing registers the target group's targets", steps.CreateBinding{Binding: binding})
	}
}

// all are the wanted ones, with their target groups.
func (s bindingSteps) all() iter.Seq2[stack.Binding, *targetGroup] {
	return func(yield func(stack.Binding, *targetGroup) bool) {
		for _, binding := range s.wanted.Bindings {
			g := s.groups.of(binding.Group.Part)
			if g == nil {
				continue
			}
			binding.Group, binding.Spec.Peer = g.ref(), s.securityGroup(binding.Spec.Peer)
			if !yield(binding, g) {
				return
			}
		}
	}
}

func (s bindingSteps) of(g *targetGroup) *stack.Binding {
	for i, binding := range s.seen.Bindings {
		if g.seen != nil && binding.Group.ID == g.seen.ARN {
			return &s.seen.Bindings[i]
		}
	}
	return nil
}

func (s bindingSteps) isTaken(binding stack.Binding) bool {
	return slices.ContainsFunc(s.seen.Bindings, func(other stack.Binding) bool {
		return other.Namespace == binding.Namespace && other.Name == binding.Name
	})
}

// delete deletes those of a target group.
func (s bindingSteps) delete(group string) {
	for _, binding := range s.seen.Bindings {
		if binding.Group.ID == group {
			s.do("no member wants its target group", steps.DeleteBinding{Namespace: binding.Namespace, Name: binding.Name})
		}
	}
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
	samePeer := wanted.Networking == nil || actions.ID(wanted.Peer) == actions.ID(seen.Peer)
	return of(wanted) == of(seen) && samePeer && slices.Equal(wanted.Networking, seen.Networking) &&
		maps.Equal(wanted.NodeSelector, seen.NodeSelector)
}
