// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"

	"github.com/targetgate/targetgate/balancers/stack"
)

// route is a rule in its place, or a default action: what it does at this point of the plan, and what it is to do.
type route struct {
	listener   *listener
	rule       stack.Ref // none of a default action
	final, now stack.Rule
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
func (p *planner) action(final, now stack.Action, done []*targetGroup) stack.Action {
	if final.Forward == nil {
		return final
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
	return attached(forward, waiting...)
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

// attached is an action that also names target groups to which it sends nothing.
func attached(forward stack.Forward, groups ...stack.Ref) stack.Action {
	forward.Groups = slices.Clone(forward.Groups)
	if len(forward.Groups) == 1 && len(groups) > 0 {
		forward.Groups[0].Weight = max(1, forward.Groups[0].Weight)
	}
	for _, group := range groups {
		forward.Groups = append(forward.Groups, stack.Weighted{Group: group})
	}
	return stack.Action{Forward: &forward}
}

// swap has routes do what they may do now. The first change waits for what is given.
func (p *planner) swap(routes []*route, done []*targetGroup, wait ...*Wait) {
	for _, r := range routes {
		to := r.final
		to.Action = p.action(r.final.Action, r.now.Action, done)
		if ruleKey(to, byID) != ruleKey(r.now, byID) {
			p.change(r, to, wait...)
			wait = nil
		}
	}
}

// change has a route do something else.
func (p *planner) change(r *route, to stack.Rule, wait ...*Wait) {
	r.now = to
	step := Step{Why: "it differs", Change: ModifyRule{r.rule, to}}
	if r == r.listener.route {
		listener := r.listener.wanted
		listener.Default = to.Action
		step = Step{Why: "its default action differs", Change: ModifyListener{r.listener.ref(), listener}}
	}
	if len(wait) > 0 {
		step.Wait = wait[0]
	}
	p.plan = append(p.plan, step)
}

// takeOver has new target groups take over from those that serve in their place: the load balancer gets to know all of them, with weight
// 0, so that it checks their health. Then they take over one by one, and what has served before goes.
func (p *planner) takeOver() {
	var known []*targetGroup
	for _, g := range p.groups {
		if g.before != nil && p.attach(g) {
			known = append(known, g)
		}
	}
	var done []*targetGroup
	for _, g := range p.groups {
		if g.before == nil {
			continue
		}
		done = append(done, g)
		var wait []*Wait
		if slices.Contains(known, g) {
			wait = []*Wait{{Healthy: g.ref(), Instead: seenGroup(g.before)}}
		}
		p.swap(p.routes, done, wait...)
		p.deleteUnused()
	}
}

// attach names a target group in a route that is to send to it. It is false when no route has room for it: an action has at most 5.
func (p *planner) attach(g *targetGroup) bool {
	const most = 5
	if slices.ContainsFunc(p.routes, func(r *route) bool { return has(r.now.Action, g.ref()) }) {
		return true
	}
	for _, r := range p.routes {
		if now := r.now.Action.Forward; now != nil && has(r.final.Action, g.ref()) && len(now.Groups) < most {
			to := r.now
			to.Action = attached(*now, g.ref())
			p.change(r, to)
			return true
		}
	}
	return false
}
