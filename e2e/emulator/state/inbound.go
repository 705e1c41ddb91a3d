// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"net/netip"
	"slices"
)

// Inbound is what security groups know of the way from a load balancer to a target, now and without any lag.
type Inbound struct {
	// Enforced says that the target's interface is known and has security groups, or that the target is a load balancer that has some.
	// Otherwise everything gets in.
	Enforced bool
	// Rules are those of all security groups of the interface; those from a prefix list are there once for each entry.
	Rules []Rule
	// Groups are the security groups of the load balancer, Addresses those of its nodes in the target's family.
	Groups    []string
	Addresses []netip.Addr
}

// Inbound tells of the way to a target from the load balancer of a target group. An instance is reached at its primary
// interface.
func (m *Machine) Inbound(groupARN string, t Target) Inbound {
	m.enter()
	defer m.leave()
	g := m.groups[groupARN]
	if g == nil || g.balancer == nil {
		return Inbound{}
	}
	groups := m.guarding(g, t)
	if len(groups) == 0 {
		return Inbound{}
	}
	in := Inbound{Enforced: true, Groups: g.balancer.SecurityGroups}
	for _, id := range groups {
		group, _ := m.ec2.groups.latest(id) // is there: it cannot be deleted before what has it
		for _, p := range group.Ingress {
			in.Rules = append(in.Rules, m.spelledOut(p.Rule)...)
		}
	}
	to, err := netip.ParseAddr(t.Address)
	v4 := err != nil || to.Is4() // what has no address is a load balancer
	for _, addr := range g.balancer.Addresses {
		if addr.Is4() == v4 {
			in.Addresses = append(in.Addresses, addr)
		}
	}
	return in
}

// guarding are the security groups that a target has: those of its interface, or its own if it is a load balancer.
func (m *Machine) guarding(g *group, t Target) []string {
	if b, ok := m.balancers[t.ID]; ok && b.ByAPI {
		return b.SecurityGroups
	}
	i, _ := m.interfaceOf(g, t)
	return i.Groups
}

// interfaceOf finds the interface of a target, in whatever VPC: those that overlap are not told apart.
func (m *Machine) interfaceOf(g *group, t Target) (Interface, bool) {
	addr, err := netip.ParseAddr(t.Address)
	if err != nil || len(m.ec2.interfaces) == 0 {
		return Interface{}, false
	}
	all := m.ec2.interfaces.all()
	at := slices.IndexFunc(all, func(i Interface) bool {
		if g.TargetType == TypeInstance {
			return i.Instance == t.ID && i.DeviceIndex == 0
		}
		return i.has(addr)
	})
	if at < 0 {
		return Interface{}, false
	}
	return all[at], true
}

// has says whether an address is the interface's own or in a prefix of it.
func (i Interface) has(addr netip.Addr) bool {
	return slices.Contains(i.Addresses, addr) || slices.ContainsFunc(i.Prefixes, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// spelledOut replaces a rule from a prefix list by one for each of its entries.
func (m *Machine) spelledOut(r Rule) []Rule {
	if r.Source.PrefixList == "" {
		return []Rule{r}
	}
	var rules []Rule
	for _, cidr := range m.ec2.prefixLists[r.Source.PrefixList].Entries {
		rules = append(rules, Rule{r.Protocol, r.From, r.To, Source{CIDR: cidr}})
	}
	return rules
}

// firstNode is the place in a subnet of the first load balancer's node: AWS keeps the addresses before it.
const firstNode = 4

// nodeAddresses picks the addresses of a new load balancer: IPv4 in each of its subnets, and IPv6 where the VPC has it.
func (m *Machine) nodeAddresses(vpc string, zones []Subnet) []netip.Addr {
	var ranges []netip.Prefix
	for _, zone := range zones {
		ranges = append(ranges, zone.CIDR)
	}
	in, _ := m.vpc(vpc) // is there: it has subnets
	for _, cidr := range in.CIDRs {
		if !cidr.Addr().Is4() {
			ranges = append(ranges, cidr)
		}
	}
	var addresses []netip.Addr
	for _, r := range ranges {
		addr := r.Masked().Addr()
		for range firstNode + m.nodes {
			addr = addr.Next()
		}
		addresses = append(addresses, addr)
	}
	m.nodes++
	return addresses
}

// Admits says whether the security groups of a listener's load balancer let a client in, now and without any lag. All clients are let
// in where there are none, or where the load balancer was not made by an API call.
func (m *Machine) Admits(listenerARN string, client netip.Addr) bool {
	m.enter()
	defer m.leave()
	l := m.listener(listenerARN)
	if l == nil || !l.balancer.ByAPI || len(l.balancer.SecurityGroups) == 0 {
		return l != nil
	}
	for _, id := range l.balancer.SecurityGroups {
		group, _ := m.ec2.groups.latest(id) // is there: it cannot be deleted before the load balancer
		for _, p := range group.Ingress {
			covers := p.Protocol == "-1" || p.Protocol == "tcp" && p.From <= l.Port && l.Port <= p.To
			if covers && slices.ContainsFunc(m.spelledOut(p.Rule), func(r Rule) bool { return m.from(r.Source, client) }) {
				return true
			}
		}
	}
	return false
}

// from says whether an address is one of a source.
func (m *Machine) from(s Source, addr netip.Addr) bool {
	if s.Group == "" {
		return s.CIDR.Contains(addr)
	}
	return slices.ContainsFunc(m.ec2.interfaces.all(), func(i Interface) bool {
		return slices.Contains(i.Groups, s.Group) && i.has(addr)
	})
}
