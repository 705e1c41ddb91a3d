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

// beginRoutes finds what each rule and default action does first.
func beginRoutes(v *view, groups targetGroups, list []*listener) {
	interim{v, groups, list}.find()
	for _, l := range list {
		now := groups.action(l.wanted.Default, stack.Action{}, l.meanwhile)
		if l.seen != nil {
			now = l.seen.Default
		}
		l.route = &route{listener: l, final: stack.Rule{Action: l.wanted.Default}, now: stack.Rule{Action: now}, meanwhile: l.meanwhile}
		for _, at := range l.places {
			at.now = at.final
			at.now.Action = groups.action(at.final.Action, stack.Action{}, at.meanwhile)
		}
	}
}

// interim says who serves, until fresh target groups are healthy, the requests that they are to serve: what serves them now. A target
// group that is waited for by one route is not sent to by any.
type interim struct {
	*view
	groups    targetGroups
	listeners []*listener
}

func (t interim) find() {
	t.awaitAgain()
	for _, l := range t.listeners {
		if l.seen == nil {
			continue
		}
		if t.groups.areFresh(l.wanted.Default) {
			now := l.answering(len(l.places), nil)
			if now == (stack.Action{}) {
				now = l.seen.Default
			}
			l.meanwhile = t.meanwhile(l.wanted.Default, now)
			t.noteAtOnce(l.wanted.Default, now)
		}
		for i, at := range l.places {
			if !t.groups.areFresh(at.final.Action) {
				continue
			}
			now := l.answering(i, at.final.Conditions)
			if at.isMatched() {
				now = at.seen.Action
			}
			at.meanwhile = t.meanwhile(at.final.Action, now)
			t.noteAtOnce(at.final.Action, now)
		}
	}
}

// awaitAgain has target groups be waited for as a pass has begun to that ended midway.
func (t interim) awaitAgain() {
	for _, g := range t.groups {
		if g.before != nil && len(t.old) == 0 && t.isAwaited(g) {
			g.before, g.fresh = nil, true
		}
	}
}

// isAwaited says whether a pass that ended midway has begun to wait for the health of a target group: a route to it has it with weight 0,
// and sends to others than what serves in its place elsewhere, which may be as new.
func (t interim) isAwaited(g *targetGroup) bool {
	awaits := func(final, now stack.Action) bool {
		return weightOf(final, byID(g.ref())) > 0 && has(now, g.ref()) && weightOf(now, byID(g.ref())) == 0 &&
			weightOf(now, g.before.ARN) == 0 && t.maySendOn(now)
	}
	return slices.ContainsFunc(t.listeners, func(l *listener) bool {
		return l.seen != nil && (awaits(l.wanted.Default, l.seen.Default) || slices.ContainsFunc(l.places, func(at *place) bool {
			return at.isMatched() && awaits(at.final.Action, at.seen.Action)
		}))
	})
}

// noteAtOnce notes which fresh target groups do not wait, when now answers the requests of final: not with an error of the load balancer's.
func (t interim) noteAtOnce(final, now stack.Action) {
	if now.Fixed != nil && !strings.HasPrefix(now.Fixed.Status, "2") {
		return
	}
	for _, g := range t.groups {
		g.atOnce = g.atOnce || g.fresh && g.meanwhile == (stack.Ref{}) && weightOf(final, byID(g.ref())) > 0
	}
}

// meanwhile is what a route to final does while it waits, when now answers its requests. The fresh target groups in final learn of it.
func (t interim) meanwhile(final, now stack.Action) stack.Action {
	switch {
	case now.Fixed != nil || now.Redirect != nil:
		return now
	case now.Forward == nil || !t.maySendOn(now):
		return stack.Action{}
	}
	for _, g := range t.groups {
		if g.fresh && g.meanwhile == (stack.Ref{}) && weightOf(final, byID(g.ref())) > 0 {
			i := slices.IndexFunc(now.Forward.Groups, func(w stack.Weighted) bool { return weightOf(now, byID(w.Group)) > 0 })
			g.meanwhile = now.Forward.Groups[i].Group
		}
	}
	return now
}

// maySendOn says whether others than its owner may use the action for a while: it sends requests to target groups of good members alone.
func (t interim) maySendOn(action stack.Action) bool {
	sent := false
	for _, w := range action.Forward.Groups {
		i := slices.IndexFunc(t.seen.TargetGroups, func(g stack.TargetGroup) bool { return g.ARN == w.Group.ID })
		if i < 0 || t.held.has(w.Group.ID) || !t.isOfMember(&t.seen.TargetGroups[i]) {
			return false
		}
		sent = sent || weightOf(action, byID(w.Group)) > 0
	}
	return sent
}

// isOfMember says whether a target group is one of a member's that has not left.
func (t interim) isOfMember(group *stack.TargetGroup) bool {
	return slices.ContainsFunc(t.wanted.Members, func(m stack.Member) bool { return strings.HasPrefix(group.Part, m.Name+"-") })
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
