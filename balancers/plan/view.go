// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"
	"strings"

	"github.com/targetgate/targetgate/balancers/plan/actions"
	"github.com/targetgate/targetgate/balancers/stack"
)

// view is what is wanted beside what is seen, and what follows from both before the first step. No step changes it.
type view struct {
	wanted, seen stack.Stack
	options      Options
	// behind is the load balancer that is the target of all target groups; none but for what is in front of one.
	behind   stack.Ref
	behindAt map[int32]stack.Ref // its listeners, by port
	// inTurn says that the load balancer behind replaces another one: it serves before anything in front sends to it.
	inTurn bool

	held     held
	balancer *stack.LoadBalancer  // that is seen and stays; nil when one is created
	old      []stack.LoadBalancer // the others that are seen
	services services
	bound    map[string][]int   // the places of bindings that are seen, by the ARN of their target group: anybody can add thousands
	taken    map[[2]string]bool // the namespaces and names of all bindings that are seen, also of others'
}

func look(wanted, seen stack.Stack, options Options) *view {
	v := &view{wanted: wanted, seen: seen, options: options, bound: map[string][]int{}, taken: map[[2]string]bool{}}
	for _, binding := range seen.Bindings {
		v.taken[[2]string{binding.Namespace, binding.Name}] = true
	}
	v.seen.Bindings = seen.OwnBindings()
	for i, binding := range v.seen.Bindings {
		v.bound[binding.Group.ID] = append(v.bound[binding.Group.ID], i)
	}
	v.services = nameServices(&v.wanted, &v.seen)
	v.held = findHeld(&v.wanted, &v.seen)
	if len(wanted.LoadBalancers) > 0 {
		v.chooseLoadBalancer()
	}
	return v
}

// chooseLoadBalancer takes the seen one with the wanted scheme, by name if there are several. While a member is held it takes the one that
// has most of the held target groups, whatever its scheme.
func (v *view) chooseLoadBalancer() {
	wanted, best := &v.wanted.LoadBalancers[0], -1
	for i := range v.seen.LoadBalancers {
		balancer := &v.seen.LoadBalancers[i]
		score := 0
		if v.held.any {
			score = 4 * v.held.count(v.seen.TargetGroups, balancer.ARN)
		} else if balancer.Scheme != wanted.Scheme {
			continue
		}
		if balancer.Scheme == wanted.Scheme {
			score += 2
		}
		if balancer.Name == wanted.Name {
			score++
		}
		if score > best {
			best, v.balancer = score, balancer
		}
	}
	v.old = slices.DeleteFunc(slices.Clone(v.seen.LoadBalancers), func(b stack.LoadBalancer) bool { return v.isStaying(b.ARN) })
}

// isStaying reports whether a load balancer is the one that stays.
func (v *view) isStaying(arn string) bool { return v.balancer != nil && arn == v.balancer.ARN }

// isActive reports whether the load balancer that stays takes all changes.
func (v *view) isActive() bool { return v.balancer != nil && v.balancer.Active }

// to is the load balancer that stays or is created.
func (v *view) to() stack.Ref {
	if v.balancer == nil {
		return stack.Ref{Part: v.wanted.LoadBalancers[0].Part()}
	}
	return balancerRef(v.balancer)
}

func balancerRef(b *stack.LoadBalancer) stack.Ref { return stack.Ref{ID: b.ARN, Part: b.Part()} }

// isServing reports whether the load balancer that stays sends requests to a target group.
func (v *view) isServing(arn string) bool {
	return v.balancer != nil && actions.AnySendsTo(v.balancer, stack.Ref{ID: arn})
}

// isUsed reports whether clients may come to the load balancer that stays: it replaces none, or its name is in a status, or what stands in
// front sends to it.
func (v *view) isUsed() bool {
	return len(v.old) == 0 || v.balancer != nil && (v.balancer.InStatus || v.isBehindFront())
}

// isBehindFront reports whether what stands in front sends to the load balancer that stays.
func (v *view) isBehindFront() bool {
	front := v.seen.Front
	return front != nil && slices.ContainsFunc(front.TargetGroups, func(g stack.TargetGroup) bool {
		return g.Target.ID == v.balancer.ARN && slices.ContainsFunc(front.LoadBalancers, func(b stack.LoadBalancer) bool {
			return actions.AnySendsTo(&b, seenGroup(&g))
		})
	})
}

