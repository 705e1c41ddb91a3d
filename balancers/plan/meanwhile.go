// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"maps"
	"slices"
	"strings"

	"github.com/targetgate/targetgate/balancers/plan/actions"
	"github.com/targetgate/targetgate/balancers/stack"
)

// beginRoutes finds what each rule and default action does first.
func beginRoutes(m *matcher, list []*listener) {
	room, need := m.options.room(list)
	interim{m, list, need > room}.find()
	m.noteUnnamed(list)
	for _, l := range list {
		l.route = &route{listener: l, final: stack.Rule{Action: l.wanted.Default}, meanwhile: l.meanwhile}
		l.route.now = m.groups.rule(l.route.final, stack.Rule{}, l.meanwhile)
		if l.seen != nil {
			l.route.now = stack.Rule{Action: l.seen.Default}
		}
		for _, at := range l.places {
			at.now = m.groups.rule(at.final, stack.Rule{}, at.meanwhile)
		}
	}
}

// noteUnnamed notes the target groups for which the quota has no room beside what is seen. Where nothing served before, all are named.
func (m *matcher) noteUnnamed(list []*listener) {
	named := actions.Named{}
	for _, l := range list {
		if l.seen != nil {
			named.AddAll(l.seen)
		}
	}
	all := maps.Clone(named)
	for _, l := range list {
		all.AddAll(&l.wanted)
		for _, at := range l.places {
			all.Add(at.final.Action)
		}
	}
	for _, g := range m.groups {
		g.unnamed = len(all) > m.options.TargetGroups && !named[actions.ID(g.ref())]
	}
}

// interim says who serves, until fresh target groups are healthy, the requests that they are to serve: what serves them now. A target
// group that is waited for by one route is not sent to by any.
type interim struct {
	*matcher
	listeners []*listener
	full      bool // the quota has no room for what is new beside what is seen
}

func (t interim) find() {
	for _, l := range t.listeners {
		if l.seen == nil {
			continue
		}
		if t.groups.areFresh(l.wanted.Default) {
			t.findDefault(l)
		}
		for i := range l.places {
			t.findAt(l, i)
		}
	}
}

// findDefault finds what the default action does meanwhile. It cannot do the same as a rule that changes requests, or that has users log in
// at a client whose secret nobody knows: such a rule stays meanwhile.
func (t interim) findDefault(l *listener) {
	now := l.answering(len(l.places), nil)
	copied := t.copied(l.wanted.Default, now)
	switch {
	case now.ARN == "":
		now.Action = l.seen.Default
	case now.Action.Forward == nil || len(now.Transforms) == 0 && copied.Action.Forward != nil:
		now = copied
	case t.full || !t.maySendOn(now.Action) || now.Priority >= firstLate:
		now = stack.Rule{}
	default:
		l.keepLast(now.ARN, l.wanted.Default)
		l.meanwhile = stack.Rule{Action: l.seen.Default}
		return
	}
	l.meanwhile = t.meanwhile(l.wanted.Default, now)
	t.noteAtOnce(l.wanted.Default, now.Action)
}

// findAt finds what the rule of a place does meanwhile, or that it is late: no single rule serves what it is to serve, and several may.
func (t interim) findAt(l *listener, i int) {
	at := l.places[i]
	if t.isBegunLate(at) {
		at.overtakes = t.overtaken(l, i)
	}
	if len(t.newServices(at.final.Action)) == 0 {
		return
	}
	now := t.copied(at.final.Action, l.answering(i, at.final.Conditions))
	switch {
	case at.isMatched():
		now = *at.seen
	case now.Action.Forward == nil || !t.maySendOn(now.Action):
		if at.overtakes = t.overtaken(l, i); at.isLate() {
			now = t.copied(at.final.Action, stack.Rule{Action: l.seen.Default})
		}
	}
	at.meanwhile = t.meanwhile(at.final.Action, now)
	t.noteAtOnce(at.final.Action, now.Action)
}

// copied is what another route, which is to do final, does as now does. It is nothing if that has users log in at a client whose secret
// nobody knows: what AWS has is never seen, and a rule or default action without it is refused. A new rule that would take its requests
// from such a default action alone does not wait: it sends to its target groups at once, when their targets are registered.
func (t interim) copied(final stack.Action, now stack.Rule) stack.Rule {
	action, isKnown := actions.WithSecret(now.Action, &t.wanted.LoadBalancers[0])
	if !isKnown && final.Auth == nil {
		return stack.Rule{}
	}
	now.Action = action
	return now
}

