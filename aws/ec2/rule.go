// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ec2

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Rule is one inbound rule of a security group: one protocol, one range of ports, one source. Rules are equal when EC2 takes them
// for duplicates: the description is not part of a rule, and CIDRs are canonical.
type Rule struct {
	// Protocol is "tcp", "udp", "icmp", "icmpv6", a number, or "-1" for all.
	Protocol string
	// From and To are the first and the last port; 0 and 65535 are all ports of TCP or UDP. Of a rule for all protocols both are -1.
	From, To int32
	Source   Source
}

// Source is where a rule allows traffic from. Exactly one field is set.
type Source struct {
	CIDR       netip.Prefix // masked
	Group      string       // ID of a security group
	PrefixList string       // ID
}

// String is the source as EC2 writes it.
func (s Source) String() string {
	switch {
	case s.Group != "":
		return s.Group
	case s.PrefixList != "":
		return s.PrefixList
	default:
		return s.CIDR.String()
	}
}

// String is the rule for people: "tcp 80-443 from sg-0123".
func (r Rule) String() string {
	ports := fmt.Sprintf("%d-%d", r.From, r.To)
	if r.From == r.To {
		ports = fmt.Sprint(r.From)
	}
	return fmt.Sprintf("%s %s from %s", r.Protocol, ports, r.Source)
}

// Permission is a rule as it stands in a security group.
type Permission struct {
	Rule
	Description string
}

// BindingLabel is the description of rules by which targets of bindings let load balancers in: the incumbent's.
const BindingLabel = "elbv2.k8s.aws/targetGroupBinding=shared"

// IsOfBindings reads the description as the incumbent does: key=value, separated by commas, one of which is BindingLabel.
func (p Permission) IsOfBindings() bool {
	return slices.Contains(strings.Split(p.Description, ","), BindingLabel)
}

// SecurityGroup is a security group as EC2 describes it. Reads may be some seconds behind the group's last change.
type SecurityGroup struct {
	ID      string
	VPC     string
	Tags    map[string]string
	Ingress []Permission
}

// Interface is a network interface.
type Interface struct {
	ID string
	// Addresses are its private ones of both families; Prefixes are those delegated to it.
	Addresses []netip.Addr
	Prefixes  []netip.Prefix
	// Groups are the IDs of its security groups.
	Groups []string
	// DeviceIndex is its place at the instance: 0 is the primary one. 0 where it is at no instance.
	DeviceIndex int32
}

// Instance is an EC2 instance and its network interfaces.
type Instance struct {
	ID         string
	Interfaces []Interface
}
