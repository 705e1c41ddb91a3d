// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import "time"

// Route returns the targets that get new requests or connections now, in order of registration: the healthy ones, and
// when there is none, all that the load balancer knows. A target deregistered a short time ago is still among them. The
// slice must not be written to. An unknown group has none.
func (m *Machine) Route(groupARN string) []Target {
	m.enter()
	defer m.leave()
	if g, ok := m.groups[groupARN]; ok {
		return g.routes
	}
	return nil
}

// reroute works the routes out anew and writes down what started and stopped.
func (m *Machine) reroute(g *group, at time.Time) {
	open := g.eligible()
	var routes []Target
	for _, t := range g.members {
		routed := open(t)
		if routed {
			routes = append(routes, t.Target)
		}
		if routed == t.routed {
			continue
		}
		t.routed = routed
		kind := RoutingStopped
		if routed {
			kind = RoutingStarted
		}
		m.journal.Append(Event{Time: at, Kind: kind, Group: g.ARN, Target: t.Target})
	}
	g.routes = routes
}

// eligible says which targets get traffic. Targets whose deregistration the load balancer has not taken in yet count as
// they did before, so one healthy draining target keeps the group from failing open.
func (g *group) eligible() func(*target) bool {
	if g.balancer == nil {
		return func(*target) bool { return false }
	}
	for _, t := range g.members {
		if t.view == fit {
			return func(t *target) bool { return t.view == fit }
		}
	}
	return func(t *target) bool { return t.view != unseen }
}
