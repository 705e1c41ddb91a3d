// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"

	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

// route is a rule in its place, or a default action: what it does at this point of the plan, and what it is to do.
type route struct {
	listener   *listener
	rule       stack.Ref // none of a default action
	final, now stack.Rule
	meanwhile  stack.Action // until target groups that have to wait can do what is final
}

// resolved is an action whose target groups have the IDs of those that are seen.
func (p *planner) resolved(action stack.Action) stack.Action {
	if action.Forward == nil {
		return action
	}
	forward := *action.Forward
	forward.Groups = slices.Clone(forward.Groups)
	for i := range forward.Groups {
		forward.Groups[i].Group = p.resolve(forward.Groups[i].Group)
	}
	action.Forward = &forward
	return action
}

// action is what a route to final may do when of the target groups for which another still serves only those in done may take over. A
// target group that now has weight 0 there keeps it until it takes over: so the load balancer checks its health.
func (p *planner) action(final, now, meanwhile stack.Action, done []*targetGroup) stack.Action {
	if final.Forward == nil {
		return final
	}
	if coming := p.coming(final, done); len(coming) > 0 {
		if now.Forward != nil && servingKey(now) == servingKey(meanwhile) {
			meanwhile = now
		}
		action := attachedTo(meanwhile, coming)
		if final.Auth != nil { // nobody waits for that
			action.Auth = final.Auth
		}
		return action
	}
	forward := stack.Forward{Sticky: final.Forward.Sticky}
	var waiting []stack.Ref
	for _, group := range final.Forward.Groups {
		if g := p.waiting(group.Group, done); g != nil && weightOf(final, byID(group.Group)) > 0 {
			group.Group = seenGroup(g.before)
			if has(now, g.ref()) {
				waiting = append(waiting, g.ref())
			}
		}
		add(&forward, group)
	}
	final.Forward = &forward
	return attached(final, waiting...)
}

// waiting is the target group that is named, if another serves in its place.
func (p *planner) waiting(group stack.Ref, done []*targetGroup) *targetGroup {
	for _, g := range p.groups {
		if g.before != nil && g.ref() == group && !slices.Contains(done, g) {
			return g
		}
	}
	return nil
}

// has says whether an action names a target group, with whatever weight.
func has(action stack.Action, group stack.Ref) bool {
	same := func(w stack.Weighted) bool { return byID(w.Group) == byID(group) }
	return action.Forward != nil && slices.ContainsFunc(action.Forward.Groups, same)
}

// add adds the weight to that of the same target group.
func add(forward *stack.Forward, group stack.Weighted) {
	for i, other := range forward.Groups {
		if byID(other.Group) == byID(group.Group) {
			forward.Groups[i].Weight += group.Weight
			return
		}
	}
	forward.Groups = append(forward.Groups, group)
}

// attached is a forward that also names target groups to which it sends nothing.
func attached(action stack.Action, groups ...stack.Ref) stack.Action {
	forward := *action.Forward
	forward.Groups = slices.Clone(forward.Groups)
	if len(forward.Groups) == 1 && len(groups) > 0 {
		forward.Groups[0].Weight = max(1, forward.Groups[0].Weight)
	}
	for _, group := range groups {
		forward.Groups = append(forward.Groups, stack.Weighted{Group: group})
	}
	action.Forward = &forward
	return action
}

// isToBeSent says whether a route does not send to a target group yet as another has to wait, too.
func (p *planner) isToBeSent(g *targetGroup) bool {
	name := byID(g.ref())
	return slices.ContainsFunc(p.routes, func(r *route) bool {
		return weightOf(r.final.Action, name) > 0 && weightOf(r.now.Action, name) == 0
	})
}

// swap has routes do what they may do now. The first change waits for what is given. It is false when there is nothing to change.
func (p *planner) swap(routes []*route, done []*targetGroup, wait ...*steps.Wait) (changed bool) {
	for _, r := range routes {
		to := r.final
		to.Action = p.action(r.final.Action, r.now.Action, r.meanwhile, done)
		if ruleKey(to, byID) != ruleKey(r.now, byID) {
			p.change(r, to, wait...)
			wait, changed = nil, true
		}
	}
	return changed
}

// change has a route do something else.
func (p *planner) change(r *route, to stack.Rule, wait ...*steps.Wait) {
	r.now = to
	step := steps.Step{Why: "it differs", Change: steps.ModifyRule{Rule: r.rule, To: to}}
	if r == r.listener.route {
		listener := r.listener.wanted
		listener.Default = to.Action
		step = steps.Step{Why: "its default action differs", Change: steps.ModifyListener{Listener: r.listener.ref(), To: listener}}
	}
	if len(wait) > 0 {
		step.Wait = wait[0]
	}
	p.plan = append(p.plan, step)
}

// attachAll names those that have to wait in routes, with weight 0, so that the load balancer checks their health. It returns those for
// which there is room.
func (p *planner) attachAll() (known []*targetGroup) {
	for _, g := range p.groups {
		if g.instead() != (stack.Ref{}) && p.attach(g) {
			known = append(known, g)
		}
	}
	return known
}

// takeOver has target groups take over one by one from those that serve in their place, and what has served before goes. Those that are
// known to the load balancer wait until they are healthy.
func (p *planner) takeOver(known []*targetGroup) {
	start := len(p.plan)
	var done []*targetGroup
	for _, g := range p.groups {
		instead := g.instead()
		if instead == (stack.Ref{}) {
			continue
		}
		done = append(done, g)
		var wait []*steps.Wait
		if slices.Contains(known, g) {
			wait = []*steps.Wait{{Healthy: g.ref(), Instead: instead}}
		}
		if changed := p.swap(p.routes, done, wait...); !changed && len(wait) > 0 && p.isToBeSent(g) {
			p.doAfter(*wait[0], "another has to be healthy too", steps.Nothing{})
		}
		p.deleteUnused()
	}
	if len(p.plan) > start {
		p.plan[start].Anew = true
	}
}

// mostGroups is how many target groups an action may name.
const mostGroups = 5

// attach names a target group in a route that is to send to it. It is false when no route has room for it.
func (p *planner) attach(g *targetGroup) bool {
	if slices.ContainsFunc(p.routes, func(r *route) bool { return has(r.now.Action, g.ref()) && has(r.final.Action, g.ref()) }) {
		return true
	}
	for _, r := range p.routes {
		if now := r.now.Action.Forward; now != nil && has(r.final.Action, g.ref()) && len(now.Groups) < mostGroups {
			to := r.now
			to.Action = attached(r.now.Action, g.ref())
			p.change(r, to)
			return true
		}
	}
	return false
}
