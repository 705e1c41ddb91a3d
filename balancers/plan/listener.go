// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

// listener is one that is wanted, or kept for a held member, or is to be deleted.
type listener struct {
	wanted stack.Listener  // its rules apart
	seen   *stack.Listener // nil when it is created
	gone   bool            // it is to be deleted
	route  *route          // of the default action
	rules  []*route        // of its rules
	moved  bool            // its rules are to be moved
	// meanwhile is what the default action does until target groups that have to wait can do what is final.
	meanwhile stack.Action
	arrangement
}

// becomes says whether the listener has another protocol than this one, and is to have this one.
func (l *listener) becomes(protocol string) bool {
	return l.seen.Protocol != protocol && l.wanted.Protocol == protocol
}

func (l *listener) ref() stack.Ref {
	if l.seen != nil {
		return listenerRef(l.seen)
	}
	return stack.Ref{Part: l.wanted.Part()}
}

func listenerRef(l *stack.Listener) stack.Ref { return stack.Ref{ID: l.ARN, Part: l.Part()} }

// sendsTo says whether the listener that is seen names a target group.
func (l *listener) sendsTo(group stack.Ref) bool {
	return has(l.seen.Default, group) || slices.ContainsFunc(l.seen.Rules, func(r stack.Rule) bool { return has(r.Action, group) })
}

// findListeners matches listeners by their ports, and their rules by content.
func (p *planner) findListeners() {
	for _, wanted := range p.wanted.LoadBalancers[0].Listeners {
		p.listen = append(p.listen, p.findListener(wanted))
	}
	if p.balancer == nil {
		return
	}
	for i := range p.balancer.Listeners {
		seen := &p.balancer.Listeners[i]
		if slices.ContainsFunc(p.listen, func(l *listener) bool { return l.wanted.Port == seen.Port }) {
			continue
		}
		l := p.listenerOf(p.keep(*seen), seen)
		forHeld := func(at *place) bool { return p.isForHeld(at.seen) }
		l.gone = !p.keepsPort(seen.Port) && p.heldOf(seen.Default) < 0 && !slices.ContainsFunc(l.places, forHeld)
		p.listen = append(p.listen, l)
	}
}

// beginRoutes finds what each rule and default action does first.
func (p *planner) beginRoutes() {
	p.findMeanwhile()
	for _, l := range p.listen {
		l.route = &route{listener: l, final: stack.Rule{Action: l.wanted.Default}, meanwhile: l.meanwhile}
		if l.seen != nil {
			l.route.now = stack.Rule{Action: l.seen.Default}
		} else {
			l.route.now = stack.Rule{Action: p.action(l.wanted.Default, stack.Action{}, l.meanwhile, nil)}
		}
		for _, at := range l.places {
			at.now = at.final
			at.now.Action = p.action(at.final.Action, stack.Action{}, at.meanwhile, nil)
		}
	}
}

func (p *planner) findListener(wanted stack.Listener) *listener {
	if p.balancer != nil {
		for i := range p.balancer.Listeners {
			if seen := &p.balancer.Listeners[i]; seen.Port == wanted.Port {
				return p.listenerOf(p.holdBack(wanted, seen), seen)
			}
		}
	}
	return p.listenerOf(wanted, nil)
}

func (p *planner) listenerOf(wanted stack.Listener, seen *stack.Listener) *listener {
	l := &listener{wanted: wanted, seen: seen}
	l.wanted.Default, l.wanted.Rules = p.resolved(wanted.Default), nil
	for _, rule := range wanted.Rules {
		rule.Action = p.resolved(rule.Action)
		l.places = append(l.places, &place{final: rule})
	}
	if seen != nil {
		p.findRules(l)
	}
	return l
}

// findRules matches the rules of a listener, and puts those of held members in their places.
func (p *planner) findRules(l *listener) {
	var held, free []*stack.Rule
	for _, rule := range slices.SortedFunc(slices.Values(l.seen.Rules), byPriority) {
		if p.isForHeld(&rule) {
			held = append(held, &rule)
		} else {
			free = append(free, &rule)
		}
	}
	match(l.places, free, p.service, p.sendsToFresh)
	p.placeHeld(l, held)
	for _, rule := range free {
		switch {
		case taken(l.places, rule):
		case p.isKept(l, rule):
			l.placeBehind(rule, append(slices.Clone(held), free...))
		default:
			l.surplus = append(l.surplus, rule)
		}
	}
}

func byPriority(a, b stack.Rule) int { return cmp.Compare(a.Priority, b.Priority) }

