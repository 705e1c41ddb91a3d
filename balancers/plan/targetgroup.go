// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"
	"strings"

	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

// targetGroup is one that is wanted.
type targetGroup struct {
	wanted stack.TargetGroup
	seen   *stack.TargetGroup // nil when it is created
	name   string
	// before serves the same Service in its place until it is healthy; nil when nothing does, or when it serves already.
	before *stack.TargetGroup
	// fresh says that no request is sent to it or to its Service yet, and some are to be. While a load balancer is replaced, none is: what
	// the new one has serves nobody yet.
	fresh bool
	// meanwhile serves, until it is healthy, requests that it is to serve; none unless it is fresh.
	meanwhile stack.Ref
	// atOnce says that it gets requests without a wait that something else answers, or may answer. Bound says that its binding is created.
	atOnce, bound bool
	// elsewhere does what before does on another load balancer, which this one's replaces.
	elsewhere *stack.TargetGroup
}

// instead is what serves until it may take over; none if it need not wait.
func (g *targetGroup) instead() stack.Ref {
	if g.before != nil {
		return seenGroup(g.before)
	}
	return g.meanwhile
}

func (g *targetGroup) ref() stack.Ref {
	if g.seen != nil {
		return seenGroup(g.seen)
	}
	return stack.Ref{Part: g.wanted.Part}
}

// matchTargetGroups finds for each that is wanted the one that is seen, or the one that serves in its place until it is created and
// healthy: the former one of its name, or another of the same Service.
func (p *planner) matchTargetGroups() {
	p.nameServices()
	for _, wanted := range p.wanted.TargetGroups {
		p.groups = append(p.groups, p.matchTargetGroup(wanted))
	}
	for _, g := range p.groups {
		serves := g.seen != nil && p.isSentTo(g.seen.ARN)
		if !serves && sendsTo(&p.wanted.LoadBalancers[0], byID(stack.Ref{Part: g.wanted.Part})) {
			g.before = p.predecessor(g, p.isSentTo)
			g.fresh = g.before == nil && len(p.old) == 0
		}
		g.elsewhere = p.predecessor(g, p.isElsewhere)
	}
}

// matchTargetGroup takes one to which requests are sent rather than another.
func (p *planner) matchTargetGroup(wanted stack.TargetGroup) *targetGroup {
	g := &targetGroup{wanted: wanted, name: wanted.Name}
	for i := range p.seen.TargetGroups {
		group := &p.seen.TargetGroups[i]
		if p.fits(group, &wanted) && (g.seen == nil || p.isSentTo(group.ARN) && !p.isSentTo(g.seen.ARN)) {
			g.seen = group
		}
		if group.Name == wanted.Name {
			g.name = wanted.SpareName
		}
	}
	if g.seen != nil {
		g.name = g.seen.Name
	}
	return g
}

// fits says whether a target group that is seen is the wanted one, or can only be replaced.
func (p *planner) fits(seen, wanted *stack.TargetGroup) bool {
	elsewhere := func(arn string) bool { return p.balancer == nil || arn != p.balancer.ARN }
	return seen.Part == wanted.Part && seen.TargetType == wanted.TargetType && seen.Protocol == wanted.Protocol &&
		seen.ProtocolVersion == wanted.ProtocolVersion && seen.ControlPort == wanted.ControlPort &&
		!slices.ContainsFunc(seen.LoadBalancers, elsewhere) && (seen.Target == (stack.Ref{}) || p.hasTarget(seen, wanted))
}

// predecessor serves the same Service as g, if need be another port of it: pods that answer are better than none that are healthy. The
// former one of g's name comes before others, and the same port before others. Those of held members are left to them, as their rules are
// told by them.
func (p *planner) predecessor(g *targetGroup, serves func(arn string) bool) *stack.TargetGroup {
	var found *stack.TargetGroup
	best := 0
	for i := range p.seen.TargetGroups {
		group := &p.seen.TargetGroups[i]
		if group == g.seen || p.isHeld(group.ARN) || !serves(group.ARN) {
			continue
		}
		if likeness := p.likeness(group, g); likeness > best {
			found, best = group, likeness
		}
	}
	return found
}

// likeness is 0 for a target group of another Service than that of g.
func (p *planner) likeness(group *stack.TargetGroup, g *targetGroup) int {
	before, after := p.service(seenGroup(group)), p.service(stack.Ref{Part: g.wanted.Part})
	switch {
	case withoutPort(before) != withoutPort(after):
		return 0
	case before != after:
		return 1
	case group.Part != g.wanted.Part:
		return 2
	}
	return 3
}

