// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// DescribedSubnet is a subnet as DescribeSubnets shows it. Its Tags are those of the time that the call sees.
type DescribedSubnet struct {
	Subnet
	VPC, Account string
	// Free is how many IPv4 addresses are not in use.
	Free int
}

// RouteTable decides where the traffic of some subnets goes.
type RouteTable struct {
	ID string
	// Main says that it counts for all subnets that no other table names.
	Main    bool
	Subnets []string
	Routes  []Route
}

// Route sends the traffic to a range of addresses to a target: an id such as igw-..., nat-... or eni-..., or local.
type Route struct {
	Destination, Target string
}

// DescribedRouteTable is a route table and where it is.
type DescribedRouteTable struct {
	RouteTable
	VPC, Account string
}

// keptAddresses are those of each subnet that AWS keeps for itself; a subnet of more than 2^widestSubnetBits addresses counts as that.
const (
	keptAddresses    = 5
	widestSubnetBits = 16
)

// firstTags are the tags that subnets begin with.
func firstTags(vpcs []VPC) histories[map[string]string] {
	tags := histories[map[string]string]{}
	for _, v := range vpcs {
		for _, s := range v.Subnets {
			tags.put(s.ID, version[map[string]string]{value: maps.Clone(s.Tags)}, time.Time{})
		}
	}
	return tags
}

// DescribeSubnets returns an account's subnets ("" is the default one) with one of the ids, or all, with the tags of some time
// ago (Options.EC2Lag).
func (m *Machine) DescribeSubnets(account string, ids ...string) ([]DescribedSubnet, error) {
	now := m.enter()
	defer m.leave()
	at := m.lagged(now)
	var found []DescribedSubnet
	for _, v := range m.ownVPCs(account) {
		for _, s := range v.Subnets {
			if len(ids) > 0 && !slices.Contains(ids, s.ID) {
				continue
			}
			s.Tags, _ = m.ec2.subnetTags[s.ID].at(at)
			found = append(found, DescribedSubnet{Subnet: s, VPC: v.ID, Account: m.account(v.Account), Free: m.freeAddresses(s)})
		}
	}
	for _, id := range ids {
		if !slices.ContainsFunc(found, func(s DescribedSubnet) bool { return s.ID == id }) {
			return nil, Refuse("InvalidSubnetID.NotFound", "The subnet ID '%s' does not exist", id)
		}
	}
	return found, nil
}

func (m *Machine) ownVPCs(account string) []VPC {
	return slices.DeleteFunc(slices.Clone(m.opts.VPCs), func(v VPC) bool { return m.account(v.Account) != m.account(account) })
}

func (m *Machine) freeAddresses(s Subnet) int {
	if free, ok := m.ec2.free[s.ID]; ok {
		return free
	}
	if !s.CIDR.Addr().Is4() {
		return 0
	}
	return 1<<min(widestSubnetBits, 32-s.CIDR.Bits()) - keptAddresses
}

// SetFreeAddresses changes how many addresses of a subnet are not in use.
func (m *Machine) SetFreeAddresses(subnet string, free int) error {
	m.enter()
	defer m.leave()
	if _, _, ok := m.subnet(subnet); !ok {
		return Refuse("InvalidSubnetID.NotFound", "The subnet ID '%s' does not exist", subnet)
	}
	m.ec2.free[subnet] = free
	return nil
}

// RouteTables are those of an account's VPCs ("" is the default one). A VPC that has none given is shown with one that makes all
// of its subnets public.
func (m *Machine) RouteTables(account string) []DescribedRouteTable {
	m.enter()
	defer m.leave()
	var found []DescribedRouteTable
	for _, v := range m.ownVPCs(account) {
		tables := v.RouteTables
		if len(tables) == 0 {
			tables = []RouteTable{v.mainTable()}
		}
		for _, t := range tables {
			found = append(found, DescribedRouteTable{t, v.ID, m.account(v.Account)})
		}
	}
	return found
}

func (v VPC) mainTable() RouteTable {
	suffix := strings.TrimPrefix(v.ID, "vpc-")
	t := RouteTable{ID: "rtb-" + suffix, Main: true}
	for _, cidr := range v.CIDRs {
		t.Routes = append(t.Routes, Route{cidr.String(), "local"})
	}
	t.Routes = append(t.Routes, Route{"0.0.0.0/0", "igw-" + suffix})
	return t
}

// Zone is an Availability Zone, a Local Zone or a Wavelength Zone.
type Zone struct {
	Name, ID string
	// Type is availability-zone, local-zone or wavelength-zone.
	Type string
}

// Zones are those of all subnets, by name; which type a zone has can be seen from its name.
func (m *Machine) Zones() []Zone {
	byName := map[string]Zone{}
	for _, v := range m.opts.VPCs {
		for _, s := range v.Subnets {
			byName[s.Zone] = m.zone(s.Zone)
		}
	}
	var zones []Zone
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		zones = append(zones, byName[name])
	}
	return zones
}

func (m *Machine) zone(name string) Zone {
	rest := strings.TrimPrefix(name, m.opts.Region)
	zone := Zone{Name: name, ID: strings.ReplaceAll(m.opts.Region, "-", "") + "-az" + rest, Type: "availability-zone"}
	switch {
	case strings.HasPrefix(rest, "-wl"):
		zone.Type = "wavelength-zone"
	case len(rest) > 1:
		zone.Type = "local-zone"
	}
	return zone
}
