// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"net/netip"

	"github.com/targetgate/targetgate/e2e/emulator/ec2"
)

// Inbound is what security groups know of the way from a load balancer to a target, now and without any lag.
type Inbound struct {
	// Enforced says that the target's interface is known and has security groups, or that the target is a load balancer that has some.
	// Otherwise everything gets in.
	Enforced bool
	// Rules are those of all security groups of the interface; those from a prefix list are there once for each entry.
	Rules []ec2.Rule
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
	in := Inbound{Enforced: true, Groups: g.balancer.SecurityGroups, Rules: m.ec2.InboundRules(groups)}
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
	if g.TargetType == TypeInstance {
		i, _ := m.ec2.PrimaryInterface(t.ID)
		return i.Groups
	}
	addr, err := netip.ParseAddr(t.Address)
	if err != nil {
		return nil
	}
	i, _ := m.ec2.InterfaceAt(addr)
	return i.Groups
}

// firstNode is the place in a subnet of the first load balancer's node: AWS keeps the addresses before it.
const firstNode = 4

// nodeAddresses picks the addresses of a new load balancer: IPv4 in each of its subnets, and IPv6 where the VPC has it.
func (m *Machine) nodeAddresses(vpc string, zones []ec2.Subnet) []netip.Addr {
	var ranges []netip.Prefix
	for _, zone := range zones {
		ranges = append(ranges, zone.CIDR)
	}
	in, _ := m.ec2.VPC(vpc) // is there: it has subnets
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

// Admits reports whether the security groups of a listener's load balancer let a client in, now and without any lag. All clients are let
// in where there are none, or where the load balancer was not made by an API call.
func (m *Machine) Admits(listenerARN string, client netip.Addr) bool {
	m.enter()
	defer m.leave()
	l := m.listener(listenerARN)
	if l == nil || !l.balancer.ByAPI || len(l.balancer.SecurityGroups) == 0 {
		return l != nil
	}
	return m.ec2.Admits(l.balancer.SecurityGroups, l.Port, client)
}
