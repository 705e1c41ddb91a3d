// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"
	"strings"

	"github.com/targetgate/targetgate/balancers/stack"
)

// unavailable is what a load balancer answers without a healthy target.
var unavailable = stack.Action{Fixed: &stack.FixedResponse{Status: "503", ContentType: "text/plain"}}

// sendsToFresh says whether an action sends to a target group to which nothing was sent.
func (p *planner) sendsToFresh(action stack.Action) bool {
	return slices.ContainsFunc(p.groups, func(g *targetGroup) bool { return g.fresh && weightOf(action, byID(g.ref())) > 0 })
}

// findMeanwhile finds who serves, until fresh target groups are healthy, the requests that they are to serve: what serves them now. A
// target group that is waited for by one route is not sent to by any.
func (p *planner) findMeanwhile() {
	p.awaitAgain()
	for _, l := range p.listen {
		if l.seen == nil {
			continue
		}
		if p.sendsToFresh(l.wanted.Default) {
			now := l.answering(len(l.places), nil)
			if now == (stack.Action{}) {
				now = l.seen.Default
			}
			l.meanwhile = p.meanwhile(l.wanted.Default, now)
			p.noteAtOnce(l.wanted.Default, now)
		}
		for i, at := range l.places {
			if !p.sendsToFresh(at.final.Action) {
				continue
			}
			now := l.answering(i, at.final.Conditions)
			if at.isMatched() {
				now = at.seen.Action
			}
			at.meanwhile = p.meanwhile(at.final.Action, now)
			p.noteAtOnce(at.final.Action, now)
		}
	}
}

// awaitAgain has target groups be waited for as a pass has begun to that ended midway.
func (p *planner) awaitAgain() {
	for _, g := range p.groups {
		if g.before != nil && len(p.old) == 0 && p.isAwaited(g) {
			g.before, g.fresh = nil, true
		}
	}
}

// isAwaited says whether a pass that ended midway has begun to wait for the health of a target group: a route to it has it with weight 0,
// and sends to others than what serves in its place elsewhere, which may be as new.
func (p *planner) isAwaited(g *targetGroup) bool {
	awaits := func(final, now stack.Action) bool {
		return weightOf(final, byID(g.ref())) > 0 && has(now, g.ref()) && weightOf(now, byID(g.ref())) == 0 &&
			weightOf(now, g.before.ARN) == 0 && p.maySendOn(now)
	}
	return slices.ContainsFunc(p.listen, func(l *listener) bool {
		return l.seen != nil && (awaits(l.wanted.Default, l.seen.Default) || slices.ContainsFunc(l.places, func(at *place) bool {
			return at.isMatched() && awaits(at.final.Action, at.seen.Action)
		}))
	})
}

// noteAtOnce notes which fresh target groups do not wait, when now answers the requests of final: not with an error of the load balancer's.
func (p *planner) noteAtOnce(final, now stack.Action) {
	if now.Fixed != nil && !strings.HasPrefix(now.Fixed.Status, "2") {
		return
	}
	for _, g := range p.groups {
		g.atOnce = g.atOnce || g.fresh && g.meanwhile == (stack.Ref{}) && weightOf(final, byID(g.ref())) > 0
	}
}

// meanwhile is what a route to final does while it waits, when now answers its requests. The fresh target groups in final learn of it.
func (p *planner) meanwhile(final, now stack.Action) stack.Action {
	switch {
	case now.Fixed != nil || now.Redirect != nil:
		return now
	case now.Forward == nil || !p.maySendOn(now):
		return stack.Action{}
	}
	for _, g := range p.groups {
		if g.fresh && g.meanwhile == (stack.Ref{}) && weightOf(final, byID(g.ref())) > 0 {
			i := slices.IndexFunc(now.Forward.Groups, func(w stack.Weighted) bool { return weightOf(now, byID(w.Group)) > 0 })
			g.meanwhile = now.Forward.Groups[i].Group
		}
	}
	return now
}

// maySendOn says whether others than its owner may use the action for a while: it sends requests to target groups of good members alone.
func (p *planner) maySendOn(action stack.Action) bool {
	sent := false
	for _, w := range action.Forward.Groups {
		i := slices.IndexFunc(p.seen.TargetGroups, func(g stack.TargetGroup) bool { return g.ARN == w.Group.ID })
		if i < 0 || p.isHeld(w.Group.ID) || !p.isOfMember(&p.seen.TargetGroups[i]) {
			return false
		}
		sent = sent || weightOf(action, byID(w.Group)) > 0
	}
	return sent
}

// isOfMember says whether a target group is one of a member's that has not left.
func (p *planner) isOfMember(group *stack.TargetGroup) bool {
	return slices.ContainsFunc(p.wanted.Members, func(m stack.Member) bool { return strings.HasPrefix(group.Part, m.Name+"-") })
}

// coming are the target groups to which final sends, and which have to wait.
func (p *planner) coming(final stack.Action, done []*targetGroup) []stack.Ref {
	var list []stack.Ref
	for _, g := range p.groups {
		if g.meanwhile != (stack.Ref{}) && weightOf(final, byID(g.ref())) > 0 && !slices.Contains(done, g) {
			list = append(list, g.ref())
		}
	}
	return list
}

// attachedTo is what a route does while it waits for target groups: the load balancer gets to know them, and it is seen whose the rule is.
func attachedTo(meanwhile stack.Action, coming []stack.Ref) stack.Action {
	if meanwhile.Forward == nil {
		if meanwhile.Fixed != nil || meanwhile.Redirect != nil {
			return meanwhile
		}
		return unavailable
	}
	coming = slices.DeleteFunc(coming, func(g stack.Ref) bool { return has(meanwhile, g) })
	return attached(meanwhile, coming[:max(0, min(len(coming), mostGroups-len(meanwhile.Forward.Groups)))]...)
}

// servingKey is equal for actions that send the same requests to the same target groups, whoever may pass.
func servingKey(action stack.Action) string {
	if action.Forward == nil {
		return answerKey(action, byID)
	}
	forward := stack.Forward{Sticky: action.Forward.Sticky}
	for _, w := range action.Forward.Groups {
		if weightOf(action, byID(w.Group)) > 0 {
			forward.Groups = append(forward.Groups, w)
		}
	}
	return forwardKey(forward, byID)
}

// answering is the action that now answers all requests that the rule in a place is to answer, none if several may. What is wanted in a
// place before it leaves it no request.
func (l *listener) answering(at int, conditions []stack.Condition) stack.Action {
	for _, rule := range slices.SortedFunc(slices.Values(l.seen.Rules), byPriority) {
		isBefore := func(p *place) bool { return p.isMatched() && p.seen.ARN == rule.ARN }
		switch {
		case slices.ContainsFunc(l.places[:at], isBefore):
		case stack.Covers(rule.Conditions, conditions):
			return rule.Action
		case !stack.Apart(rule.Conditions, conditions):
			return stack.Action{}
		}
	}
	return l.seen.Default
}
