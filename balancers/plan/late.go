// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"
	"strings"

	"github.com/targetgate/targetgate/balancers/plan/actions"
	"github.com/targetgate/targetgate/balancers/stack"
)

// isBegunLate says whether the rule of a place was late when an earlier pass created it.
func (t interim) isBegunLate(p *place) bool {
	return p.seen != nil && p.seen.Priority >= firstLate && t.groups.last(p.final.Action) != nil
}

// overtaken are the rules from which that of a place would take requests, or the default action when it would take them from that alone.
// None are when another place would answer meanwhile what it must not. When the quota has no room, a rule that waits already is moved, too.
func (t interim) overtaken(l *listener, at int) []*stack.Rule {
	byDefault := &stack.Rule{Action: l.seen.Default, Priority: lowest + 1}
	list := slices.DeleteFunc(l.sorted(), func(rule *stack.Rule) bool { return !t.takesFrom(l, at, rule) })
	services := t.newServices(l.places[at].final.Action)
	isLost := func(rule *stack.Rule) bool { return t.isLost(l, at, rule, services) }
	isForwarded := byDefault.Action.Forward != nil
	switch {
	case t.full, l.leavesOpen(at, list), slices.ContainsFunc(append(list, byDefault), isLost):
		return nil
	case isForwarded && l.places[at].seen == nil && !t.maySendOn(byDefault.Action):
		return nil
	case isForwarded && len(list) == 0 && t.groups.areFresh(l.places[at].final.Action):
		return []*stack.Rule{byDefault}
	}
	return list
}

// takesFrom says whether a rule stands before that of a place, forwards requests for which that holds, and is to stand behind it, or to go.
func (t interim) takesFrom(l *listener, at int, rule *stack.Rule) bool {
	p, mustGo := l.places[at], rule.Action.Auth != nil && l.becomes("HTTP")
	if rule.Action.Forward == nil || mustGo || stack.Apart(rule.Conditions, p.final.Conditions) || taken(l.places[:at], rule) {
		return false
	}
	return (p.seen == nil || rule.Priority < p.seen.Priority) && (taken(l.places, rule) || t.isOwn(l, rule, p.final.Owner))
}

// isOwn says whether a rule that is to go, and those before it that hold for some of its requests, are a member's own: what another one
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

// isOf says whether an action forwards to target groups of one member alone.
func (v *view) isOf(action stack.Action, member string) bool {
	isOther := func(w stack.Weighted) bool { return !strings.HasPrefix(v.seenRef(w.Group).Part, member+"-") }
	return action.Forward != nil && !slices.ContainsFunc(action.Forward.Groups, isOther)
}

// leavesOpen says whether a rule that asks who its requests are from is not among those that serve until a late one does, which asks for
// the same requests: others could answer them meanwhile without asking.
func (l *listener) leavesOpen(late int, serving []*stack.Rule) bool {
	p := l.places[late]
	return p.final.Action.Auth != nil && slices.ContainsFunc(l.sorted(), func(rule *stack.Rule) bool {
		isBefore := p.seen == nil || rule.Priority < p.seen.Priority
		return isBefore && rule.Action.Auth != nil && !stack.Apart(rule.Conditions, p.final.Conditions) &&
			!taken(l.places[:late], rule) && !slices.Contains(serving, rule)
	})
}

// isLost says whether a place behind a late one, which sends to new target groups of these Services, would take requests from a rule that
// are to get the same answer at any time, or none from a Service without asking who they are from.
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
