// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"slices"

	"github.com/targetgate/targetgate/balancers/plan/actions"
	"github.com/targetgate/targetgate/balancers/stack"
)

// matcher pairs what is wanted with what is seen: target groups first, then listeners with their rules.
type matcher struct {
	*view
	groups targetGroups
}

// matchTargetGroups finds for each that is wanted the one that is seen, or the one that serves in its place until it is created and
// healthy: the former one of its name, or another of the same Service.
func (m *matcher) matchTargetGroups() {
	for _, wanted := range m.wanted.TargetGroups {
		m.groups = append(m.groups, m.matchTargetGroup(wanted))
	}
	for _, g := range m.groups {
		serves := g.seen != nil && m.isServing(g.seen.ARN)
		if !serves && actions.AnySendsTo(&m.wanted.LoadBalancers[0], stack.Ref{Part: g.wanted.Part}) {
			g.before = m.predecessor(g, m.isServing)
			if g.before != nil && m.isUsed() && m.isAwaited(g) {
				g.before = nil
			}
			g.fresh = g.before == nil && m.isUsed()
		}
		g.elsewhere = m.predecessor(g, m.isElsewhere)
	}
}

// matchTargetGroup takes one to which requests are sent rather than another, and then one that a binding has: somebody else may have made
// another with the same tags.
func (m *matcher) matchTargetGroup(wanted stack.TargetGroup) *targetGroup {
	g := &targetGroup{wanted: wanted, name: m.freeName(&wanted)}
	for i := range m.seen.TargetGroups {
		group := &m.seen.TargetGroups[i]
		if m.fits(group, &wanted) && (g.seen == nil || m.use(group) > m.use(g.seen)) {
			g.seen = group
		}
	}
	if g.seen != nil {
		g.name = g.seen.Name
	}
	return g
}

// use is how far a target group is in use: 2 if requests are sent to it, 1 if it only has targets, else 0.
func (m *matcher) use(group *stack.TargetGroup) int {
	switch {
	case m.isServing(group.ARN):
		return 2
	case m.hasTargets(group):
		return 1
	}
	return 0
}

// freeName is the name for one that is created: the wanted one, or the spare one when another has that. When both are taken, as two load
// balancers in front can have them, the spare one gets another last character.
func (m *matcher) freeName(wanted *stack.TargetGroup) string {
	isTaken := func(name string) bool {
		return slices.ContainsFunc(m.seen.TargetGroups, func(g stack.TargetGroup) bool { return g.Name == name })
	}
	if !isTaken(wanted.Name) {
		return wanted.Name
	}
	name := wanted.SpareName
	for i := 0; i < len(spareEndings) && isTaken(name); i++ {
		name = name[:len(name)-1] + spareEndings[i:i+1]
	}
	return name
}

// spareEndings are characters that names may end with.
const spareEndings = "0123456789abcdef"

// fits reports whether a target group that is seen is the wanted one, or can only be replaced.
func (m *matcher) fits(seen, wanted *stack.TargetGroup) bool {
	return seen.Part == wanted.Part && seen.TargetType == wanted.TargetType && seen.Protocol == wanted.Protocol &&
		seen.ProtocolVersion == wanted.ProtocolVersion && seen.ControlPort == wanted.ControlPort &&
		(seen.AddressType == wanted.AddressType || wanted.AddressType == "") &&
		!slices.ContainsFunc(seen.LoadBalancers, func(arn string) bool { return !m.isStaying(arn) }) &&
		(seen.Target == (stack.Ref{}) || m.hasTarget(seen, wanted))
}

// predecessor serves the same Service as g, if need be another port of it: pods that answer are better than none that are healthy. The
// former one of g's name comes before others, and the same port before others. Those of held members are left to them, as their rules are
// told by them. One that nothing registers targets of serves nobody: a pass that ended midway has made it, and rules that send to it.
func (m *matcher) predecessor(g *targetGroup, serves func(arn string) bool) *stack.TargetGroup {
	var found *stack.TargetGroup
	best := 0
	for i := range m.seen.TargetGroups {
		group := &m.seen.TargetGroups[i]
		if group == g.seen || m.held.has(group.ARN) || !serves(group.ARN) || !m.hasTargets(group) {
			continue
		}
		if likeness := m.likeness(group, g); likeness > best {
			found, best = group, likeness
		}
	}
	return found
}

// hasTargets reports whether a binding registers the targets of a target group, or a load balancer is its target.
func (m *matcher) hasTargets(group *stack.TargetGroup) bool {
	return group.Target.ID != "" || len(m.bound[group.ARN]) > 0
}

// likeness is 0 for a target group of another Service than that of g.
func (m *matcher) likeness(group *stack.TargetGroup, g *targetGroup) int {
	before, after := m.services.of(seenGroup(group)), m.services.of(stack.Ref{Part: g.wanted.Part})
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

// matchListeners matches listeners by their ports, and their rules by content.
func (m *matcher) matchListeners() []*listener {
	var all []stack.Listener
	if m.balancer != nil {
		all = m.balancer.Listeners
	}
	var list []*listener
	for _, wanted := range m.wanted.LoadBalancers[0].Listeners {
		var seen *stack.Listener
		if i := slices.IndexFunc(all, func(l stack.Listener) bool { return l.Port == wanted.Port }); i >= 0 {
			seen = &all[i]
		}
		list = append(list, m.matchListener(m.holdBack(wanted, seen), seen))
	}
	for i := range all {
		if slices.ContainsFunc(list, func(l *listener) bool { return l.wanted.Port == all[i].Port }) {
			continue
		}
		seen := &all[i]
		l := m.matchListener(m.keep(*seen), seen)
		forHeld := func(at *place) bool { return m.held.hasRule(at.seen) }
		l.gone = !m.held.keepsPort(seen.Port) && m.held.of(seen.Default) < 0 && !slices.ContainsFunc(l.places, forHeld)
		list = append(list, l)
	}
	return list
}

func (m *matcher) matchListener(wanted stack.Listener, seen *stack.Listener) *listener {
	l := &listener{wanted: wanted, seen: seen}
	l.wanted.Default, l.wanted.Rules = m.groups.resolved(wanted.Default), nil
	for _, rule := range wanted.Rules {
		rule.Action = m.groups.resolved(rule.Action)
		l.places = append(l.places, &place{final: rule})
	}
	if seen != nil {
		m.matchRules(l)
	}
	return l
}

// matchRules matches the rules of a listener, and puts those of held members in their places.
func (m *matcher) matchRules(l *listener) {
	var held, free []*stack.Rule
	for _, rule := range slices.SortedFunc(slices.Values(l.seen.Rules), byPriority) {
		if m.held.hasRule(&rule) {
			held = append(held, &rule)
		} else {
			free = append(free, &rule)
		}
	}
	match(l.places, free, m.services.of, m.groups.areFresh)
	m.held.place(l, held)
	for _, rule := range free {
		switch {
		case taken(l.places, rule):
		case m.isKept(l, rule):
			l.placeBehind(rule, append(slices.Clone(held), free...))
		default:
			l.surplus = append(l.surplus, rule)
		}
	}
}

func byPriority(a, b stack.Rule) int { return cmp.Compare(a.Priority, b.Priority) }

// differs reports whether something is wanted that is not seen, or not known.
func differs[T comparable](wanted, seen *T) bool {
	return wanted != nil && (seen == nil || *seen != *wanted)
}
