// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"slices"

	"github.com/targetgate/targetgate/e2e/emulator/refusal"
)

// resolveALB checks an Application Load Balancer that is to be a target: it needs a listener on the target's port, active or not.
func (m *Machine) resolveALB(g *group, t Target) (Target, error) {
	b, ok := m.balancers[t.ID]
	switch {
	case t.Zone != "":
		return t, refusal.Invalid("An Availability Zone cannot be specified for targets of target groups with target type 'alb'")
	case !ok || b.Type != Application || b.VPC != g.VPC || b.Account != g.account:
		return t, refusal.New("InvalidTarget", "The load balancer '%s' is not found in VPC '%s' or is no Application Load Balancer", t.ID, g.VPC)
	case !slices.ContainsFunc(m.listenersOf(b), func(l *listener) bool { return l.Port == t.Port }):
		return t, refusal.Invalid("If the target type is ALB, the target must have at least one listener " +
			"that matches the target group port or any specified port overrides")
	}
	t.Address = t.ID
	return t, nil
}

// releasable refuses to take a port from a load balancer that is a registered target there.
func (m *Machine) releasable(l *listener) error {
	key := Key{ID: l.LoadBalancer, Port: l.Port}
	for _, g := range m.order {
		if t, ok := g.targets[key]; ok && g.TargetType == TypeALB && !t.draining() {
			return refusal.New("ResourceInUse",
				"Listener port '%d' is in use by registered target '%s' and cannot be removed", l.Port, l.LoadBalancer)
		}
	}
	return nil
}