// newServices are the Services of the target groups to which an action sends and which have served nobody: they are fresh, or a pass that
// ended midway has them sent to before they have targets.
func (t interim) newServices(action stack.Action) []string {
	var list []string
	for _, ref := range actions.Receivers(action) {
		g := t.groups.of(ref.Part)
		if g != nil && g.ref() == ref && (g.fresh || g.seen != nil && g.before == nil && !t.hasTargets(g.seen)) {
			list = append(list, withoutPort(t.services.of(stack.Ref{Part: g.wanted.Part})))
		}
	}
	return list
}

// isAwaited reports whether a pass that ended midway has begun to wait for the health of a target group: a route has it with weight 0 that
// is to send to it, and sends to others than what serves in its place elsewhere. That may be as new if all that send to it are to go on.
func (m *matcher) isAwaited(g *targetGroup) bool {
	awaited, goesOn := false, true
	m.eachChange(func(now, final stack.Action) {
		if actions.SendsTo(now, seenGroup(g.before)) {
			goesOn = goesOn && actions.SendsTo(final, seenGroup(g.before))
			return
		}
		isToSend := !actions.SendsTo(now, g.ref()) && actions.SendsTo(final, g.ref())
		awaited = awaited || isToSend && actions.Names(now, g.ref()) && m.maySendOn(now)
	})
	return awaited && goesOn
}

// eachChange calls do with each action that is seen, and the one that is wanted for the same conditions, if any.
func (m *matcher) eachChange(do func(now, final stack.Action)) {
	for _, seen := range m.balancer.Listeners {
		var wanted stack.Listener
		if i := slices.IndexFunc(m.wanted.LoadBalancers[0].Listeners, func(l stack.Listener) bool { return l.Port == seen.Port }); i >= 0 {
			wanted = m.wanted.LoadBalancers[0].Listeners[i]
		}
		do(seen.Default, m.groups.resolved(wanted.Default))
		for _, rule := range seen.Rules {
			var final stack.Action
			same := func(r stack.Rule) bool {
				return actions.ConditionsKey(r.Conditions) == actions.ConditionsKey(rule.Conditions)
			}
			if i := slices.IndexFunc(wanted.Rules, same); i >= 0 {
				final = wanted.Rules[i].Action
			}
			do(rule.Action, m.groups.resolved(final))
		}
	}
}

// noteAtOnce notes which fresh target groups do not wait, when now answers the requests of final: not with an error of the load balancer's.
func (t interim) noteAtOnce(final, now stack.Action) {
	if now.Fixed != nil && !strings.HasPrefix(now.Fixed.Status, "2") {
		return
	}
	for _, g := range t.groups {
		g.atOnce = g.atOnce || g.fresh && g.meanwhile == (stack.Ref{}) && actions.SendsTo(final, g.ref())
	}
}

// meanwhile is what a route to final does while it waits, when now answers its requests. The fresh target groups in final learn of it.
func (t interim) meanwhile(final stack.Action, now stack.Rule) stack.Rule {
	switch action := now.Action; {
	case action.Fixed != nil || action.Redirect != nil:
		return now
	case action.Forward == nil || !t.maySendOn(action):
		return stack.Rule{}
	}
	for _, g := range t.groups {
		if g.fresh && g.meanwhile == (stack.Ref{}) && actions.SendsTo(final, g.ref()) {
			g.meanwhile = actions.Receivers(now.Action)[0]
		}
	}
	return now
}

// isBegunLate reports whether the rule of a place was late when an earlier pass created it.
func (t interim) isBegunLate(p *place) bool {
	return p.seen != nil && p.seen.Priority >= firstLate && t.groups.last(p.final.Action) != nil
}

