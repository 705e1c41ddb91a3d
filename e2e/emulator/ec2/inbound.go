// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ec2

import (
	"net/netip"
	"slices"
)

// InboundRules are those of security groups, now and without any lag. One from a prefix list is there once for each entry.
func (n *Network) InboundRules(groups []string) []Rule {
	n.enter()
	defer n.leave()
	return n.inboundRules(groups)
}

func (n *Network) inboundRules(groups []string) []Rule {
	var rules []Rule
	for _, id := range groups {
		group, _ := n.groups.Latest(id) // one that is gone has no rules
		for _, p := range group.Ingress {
			rules = append(rules, n.spelledOut(p.Rule)...)
		}
	}
	return rules
}

// spelledOut replaces a rule from a prefix list by one for each of its entries.
func (n *Network) spelledOut(r Rule) []Rule {
	if r.Source.PrefixList == "" {
		return []Rule{r}
	}
	var rules []Rule
	for _, cidr := range n.prefixLists[r.Source.PrefixList].Entries {
		rules = append(rules, Rule{r.Protocol, r.From, r.To, Source{CIDR: cidr}})
	}
	return rules
}

// Admits reports whether security groups let a client in at a TCP port, now and without any lag.
func (n *Network) Admits(groups []string, port int, client netip.Addr) bool {
	n.enter()
	defer n.leave()
	return slices.ContainsFunc(n.inboundRules(groups), func(r Rule) bool {
		covers := r.Protocol == "-1" || r.Protocol == "tcp" && r.From <= port && port <= r.To
		return covers && n.from(r.Source, client)
	})
}

// from reports whether an address is one of a source.
func (n *Network) from(s Source, addr netip.Addr) bool {
	if s.Group == "" {
		return s.CIDR.Contains(addr)
	}
	return slices.ContainsFunc(n.interfaces.All(), func(i Interface) bool {
		return slices.Contains(i.Groups, s.Group) && i.has(addr)
	})
}

// InterfaceAt finds the interface that has an address, in whatever VPC: those that overlap are not told apart.
func (n *Network) InterfaceAt(addr netip.Addr) (Interface, bool) {
	return n.find(func(i Interface) bool { return i.has(addr) })
}

// PrimaryInterface finds the primary interface of an instance.
func (n *Network) PrimaryInterface(instance string) (Interface, bool) {
	return n.find(func(i Interface) bool { return i.Instance == instance && i.DeviceIndex == 0 })
}

func (n *Network) find(wanted func(Interface) bool) (Interface, bool) {
	n.enter()
	defer n.leave()
	all := n.interfaces.All()
	at := slices.IndexFunc(all, wanted)
	if at < 0 {
		return Interface{}, false
	}
	return all[at], true
}

// has reports whether an address is the interface's own or in a prefix of it.
func (i Interface) has(addr netip.Addr) bool {
	return slices.Contains(i.Addresses, addr) || slices.ContainsFunc(i.Prefixes, func(p netip.Prefix) bool { return p.Contains(addr) })
}
