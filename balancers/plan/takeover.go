// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"

	"github.com/targetgate/targetgate/balancers/plan/actions"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

// route is a rule in its place, or a default action: what it does at this point of the plan, and what it is to do.
type route struct {
	listener   *listener
	rule       stack.Ref // none of a default action
	final, now stack.Rule
	meanwhile  stack.Rule // until target groups that have to wait can do what is final
}

// routes are those of all listeners that stay, and the steps by which they come to do what is final.
type routes struct {
	*draft
	groups    targetGroups
	list      []*route
	listeners []*listener
	most      int // how many target groups the quota allows to be named
}

// swap has routes do what they may do now. The first change waits for wait, if it is not nil. It is false when there is nothing to change.
func (s *routes) swap(these []*route, wait *steps.Wait) (changed bool) {
	for _, r := range these {
		if to := s.groups.rule(r.final, r.now, r.meanwhile); !actions.SameRule(to, r.now) {
			s.change(r, to, wait)
			wait, changed = nil, true
		}
	}
	return changed
}

// change has a route do something else.
func (s *routes) change(r *route, to stack.Rule, wait *steps.Wait) {
	r.now = to
	step := steps.Step{Wait: wait, Why: "it differs", Change: steps.ModifyRule{Rule: r.rule, To: to}}
	if r == r.listener.route {
		listener := r.listener.wanted
		listener.Default = to.Action
		step.Why, step.Change = "its default action differs", steps.ModifyListener{Listener: r.listener.ref(), To: listener}
	}
	s.plan = append(s.plan, step)
}

// names reports whether a route names a target group.
func (s *routes) names(group stack.Ref) bool {
	return slices.ContainsFunc(s.list, func(r *route) bool { return actions.Names(r.now.Action, group) })
}

// attachAll names those that have to wait in routes, with weight 0, so that the load balancer checks their health.
func (s *routes) attachAll() {
	for _, g := range s.groups {
		g.known = g.instead() != (stack.Ref{}) && s.hasRoom(g) && s.attach(g)
	}
}

// hasRoom reports whether the quota has room to name the target group, too, at this point of the plan.
func (s *routes) hasRoom(g *targetGroup) bool {
	named := actions.Named{}
	for _, r := range s.list {
		named.Add(r.now.Action)
	}
	for _, l := range s.listeners {
		for _, rule := range l.surplus {
			named.Add(rule.Action)
		}
		if l.gone && l.seen != nil {
			named.AddAll(l.seen)
		}
	}
	return named[actions.ID(g.ref())] || len(named) < s.most
}

// attach names a target group in a route that is to send to it. It is false when no route has room for it.
func (s *routes) attach(g *targetGroup) bool {
	if slices.ContainsFunc(s.list, func(r *route) bool {
		return actions.Names(r.now.Action, g.ref()) && actions.Names(r.final.Action, g.ref())
	}) {
		return true
	}
	for _, r := range s.list {
		if now := r.now.Action.Forward; now != nil && actions.Names(r.final.Action, g.ref()) && len(now.Groups) < actions.Most {
			to := r.now
			to.Action = actions.With(r.now.Action, g.ref())
			s.change(r, to, nil)
			return true
		}
	}
	return false
}

// takeOver has a target group take over from what serves in its place. It waits until it is healthy, if it is known to the load balancer.
func (s *routes) takeOver(g *targetGroup) {
	wait := steps.Wait{Healthy: g.ref(), Instead: g.instead()}
	g.known = g.known || s.attach(g) // those before it may have made room; if not, AWS says so, and what serves stays
	g.serve()
	switch {
	case !g.known:
		s.swap(s.list, nil)
	case !s.swap(s.list, &wait) && s.isToBeSent(g):
		s.doAfter(wait, "another has to be healthy too", steps.Nothing{})
	}
}

// isToBeSent reports whether a route does not send to a target group yet as another has to wait, too.
func (s *routes) isToBeSent(g *targetGroup) bool {
	return slices.ContainsFunc(s.list, func(r *route) bool {
		return actions.SendsTo(r.final.Action, g.ref()) && !actions.SendsTo(r.now.Action, g.ref())
	})
}

// takeOver has target groups take over one by one from those that serve in their place, and rules that waited for them move up. What has
// served before goes: after all waits, if what stands in front is planned already, as listeners that name it go with that.
func (p *planner) takeOver() {
	start := len(p.plan)
	for _, g := range p.groups {
		before := len(p.plan)
		if g.instead() != (stack.Ref{}) {
			p.routes.takeOver(g)
		}
		if p.listeners.moveUp(g); len(p.plan) > before && !p.frontDone {
			p.deleteUnused()
		}
	}
	if !p.inTurn {
		p.beginAnew(start)
	}
	if p.frontDone {
		p.deleteUnusedAfterAll()
	}
}

