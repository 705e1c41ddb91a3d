// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/targetgate/targetgate/balancers/plan/actions"
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
	meanwhile stack.Rule
	// sni is the list for SNI that it is to have, has the one that it has at this point of the plan.
	sni, has []string
	arrangement
}

// becomes reports whether the listener has another protocol than this one, and is to have this one.
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

// names reports whether the listener that is seen names a target group.
func (l *listener) names(group stack.Ref) bool {
	return actions.Names(l.seen.Default, group) ||
		slices.ContainsFunc(l.seen.Rules, func(r stack.Rule) bool { return actions.Names(r.Action, group) })
}

// stillNames reports whether what is yet to be deleted of the listener that is seen names a target group.
func (l *listener) stillNames(group stack.Ref) bool {
	return l.gone && l.names(group) || slices.ContainsFunc(l.surplus, func(r *stack.Rule) bool { return actions.Names(r.Action, group) })
}

// listenerSteps are the steps to listeners, and to their rules by rules.
type listenerSteps struct {
	*view
	*draft
	list     []*listener
	rules    ruleSteps
	routes   *routes
	overflow []Overflow
	spared   bool // default certificates are added to lists for SNI last
}

// change makes all listeners and their rules as they are wanted. What is new is made on all of them before anything is moved or deleted
// on one: a member may go from one to another, and AWS may refuse what it wants there. At the quota they are changed one by one, those
// that need room last. Requests for which a target group is to take over go where they went.
func (s *listenerSteps) change() {
	room, need := s.options.room(s.list)
	s.options.fitCertificates(s.list)
	order := slices.SortedStableFunc(slices.Values(s.list), func(a, b *listener) int { return cmp.Compare(a.growth(), b.growth()) })
	order = slices.DeleteFunc(order, func(l *listener) bool { return l.gone })
	oneByOne := need > room
	if oneByOne {
		room += s.delete()
	}
	s.spareCertificate(order)
	for _, l := range order {
		l.fit(room, l.seen != nil && actions.Key(l.seen.Default, s.services.of) == actions.Key(l.wanted.Default, s.services.of))
		for _, rule := range l.left {
			s.overflow = append(s.overflow, Overflow{Port: l.wanted.Port, Rule: rule})
		}
		room -= l.growth()
		s.extend(l)
		if oneByOne {
			s.finish(l)
		}
	}
	for _, l := range order {
		if !oneByOne {
			s.finish(l)
		}
	}
	s.delete()
	s.spared = false
	for _, l := range order { // what had no room before
		s.addCertificates(l, len(l.sni))
	}
}

// room is for how many more rules the quota has room, and need how many are to be created.
func (o Options) room(list []*listener) (room, need int) {
	room = o.Rules
	for _, l := range list {
		if l.seen != nil {
			room -= len(l.seen.Rules)
		}
		if !l.gone {
			need += len(l.created())
		}
	}
	return room, need
}

// delete returns how many rules are deleted with them. One to which a load balancer in front sends stays until that does no more.
func (s *listenerSteps) delete() int {
	n := 0
	for _, l := range s.list {
		if l.gone && l.seen != nil && !s.isTarget(l.seen.Port) {
			s.do("no member listens on port "+strconv.Itoa(int(l.seen.Port)), steps.DeleteListener{Listener: l.ref()})
			n += len(l.seen.Rules)
			l.seen, l.has = nil, nil
		}
	}
	return n
}

// extend makes what is new.
func (s *listenerSteps) extend(l *listener) {
	if l.seen == nil {
		s.create(l)
		s.rules.create(l, 0)
	} else {
		if l.becomes("HTTPS") { // before it has rules that only HTTPS may have
			s.modify(l)
		}
		s.addCertificates(l, s.certificateRoom())
		s.rules.add(l)
	}
	l.rules = l.routes()
	s.routes.list = append(append(s.routes.list, l.route), l.rules...)
}

// finish moves, changes and deletes what there was.
func (s *listenerSteps) finish(l *listener) {
	if l.seen == nil {
		return
	}
	if l.moved {
		s.rules.prioritise(l)
	}
	s.routes.swap(l.rules, nil)
	if l.seen.Protocol == l.wanted.Protocol {
		s.modify(l)
	}
	s.removeCertificates(l)
	s.rules.delete(l)
	if l.becomes("HTTP") {
		s.modify(l)
		l.has = nil
	}
	if differ := differing(l.wanted.Attributes, l.wanted.Presets, l.seen.Attributes); len(differ) > 0 {
		s.do("attributes differ", steps.SetListenerAttributes{Listener: l.ref(), Attributes: differ})
	}
}