// changeListeners makes all listeners and their rules as they are wanted. What is new is made on all of them before anything is moved or
// deleted on one: a member may go from one to another, and AWS may refuse what it wants there. At the quota they are changed one by one,
// those that need room last. Requests for which a target group is to take over go where they went.
func (p *planner) changeListeners() {
	room, need := p.options.Rules, 0
	for _, l := range p.listen {
		if l.seen != nil {
			room -= len(l.seen.Rules)
		}
		if !l.gone {
			need += len(l.created())
		}
	}
	order := slices.SortedStableFunc(slices.Values(p.listen), func(a, b *listener) int { return cmp.Compare(a.growth(), b.growth()) })
	order = slices.DeleteFunc(order, func(l *listener) bool { return l.gone })
	oneByOne := need > room
	if oneByOne {
		room += p.deleteListeners()
	}
	for _, l := range order {
		l.fit(room, l.seen != nil && actionKey(l.seen.Default, p.service) == actionKey(l.wanted.Default, p.service))
		for _, rule := range l.left {
			p.overflow = append(p.overflow, Overflow{Port: l.wanted.Port, Rule: rule})
		}
		room -= l.growth()
		p.extendListener(l)
		if oneByOne {
			p.finishListener(l)
		}
	}
	for _, l := range order {
		if !oneByOne {
			p.finishListener(l)
		}
	}
	p.deleteListeners()
}

// deleteListeners returns how many rules are deleted with them. One to which a load balancer in front sends stays until that does no more.
func (p *planner) deleteListeners() int {
	n := 0
	for _, l := range p.listen {
		if l.gone && l.seen != nil && !p.isTarget(l.seen.Port) {
			p.do("no member listens on port "+strconv.Itoa(int(l.seen.Port)), steps.DeleteListener{Listener: l.ref()})
			n += len(l.seen.Rules)
			l.seen = nil
		}
	}
	return n
}

// extendListener makes what is new.
func (p *planner) extendListener(l *listener) {
	start := len(p.routes)
	p.routes = append(p.routes, l.route)
	if l.seen == nil {
		p.createListener(l)
		p.createRules(l, 0)
		return
	}
	if l.becomes("HTTPS") { // before it has rules that only HTTPS may have
		p.modifyListener(l)
	}
	p.addCertificates(l)
	p.addRules(l)
	l.rules = slices.Clone(p.routes[start+1:])
}

// finishListener moves, changes and deletes what there was.
func (p *planner) finishListener(l *listener) {
	if l.seen == nil {
		return
	}
	if l.moved {
		p.prioritise(l)
	}
	p.swap(l.rules, nil)
	if l.seen.Protocol == l.wanted.Protocol {
		p.modifyListener(l)
	}
	p.removeCertificates(l)
	p.deleteRules(l)
	if l.becomes("HTTP") {
		p.modifyListener(l)
	}
	if differ := differing(l.wanted.Attributes, l.wanted.Presets, l.seen.Attributes); len(differ) > 0 {
		p.do("attributes differ", steps.SetListenerAttributes{Listener: l.ref(), Attributes: differ})
	}
}

func (p *planner) createListener(l *listener) {
	why := "a member listens on port " + strconv.Itoa(int(l.wanted.Port))
	created := l.wanted
	created.Default = l.route.now.Action
	p.do(why, steps.CreateListener{LoadBalancer: p.to(), Listener: created})
	p.addCertificates(l)
	if len(created.Attributes) > 0 {
		p.do(why, steps.SetListenerAttributes{Listener: l.ref(), Attributes: created.Attributes})
	}
}

// modifyListener changes the default action as far as it can serve now, and the rest with it.
func (p *planner) modifyListener(l *listener) {
	seen, wanted := l.seen, l.wanted
	wanted.Default = p.action(l.route.final.Action, l.route.now.Action, l.meanwhile, nil)
	var why string
	switch {
	case seen.Protocol != wanted.Protocol:
		why = "its protocol differs"
	case wanted.Protocol == "HTTPS" && seen.SSLPolicy != wanted.SSLPolicy:
		why = "its SSL policy differs"
	case wanted.Protocol == "HTTPS" && first(seen.Certificates) != first(wanted.Certificates):
		why = "its default certificate differs"
	case differs(wanted.MutualAuth, seen.MutualAuth):
		why = "its mutual authentication differs"
	case actionKey(seen.Default, byID) != actionKey(wanted.Default, byID):
		why = "its default action differs"
	default:
		return
	}
	l.route.now.Action = wanted.Default
	p.do(why, steps.ModifyListener{Listener: l.ref(), To: wanted})
}

func first(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}

// addCertificates adds those for SNI: all, the default one too, as the load balancer does not choose it by the client's kinds of keys
// otherwise.
func (p *planner) addCertificates(l *listener) {
	if l.wanted.Protocol != "HTTPS" {
		return
	}
	for i, certificate := range l.wanted.Certificates {
		if l.seen == nil || !slices.Contains(l.seen.Certificates, certificate) {
			if !slices.Contains(l.wanted.Certificates[:i], certificate) {
				p.do("the listener does not have it", steps.AddCertificate{Listener: l.ref(), Certificate: certificate})
			}
		}
	}
}

func (p *planner) removeCertificates(l *listener) {
	if l.wanted.Protocol != "HTTPS" || l.seen.Protocol != "HTTPS" {
		return
	}
	for _, certificate := range l.seen.Certificates {
		if !slices.Contains(l.wanted.Certificates, certificate) {
			p.do("no member wants it", steps.RemoveCertificate{Listener: l.ref(), Certificate: certificate})
		}
	}
}
