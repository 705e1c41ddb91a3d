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

// create creates the bindings that are missing of these target groups.
func (s bindingSteps) create(these func(*targetGroup) bool) {
	for binding, g := range s.all() {
		if g.bound || s.of(g) != nil || !these(g) {
			continue
		}
		g.bound = true
		if g.name != g.wanted.Name || s.taken[[2]string{binding.Namespace, binding.Name}] {
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
	if g.seen == nil || len(s.bound[g.seen.ARN]) == 0 {
		return nil
	}
	return &s.seen.Bindings[s.bound[g.seen.ARN][0]]
}

// delete deletes those of a target group.
func (s bindingSteps) delete(group string) {
	for _, i := range s.bound[group] {
		binding := &s.seen.Bindings[i]
		s.do("no member wants its target group", steps.DeleteBinding{Namespace: binding.Namespace, Name: binding.Name})
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
		texts                [6]string
		rules, multi, others bool
	}
	of := func(s stack.BindingSpec) plain {
		p := plain{rules: s.Networking != nil, multi: s.MultiCluster, others: s.Others}
		p.texts = [6]string{s.Service, s.Port.String(), s.TargetType, s.Protocol, s.AddressType, s.VPC}
		return p
	}
	samePeer := wanted.Networking == nil || actions.ID(wanted.Peer) == actions.ID(seen.Peer)
	return of(wanted) == of(seen) && samePeer && slices.Equal(wanted.Networking, seen.Networking) &&
		maps.Equal(wanted.NodeSelector, seen.NodeSelector)
}

// mostSecurityGroups is AWS's default quota: how many security groups a load balancer has.
const mostSecurityGroups = 5

// exchange gives the load balancer that stays its wanted security groups, and updates bindings, so that targets let it in throughout. What
// takes one off waits until the rules are there by which targets let in the others: that is left to finish.
type exchange struct {
	bindingSteps
	has, wanted []stack.Ref                  // security groups of the load balancer: at this point of the plan, and in the end
	updated     map[string]stack.BindingSpec // of bindings, by target group
	rest        []stack.Binding              // to be updated when the load balancer has what is wanted
	wait        *steps.Wait                  // before that; nil for nothing
}

func newExchange(s bindingSteps) *exchange {
	e := &exchange{bindingSteps: s, updated: map[string]stack.BindingSpec{}}
	if s.balancer == nil {
		return e
	}
	e.has, e.wanted = s.balancer.SecurityGroups, s.withSecurityGroups(s.wanted.LoadBalancers[0]).SecurityGroups
	for _, binding := range s.seen.Bindings { // targets of held members let in what they did
		if peer := binding.Spec.Peer; s.held.has(binding.Group.ID) && isIn(e.has, peer) && !isIn(e.wanted, peer) {
			e.wanted = append(e.wanted, peer)
		}
	}
	return e
}

// begin does all that need not wait.
func (e *exchange) begin() {
	e.widen()
	for binding, g := range e.all() {
		seen := e.of(g)
		if seen == nil || sameSpec(binding.Spec, seen.Spec) {
			continue
		}
		binding.Name = seen.Name
		if e.isCutOff(&binding, seen) {
			e.rest = append(e.rest, binding)
			continue
		}
		e.updated[seen.Group.ID] = binding.Spec
		e.do("it differs", steps.UpdateBinding{Binding: binding})
	}
	if e.wait = e.awaited(); e.wait == nil {
		e.finish()
	}
}

// finish does the rest.
func (e *exchange) finish() {
	e.set(e.wanted, e.wait)
	for _, binding := range e.rest {
		e.do("it differs", steps.UpdateBinding{Binding: binding})
	}
}

// widen gives the load balancer what it has and what is wanted, where bindings are to let in what it does not have instead of what it has.
// Without room for both, they do so when it has what is wanted.
func (e *exchange) widen() {
	both := slices.Clone(e.has)
	for _, group := range e.wanted {
		if !isIn(both, group) {
			both = append(both, group)
		}
	}
	for binding, g := range e.all() {
		seen := e.of(g)
		if seen != nil && binding.Spec.Networking != nil && e.isCutOff(&binding, seen) && len(both) <= mostSecurityGroups {
			e.set(both, nil)
			return
		}
	}
}

func (e *exchange) set(groups []stack.Ref, wait *steps.Wait) {
	if e.balancer != nil && !sameSet(ids(groups), ids(e.has)) {
		e.has = groups
		e.plan = append(e.plan, steps.Step{
			Wait: wait, Change: steps.SetSecurityGroups{LoadBalancer: e.to(), Groups: groups}, Why: "its security groups differ",
		})
	}
}

// isCutOff reports whether the load balancer, with the security groups that it has at this point, would not reach the targets any more.
func (e *exchange) isCutOff(wanted, seen *stack.Binding) bool {
	return seen.Spec.Networking != nil && isIn(e.has, seen.Spec.Peer) &&
		(wanted.Spec.Networking == nil || !isIn(e.has, wanted.Spec.Peer))
}

// awaited is what must hold before a security group is taken off the load balancer; nil for nothing, also if none is.
func (e *exchange) awaited() *steps.Wait {
	if !slices.ContainsFunc(e.has, func(group stack.Ref) bool { return !isIn(e.wanted, group) }) {
		return nil
	}
	for _, group := range e.seen.TargetGroups {
		isClosed := func(binding stack.Binding) bool { return binding.Group.ID == group.ARN && e.isClosed(&binding) }
		if slices.Contains(group.LoadBalancers, e.balancer.ARN) && slices.ContainsFunc(e.seen.Bindings, isClosed) {
			return &steps.Wait{Open: seenGroup(&group)}
		}
	}
	return nil
}

// isClosed reports whether rules may not be there yet by which targets are to let in the load balancer.
func (e *exchange) isClosed(seen *stack.Binding) bool {
	spec, updated := e.updated[seen.Group.ID]
	if !updated {
		spec = seen.Spec
	}
	return spec.Networking != nil && isIn(e.wanted, spec.Peer) && (updated || seen.Awaited != "")
}

func isIn(groups []stack.Ref, group stack.Ref) bool {
	return slices.Contains(ids(groups), actions.ID(group))
}