// moveUp moves the late rules to their places whose target groups can serve by then: those of which last is the last one. A rule that has
// stayed for the default action is deleted then.
func (s *listenerSteps) moveUp(last *targetGroup) {
	for _, l := range s.list {
		for i, at := range l.places {
			switch {
			case s.routes.groups.last(at.final.Action) != last:
			case at == l.last:
				s.do("no member wants it", steps.DeleteRule{Rule: l.ruleAt(i)})
			case at.isLate():
				s.rules.moveUp(l, i, s.waits(l, at))
			}
		}
	}
}

// mostWaits is for how many pairs of target groups a late rule waits.
const mostWaits = 10

// waits are those of a late rule: for each of its target groups to be as healthy as those to which the rules send that it overtakes. When
// these are many, the first ones stand for all.
func (s *listenerSteps) waits(l *listener, at *place) []steps.Wait {
	var list []steps.Wait
	for _, rule := range at.overtakes {
		action := rule.Action
		if i := slices.IndexFunc(l.places, func(p *place) bool { return p.seen == rule }); i >= 0 {
			action = l.rules[i].now.Action
		}
		for _, instead := range actions.Receivers(action) {
			for _, healthy := range actions.Receivers(at.final.Action) {
				wait := steps.Wait{Healthy: healthy, Instead: s.seenRef(instead)}
				if len(list) < mostWaits && healthy != wait.Instead && !slices.Contains(list, wait) {
					list = append(list, wait)
				}
			}
		}
	}
	return list
}

// replaceLoadBalancer deletes former load balancers once what serves on the new one is as healthy, and clients do not come to them any
// more. While one of them is protected, what it needs stays.
func (p *planner) replaceLoadBalancer() {
	if len(p.old) == 0 || p.held.any {
		return
	}
	const why = "it replaces one that clients still come to"
	if !p.isActive() {
		p.doAfter(steps.Wait{Active: p.to()}, why, steps.Nothing{})
	}
	for _, g := range p.groups {
		switch {
		case g.elsewhere == nil:
		case g.before != nil:
			p.doAfter(steps.Wait{Healthy: seenGroup(g.before), Instead: seenGroup(g.elsewhere)}, why, steps.Nothing{})
		case p.routes.names(g.ref()):
			p.doAfter(steps.Wait{Healthy: g.ref(), Instead: seenGroup(g.elsewhere)}, why, steps.Nothing{})
		}
	}
	p.changeFront()
	for _, balancer := range p.old {
		ref := balancerRef(&balancer)
		p.doAfter(steps.Wait{Settled: ref}, "another has replaced it", steps.DeleteLoadBalancer{LoadBalancer: ref})
		p.left[balancer.ARN] = true
	}
	p.awaitEnd("another has replaced it", p.old)
	p.deleteUnused()
}

// deleteUnused deletes target groups that no route needs any more, each after its bindings, and bindings without a target group. What
// another load balancer sends to stays, and so does what a route is yet to send to for a while.
func (p *planner) deleteUnused() {
	for _, group := range p.seen.TargetGroups {
		if p.isUnused(&group) {
			p.deleted[group.ARN] = true
			p.bindings.delete(group.ARN)
			p.do("no member wants it", steps.DeleteTargetGroup{Group: seenGroup(&group)})
		}
	}
	if !p.held.any {
		for _, binding := range p.seen.Bindings {
			known := func(g stack.TargetGroup) bool { return g.ARN == binding.Group.ID }
			if !p.deleted[binding.Group.ID] && !slices.ContainsFunc(p.seen.TargetGroups, known) {
				p.deleted[binding.Group.ID] = true
				p.bindings.delete(binding.Group.ID)
			}
		}
	}
}

// deleteUnusedAfterAll is deleteUnused once all that was waited for holds.
func (p *planner) deleteUnusedAfterAll() {
	last := len(p.plan)
	p.deleteUnused()
	p.comeAfterAll(last)
}

func (p *planner) isUnused(group *stack.TargetGroup) bool {
	ref := seenGroup(group)
	elsewhere := func(arn string) bool { return !p.isStaying(arn) && !p.left[arn] }
	return !p.deleted[group.ARN] && !p.held.has(group.ARN) && !slices.ContainsFunc(group.LoadBalancers, elsewhere) &&
		!slices.ContainsFunc(p.groups, func(g *targetGroup) bool { return g.ref() == ref || g.instead() == ref }) &&
		!slices.ContainsFunc(p.listeners.list, func(l *listener) bool { return l.seen != nil && l.stillNames(ref) }) &&
		!p.routes.names(ref)
}