func (s *listenerSteps) create(l *listener) {
	why := "a member listens on port " + strconv.Itoa(int(l.wanted.Port))
	created := l.wanted
	created.Default = l.route.now.Action
	s.do(why, steps.CreateListener{LoadBalancer: s.to(), Listener: created})
	s.addCertificates(l, s.certificateRoom())
	if len(created.Attributes) > 0 {
		s.do(why, steps.SetListenerAttributes{Listener: l.ref(), Attributes: created.Attributes})
	}
}

// modify changes the default action as far as it can serve now, and the rest with it.
func (s *listenerSteps) modify(l *listener) {
	seen, wanted := l.seen, l.wanted
	wanted.Default = s.routes.groups.rule(l.route.final, l.route.now, l.meanwhile).Action
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
	case !actions.Same(wanted.Default, seen.Default):
		why = "its default action differs"
	default:
		return
	}
	l.route.now.Action = wanted.Default
	s.do(why, steps.ModifyListener{Listener: l.ref(), To: wanted})
}

func first(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}

// fitCertificates says which certificates listeners are to have for SNI: all, and the default one too as far as the quota has room, as the
// load balancer does not choose it by the client's kinds of keys otherwise.
func (o Options) fitCertificates(list []*listener) {
	room := o.Certificates
	for _, l := range list {
		if l.seen != nil {
			l.has = slices.Clone(l.seen.SNI())
		}
		if !l.gone && l.wanted.Protocol == "HTTPS" {
			l.sni = l.wanted.Additional()
			room -= len(l.sni)
		}
	}
	for _, l := range list {
		if !l.gone && l.wanted.Protocol == "HTTPS" && len(l.wanted.Certificates) > 0 && room > 0 {
			l.sni = append(l.sni, l.wanted.Certificates[0])
			room--
		}
	}
}

// certificateRoom is for how many more certificates the quota has room at this point of the plan.
func (s *listenerSteps) certificateRoom() int {
	room := s.options.Certificates
	for _, l := range s.list {
		room -= len(l.has)
	}
	return room
}

// addCertificates adds the first of those that are missing, as far as there is room.
func (s *listenerSteps) addCertificates(l *listener, room int) {
	for _, certificate := range l.sni {
		isLast := s.spared && certificate == first(l.wanted.Certificates)
		if room > 0 && !isLast && !slices.Contains(l.has, certificate) {
			s.do("the listener does not have it", steps.AddCertificate{Listener: l.ref(), Certificate: certificate})
			l.has = append(l.has, certificate)
			room--
		}
	}
}

// spareCertificate makes room for one, if certificates are missing and there is none, so that none that serves has to go first: it takes a
// default one, which stays that, from the list for SNI.
func (s *listenerSteps) spareCertificate(order []*listener) {
	isMissing := func(l *listener) bool {
		return slices.ContainsFunc(l.sni, func(certificate string) bool { return !slices.Contains(l.has, certificate) })
	}
	if s.certificateRoom() > 0 || !slices.ContainsFunc(order, isMissing) {
		return
	}
	for _, l := range order {
		if l.seen != nil && slices.Contains(l.has, first(l.wanted.Certificates)) && first(l.seen.Certificates) == first(l.wanted.Certificates) {
			s.removeCertificate(l, first(l.wanted.Certificates))
			s.spared = true
			return
		}
	}
}

// removeCertificates removes the others. Each of them makes room for one that had none.
func (s *listenerSteps) removeCertificates(l *listener) {
	if l.wanted.Protocol != "HTTPS" || l.seen.Protocol != "HTTPS" {
		return
	}
	for _, certificate := range slices.Clone(l.has) {
		if !slices.Contains(l.sni, certificate) {
			s.removeCertificate(l, certificate)
			s.addCertificates(l, s.certificateRoom())
		}
	}
}

func (s *listenerSteps) removeCertificate(l *listener, certificate string) {
	why := "no member wants it"
	if certificate == first(l.wanted.Certificates) {
		why = "it stays the default one, and others need its room in the list for SNI"
	}
	s.do(why, steps.RemoveCertificate{Listener: l.ref(), Certificate: certificate})
	l.has = slices.DeleteFunc(l.has, func(other string) bool { return other == certificate })
}

// isTarget reports whether a load balancer in front sends to a port of this one.
func (s *listenerSteps) isTarget(port int32) bool {
	return s.seen.Front != nil && slices.ContainsFunc(s.seen.Front.TargetGroups, func(g stack.TargetGroup) bool {
		return s.balancer != nil && g.Target.ID == s.balancer.ARN && g.TargetPort == port && !s.deleted[g.ARN]
	})
}
