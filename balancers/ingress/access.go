// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"net/netip"
	"slices"

	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/ingress/reading"
	"github.com/targetgate/targetgate/balancers/parts"
	"github.com/targetgate/targetgate/balancers/stack"
)

// access says who may send to the load balancer, and from which security group it sends to its targets.
func (d listenerBuilder) access() parts.Access {
	manage := d.Get(annotation.ManageBackendRules.Name, reading.YesNo(d.in.Options.ManageBackendRules)) == "true"
	return d.in.Options.AccessTo(d.List(annotation.SecurityGroups.Name), manage, d.managed)
}

// managed is the security group that is made for the load balancer.
func (d listenerBuilder) managed() stack.SecurityGroup {
	return stack.SecurityGroup{
		Name:        parts.SecurityGroupName(d.in.Options.Cluster, d.in.Group),
		Description: stack.ManagedDescription,
		Inbound:     d.inbound(),
		Tags:        d.in.TagsOf(stack.SecurityGroupPart, d.keysOf(annotation.Tags.Name)),
	}
}

// inbound are the rules of the security group: one for each port and source. Those of ports on which only held members listen stay.
func (d listenerBuilder) inbound() []stack.Inbound {
	var rules []stack.Inbound
	known := map[stack.Inbound]bool{}
	add := func(port int32, source string) {
		rule := stack.Inbound{From: port, To: port, Protocol: "tcp", Source: source}
		if !known[rule] {
			rules = append(rules, rule)
		}
		known[rule] = true
	}
	for _, l := range d.listeners {
		for _, source := range d.sources(l.port) {
			add(l.port, source)
		}
	}
	for _, rule := range d.in.Seen.InboundOfMade() {
		ofBuilt := slices.ContainsFunc(d.listeners, func(l listener) bool { return l.port == rule.From })
		if !ofBuilt && d.heldOn(rule.From) {
			rules = append(rules, rule)
		}
	}
	return rules
}

// sources are who may send to a port. IPv6 is for load balancers that have it.
func (d listenerBuilder) sources(port int32) []string {
	cidrs, lists := d.List(stack.OfPort(annotation.InboundCIDRs.Name, port)), d.List(stack.OfPort(annotation.PrefixLists.Name, port))
	if len(cidrs)+len(lists) == 0 {
		cidrs = []string{"0.0.0.0/0", "::/0"}
	}
	var sources []string
	for _, cidr := range cidrs {
		prefix, err := netip.ParsePrefix(cidr)
		if err == nil && (prefix.Addr().Is4() || stack.IsDualstack(d.addressType())) {
			sources = append(sources, prefix.Masked().String())
		}
	}
	return append(sources, lists...)
}