// seenRef names a target group that is seen by its part, too.
func (v *view) seenRef(ref stack.Ref) stack.Ref {
	if i := slices.IndexFunc(v.seen.TargetGroups, func(g stack.TargetGroup) bool { return g.ARN == ref.ID }); i >= 0 {
		return seenGroup(&v.seen.TargetGroups[i])
	}
	return ref
}

// isElsewhere reports whether one of the other load balancers does.
func (v *view) isElsewhere(arn string) bool {
	return slices.ContainsFunc(v.old, func(b stack.LoadBalancer) bool { return actions.AnySendsTo(&b, stack.Ref{ID: arn}) })
}

// mostGroups is how many target groups the load balancer may have. Of one in front, each has the load balancer behind as a target.
func (v *view) mostGroups() int {
	if v.behind == (stack.Ref{}) || v.balancer == nil {
		return v.options.TargetGroups
	}
	return v.options.FrontTargets / stack.FrontWeight(v.balancer.Attributes)
}

// hasTarget reports whether the load balancer behind is the target of a group.
func (v *view) hasTarget(seen, wanted *stack.TargetGroup) bool {
	return seen.Target.ID != "" && seen.Target.ID == v.behind.ID && seen.TargetPort == wanted.TargetPort
}

// seenSecurityGroup is the one of its part, nil for none. Of several it is the one with the wanted name, as somebody else may have made
// another with the same tags; else the first.
func (v *view) seenSecurityGroup(part string) (found *stack.SecurityGroup) {
	isWanted := func(name string) bool {
		return slices.ContainsFunc(v.wanted.SecurityGroups, func(g stack.SecurityGroup) bool { return g.Part() == part && g.Name == name })
	}
	for i := range v.seen.SecurityGroups {
		if group := &v.seen.SecurityGroups[i]; group.Part() == part && (found == nil || isWanted(group.Name) && !isWanted(found.Name)) {
			found = group
		}
	}
	return found
}

// securityGroup gives one that is wanted the ID of the one that is seen.
func (v *view) securityGroup(ref stack.Ref) stack.Ref {
	if ref.ID == "" && ref.Part != "" {
		if seen := v.seenSecurityGroup(ref.Part); seen != nil {
			return stack.Ref{ID: seen.ID, Part: ref.Part}
		}
	}
	return ref
}

// withSecurityGroups is a wanted load balancer whose security groups have the IDs of those that are seen.
func (v *view) withSecurityGroups(balancer stack.LoadBalancer) stack.LoadBalancer {
	balancer.SecurityGroups = slices.Clone(balancer.SecurityGroups)
	for i, group := range balancer.SecurityGroups {
		balancer.SecurityGroups[i] = v.securityGroup(group)
	}
	return balancer
}

// services are the Services that target groups send to, as far as bindings tell; by ID or wanted part.
type services map[string]string

func nameServices(wanted, seen *stack.Stack) services {
	s := services{}
	for _, binding := range wanted.Bindings {
		s[actions.ID(binding.Group)] = serviceOf(binding)
	}
	for _, group := range seen.TargetGroups {
		s[group.ARN] = s.of(stack.Ref{Part: group.Part})
	}
	for _, binding := range seen.Bindings {
		s[actions.ID(binding.Group)] = serviceOf(binding)
	}
	return s
}

// isService is how the names of Services begin; other target groups are named by their IDs.
const isService = "service "

func serviceOf(b stack.Binding) string {
	return isService + b.Namespace + "/" + b.Spec.Service + ":" + b.Spec.Port.String()
}

func withoutPort(service string) string {
	if i := strings.LastIndex(service, ":"); i >= 0 && strings.HasPrefix(service, isService) {
		return service[:i]
	}
	return service
}

// of compares target groups by their Service. A forward to any of them reaches the same pods.
func (s services) of(group stack.Ref) string {
	if service, ok := s[actions.ID(group)]; ok {
		return service
	}
	return actions.ID(group)
}
