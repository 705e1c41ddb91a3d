// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"slices"
	"strings"
	"time"
)

// ListenerSpec asks for a listener that forwards all it gets to one target group.
type ListenerSpec struct {
	LoadBalancer string
	Protocol     string
	Port         int
	Group        string
}

// Listener is where a load balancer takes traffic in. Its target group is in use as long as it exists.
type Listener struct {
	ListenerSpec
	ARN string
}

// CreateListener attaches a target group to a load balancer; its targets then begin to be registered. Protocols are
// HTTP for an ALB, TCP (and UDP, TCP_UDP without any traffic) for an NLB: there are no certificates here.
func (m *Machine) CreateListener(spec ListenerSpec) (Listener, error) {
	now := m.enter()
	defer m.leave()
	b, ok := m.balancers[spec.LoadBalancer]
	if !ok {
		return Listener{}, loadBalancerNotFound()
	}
	g, err := m.group(spec.Group)
	if err != nil {
		return Listener{}, err
	}
	if err := first(m.validateListener(b, g, spec), m.attachable(b, g)); err != nil {
		return Listener{}, err
	}
	l := &Listener{ListenerSpec: spec, ARN: strings.Replace(b.ARN, ":loadbalancer/", ":listener/", 1) + "/" + m.id()}
	m.listeners = append(m.listeners, l)
	if g.balancer == nil {
		g.balancer = b
		m.reconsider(g, now)
	}
	m.nudge()
	return *l, nil
}

func (m *Machine) validateListener(b *balancer, g *group, spec ListenerSpec) error {
	taken := func(l *Listener) bool { return l.LoadBalancer == b.ARN && l.Port == spec.Port }
	if slices.ContainsFunc(m.listeners, taken) {
		return Refuse("DuplicateListener", "A listener already exists on this port for this load balancer '%s'", b.ARN)
	}
	protocols := []string{ProtocolHTTP}
	if b.Type == Network {
		protocols = []string{ProtocolTCP, "UDP", "TCP_UDP"}
	}
	if !slices.Contains(protocols, spec.Protocol) {
		return Refuse("UnsupportedProtocol", "Protocol '%s' is not supported for listeners of this load balancer; use %s",
			spec.Protocol, strings.Join(protocols, ", "))
	}
	if g.network() != (b.Type == Network) {
		return Refuse("IncompatibleProtocols", "The protocol '%s' of target group '%s' is not compatible with the load balancer",
			g.Protocol, g.ARN)
	}
	if g.VPC != "" && g.VPC != b.VPC {
		return Refuse("InvalidConfigurationRequest", "The target group '%s' is in a different VPC '%s'", g.ARN, g.VPC)
	}
	return bounds{"port", spec.Port, 1, 65535}.check()
}

// attachable checks the quotas of a load balancer that would get the group.
func (m *Machine) attachable(b *balancer, g *group) error {
	switch {
	case g.balancer == b:
		return nil
	case g.balancer != nil:
		return Refuse("TargetGroupAssociationLimit",
			"The following target groups cannot be associated with more than one load balancer: %s", g.ARN)
	}
	groups := m.groupsOf(b)
	if b.Type == Application && len(groups) >= m.opts.Quotas.GroupsPerALB {
		return Refuse("TooManyUniqueTargetGroupsPerLoadBalancer",
			"The maximum number of target groups has been reached on load balancer '%s'", b.ARN)
	}
	var all []*target
	for _, other := range append(groups, g) {
		all = append(all, other.registered()...)
	}
	return first(m.registrationQuota(b, g, g.registered(), all), m.balancerQuota(b, all))
}

func (m *Machine) groupsOf(b *balancer) []*group {
	var groups []*group
	for _, g := range m.order {
		if g.balancer == b {
			groups = append(groups, g)
		}
	}
	return groups
}

// Listeners lists listeners in order of creation: those with one of the ARNs, else those of a load balancer, else all.
func (m *Machine) Listeners(loadBalancer string, arns ...string) ([]Listener, error) {
	m.enter()
	defer m.leave()
	if loadBalancer != "" && m.balancers[loadBalancer] == nil {
		return nil, loadBalancerNotFound()
	}
	var found []Listener
	for _, l := range m.listeners {
		if (loadBalancer == "" || l.LoadBalancer == loadBalancer) && (len(arns) == 0 || slices.Contains(arns, l.ARN)) {
			found = append(found, *l)
		}
	}
	if len(found) < len(arns) {
		return nil, listenerNotFound()
	}
	return found, nil
}

// DeleteListener removes a listener. A group that no listener is left for is detached: its targets are unused.
func (m *Machine) DeleteListener(arn string) error {
	now := m.enter()
	defer m.leave()
	i := slices.IndexFunc(m.listeners, func(l *Listener) bool { return l.ARN == arn })
	if i < 0 {
		return listenerNotFound()
	}
	m.removeListener(m.listeners[i], now)
	return nil
}

func (m *Machine) removeListener(l *Listener, now time.Time) {
	m.listeners = slices.DeleteFunc(m.listeners, func(other *Listener) bool { return other == l })
	m.nudge()
	g := m.groups[l.Group]
	if slices.ContainsFunc(m.listeners, func(other *Listener) bool { return other.Group == l.Group }) {
		return
	}
	g.balancer = nil
	m.reconsider(g, now)
}