// overtaken are the rules from which that of a place would take requests, or the default action when it would take them from that alone.
// None are when another place would answer meanwhile what it must not, and, of a rule that does not wait already, on a load balancer that
// replaces one and serves nobody yet. When the quota has no room, a rule that waits already is moved, too.
func (t interim) overtaken(l *listener, at int) []*stack.Rule {
	byDefault := &stack.Rule{Action: l.seen.Default, Priority: lowest + 1}
	list := slices.DeleteFunc(l.sorted(), func(rule *stack.Rule) bool { return !t.takesFrom(l, at, rule) })
	services := t.newServices(l.places[at].final.Action)
	isLost := func(rule *stack.Rule) bool { return t.isLost(l, at, rule, services) }
	isForwarded := byDefault.Action.Forward != nil
	switch {
	case t.full, !t.isUsed() && !t.isBegunLate(l.places[at]), l.leavesOpen(at, list), slices.ContainsFunc(append(list, byDefault), isLost):
		return nil
	case isForwarded && l.places[at].seen == nil && !t.maySendOn(byDefault.Action):
		return nil
	case isForwarded && len(list) == 0 && t.groups.areFresh(l.places[at].final.Action):
		return []*stack.Rule{byDefault}
	}
	return list
}

// takesFrom reports whether a rule stands before that of a place, forwards requests for which that holds, and is to stand behind it or
// to go.
func (t interim) takesFrom(l *listener, at int, rule *stack.Rule) bool {
	p, mustGo := l.places[at], rule.Action.Auth != nil && l.becomes("HTTP")
	if rule.Action.Forward == nil || mustGo || stack.Apart(rule.Conditions, p.final.Conditions) || taken(l.places[:at], rule) {
		return false
	}
	return (p.seen == nil || rule.Priority < p.seen.Priority) && (taken(l.places, rule) || t.isOwn(l, rule, p.final.Owner))
}

// isOwn reports whether a rule that is to go, and those before it that hold for some of its requests, are a member's own: what another one
// wants no more goes at once.
func (t interim) isOwn(l *listener, rule *stack.Rule, member string) bool {
	for _, other := range l.surplus {
		if !stack.Apart(other.Conditions, rule.Conditions) && !t.isOf(other.Action, member) {
			return false
		}
		if other == rule {
			break
		}
	}
	return true
}

// isOf reports whether an action forwards to target groups of one member alone.
func (v *view) isOf(action stack.Action, member string) bool {
	isOther := func(w stack.Weighted) bool {
		i := slices.IndexFunc(v.seen.TargetGroups, func(g stack.TargetGroup) bool { return g.ARN == w.Group.ID })
		return i < 0 || !MayBeOf(&v.seen.TargetGroups[i], member, v.seen.Bindings)
	}
	return action.Forward != nil && !slices.ContainsFunc(action.Forward.Groups, isOther)
}

// leavesOpen reports whether a rule that asks who its requests are from is not among those that serve until a late one does, which asks for
// the same requests: others could answer them meanwhile without asking.
func (l *listener) leavesOpen(late int, serving []*stack.Rule) bool {
	p := l.places[late]
	return p.final.Action.Auth != nil && slices.ContainsFunc(l.sorted(), func(rule *stack.Rule) bool {
		isBefore := p.seen == nil || rule.Priority < p.seen.Priority
		return isBefore && rule.Action.Auth != nil && !stack.Apart(rule.Conditions, p.final.Conditions) &&
			!taken(l.places[:late], rule) && !slices.Contains(serving, rule)
	})
}

// isLost reports whether a place behind a late one, which sends to new target groups of these Services, would take requests from a rule
// that are to get the same answer at any time, or none from a Service without asking who they are from.
func (t interim) isLost(l *listener, at int, rule *stack.Rule, services []string) bool {
	late := l.places[at].final
	isGuarded := rule.Action.Auth != nil && late.Action.Auth != nil
	isServed := slices.ContainsFunc(actions.Receivers(rule.Action), func(g stack.Ref) bool {
		return slices.Contains(services, withoutPort(t.services.of(g)))
	})
	return (isServed || isGuarded) && slices.ContainsFunc(l.behind(at, rule), func(p *place) bool {
		if p.seen != nil && p.seen.Priority < rule.Priority || stack.Apart(p.final.Conditions, late.Conditions) {
			return false
		}
		isOpen := p.final.Action.Forward != nil && p.final.Action.Auth == nil
		return isGuarded && isOpen || isServed && p.seen != rule
	})
}

// behind are the places behind one, up to that of a rule.
func (l *listener) behind(at int, rule *stack.Rule) []*place {
	others := l.places[at+1:]
	if i := slices.IndexFunc(others, func(p *place) bool { return p.seen == rule }); i >= 0 {
		return others[:i+1]
	}
	return others
}