// isSentTo says whether the load balancer that stays sends requests to a target group.
func (p *planner) isSentTo(arn string) bool { return p.balancer != nil && sendsTo(p.balancer, arn) }

func (p *planner) isElsewhere(arn string) bool {
	return slices.ContainsFunc(p.old, func(b stack.LoadBalancer) bool { return sendsTo(&b, arn) })
}

func sendsTo(balancer *stack.LoadBalancer, name string) bool {
	for _, listener := range balancer.Listeners {
		if weightOf(listener.Default, name) > 0 {
			return true
		}
		for _, rule := range listener.Rules {
			if weightOf(rule.Action, name) > 0 {
				return true
			}
		}
	}
	return false
}

// weightOf is the weight with which an action sends to a target group, named by byID; at least 1 for a single one.
func weightOf(action stack.Action, name string) int32 {
	if action.Forward == nil {
		return 0
	}
	for _, group := range action.Forward.Groups {
		if byID(group.Group) == name {
			if len(action.Forward.Groups) == 1 {
				return max(1, group.Weight)
			}
			return group.Weight
		}
	}
	return 0
}

// nameServices names for each target group, by ID or wanted part, the Service that it sends to, as far as bindings tell.
func (p *planner) nameServices() {
	p.services = map[string]string{}
	for _, binding := range p.wanted.Bindings {
		p.services[byID(binding.Group)] = serviceOf(binding)
	}
	for _, group := range p.seen.TargetGroups {
		p.services[group.ARN] = p.service(stack.Ref{Part: group.Part})
	}
	for _, binding := range p.seen.Bindings {
		p.services[byID(binding.Group)] = serviceOf(binding)
	}
}

func serviceOf(b stack.Binding) string {
	return "service " + b.Namespace + "/" + b.Spec.Service + ":" + b.Spec.Port.String()
}

func withoutPort(service string) string {
	if i := strings.LastIndex(service, ":"); i >= 0 {
		return service[:i]
	}
	return service
}

// service compares target groups by their Service. A forward to any of them reaches the same pods.
func (p *planner) service(group stack.Ref) string {
	if service, ok := p.services[byID(group)]; ok {
		return service
	}
	return byID(group)
}

// resolve gives what is wanted the ID of what is seen.
func (p *planner) resolve(group stack.Ref) stack.Ref {
	for _, g := range p.groups {
		if group.ID == "" && g.wanted.Part == group.Part {
			return g.ref()
		}
	}
	return group
}

// prepareTargetGroups creates what is missing, and changes health checks and attributes.
func (p *planner) prepareTargetGroups() {
	for _, g := range p.groups {
		if g.seen == nil {
			p.createTargetGroup(g)
			p.registerBehind(g)
			continue
		}
		p.registerBehind(g)
		if g.seen.HealthCheck != g.wanted.HealthCheck {
			p.do("its health check differs", steps.SetHealthCheck{
				Group: g.ref(), Check: g.wanted.HealthCheck, ProtocolVersion: g.wanted.ProtocolVersion,
			})
		}
		if differ := differing(g.wanted.Attributes, g.wanted.Presets, g.seen.Attributes); len(differ) > 0 {
			p.do("attributes differ", steps.SetTargetGroupAttributes{Group: g.ref(), Attributes: differ})
		}
	}
}

func (p *planner) createTargetGroup(g *targetGroup) {
	group, why := g.wanted, "it does not exist"
	if group.Name = g.name; g.before != nil || g.elsewhere != nil {
		why = "it replaces one that cannot be changed"
	}
	p.do(why, steps.CreateTargetGroup{Group: group})
	if len(group.Attributes) > 0 {
		p.do(why, steps.SetTargetGroupAttributes{Group: g.ref(), Attributes: group.Attributes})
	}
}

// differing are the attributes to be set, with presets as far as they are seen. None is when those that are seen were not read.
func differing(wanted, presets, seen map[string]string) map[string]string {
	differ := map[string]string{}
	for key, value := range wanted {
		if seen != nil && seen[key] != value {
			differ[key] = value
		}
	}
	for key, value := range seen {
		if preset, ok := presets[key]; ok && preset != value {
			differ[key] = preset
		}
	}
	return differ
}
