// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"slices"

	"github.com/targetgate/targetgate/e2e/emulator/routing"
)

// matches reports whether all conditions of a rule hold; a default rule has none.
func (r ListenerRule) matches(q routing.Request) bool {
	return !slices.ContainsFunc(r.Conditions, func(c routing.Condition) bool { return !c.Holds(q) })
}

// Decision is the rule in force that a listener follows for a request.
type Decision struct {
	ListenerRule
	// Routes are what Route returned at that moment, by target group of the rule.
	Routes map[string][]Target
}

// Decide finds the rule in force that a listener follows for a request: the first that matches, or its default rule. An unknown listener is
// false. When the rule changes, its groups may lose their routes, but not for this request.
func (m *Machine) Decide(listenerARN string, q routing.Request) (Decision, bool) {
	m.enter()
	defer m.leave()
	l := m.listener(listenerARN)
	if l == nil {
		return Decision{}, false
	}
	for _, r := range l.force {
		if r.matches(q) {
			return Decision{r, m.routesOf(r)}, true
		}
	}
	return Decision{}, false // not reached: the default rule is the last
}

func (m *Machine) routesOf(r ListenerRule) map[string][]Target {
	routes := map[string][]Target{}
	for _, arn := range r.Action.TargetGroups() {
		if g, ok := m.groups[arn]; ok {
			routes[arn] = g.routes
		}
	}
	return routes
}
