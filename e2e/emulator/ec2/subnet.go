// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ec2

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/targetgate/targetgate/e2e/emulator/record"
	"github.com/targetgate/targetgate/e2e/emulator/refusal"
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
func firstTags(vpcs []VPC) record.Histories[map[string]string] {
	tags := record.Histories[map[string]string]{}
	for _, v := range vpcs {
		for _, s := range v.Subnets {
			tags.Put(s.ID, maps.Clone(s.Tags), time.Time{}, time.Time{})
		}
	}
	return tags
}

// DescribeSubnets returns an account's subnets ("" is the default one) with one of the ids, or all, with the tags of some time
// ago (Options.Lag).
func (n *Network) DescribeSubnets(account string, ids ...string) ([]DescribedSubnet, error) {
	now := n.enter()
	defer n.leave()
	at := n.lagged(now)
	var found []DescribedSubnet
	for _, v := range n.ownVPCs(account) {
		for _, s := range v.Subnets {
			if len(ids) > 0 && !slices.Contains(ids, s.ID) {
				continue
			}
			s.Tags, _ = n.subnetTags.Seen(s.ID, at)
			found = append(found, DescribedSubnet{Subnet: s, VPC: v.ID, Account: n.region.Account(v.Account), Free: n.freeAddresses(s)})
		}
	}
	for _, id := range ids {
		if !slices.ContainsFunc(found, func(s DescribedSubnet) bool { return s.ID == id }) {
			return nil, refusal.New("InvalidSubnetID.NotFound", "The subnet ID '%s' does not exist", id)
		}
	}
	return found, nil
}

func (n *Network) freeAddresses(s Subnet) int {
	if free, ok := n.free[s.ID]; ok {
		return free
	}
	if !s.CIDR.Addr().Is4() {
		return 0
	}
	return 1<<min(widestSubnetBits, 32-s.CIDR.Bits()) - keptAddresses
}

// SetFreeAddresses changes how many addresses of a subnet are not in use.
func (n *Network) SetFreeAddresses(subnet string, free int) error {
	n.enter()
	defer n.leave()
	if _, _, ok := n.Subnet(subnet); !ok {
		return refusal.New("InvalidSubnetID.NotFound", "The subnet ID '%s' does not exist", subnet)
	}
	n.free[subnet] = free
	return nil
}

// RouteTables are those of an account's VPCs ("" is the default one). A VPC that has none given is shown with one that makes all
// of its subnets public.
func (n *Network) RouteTables(account string) []DescribedRouteTable {
	n.enter()
	defer n.leave()
	var found []DescribedRouteTable
	for _, v := range n.ownVPCs(account) {
		tables := v.RouteTables
		if len(tables) == 0 {
			tables = []RouteTable{v.mainTable()}
		}
		for _, t := range tables {
			found = append(found, DescribedRouteTable{t, v.ID, n.region.Account(v.Account)})
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
func (n *Network) Zones() []Zone {
	byName := map[string]Zone{}
	for _, v := range n.opts.VPCs {
		for _, s := range v.Subnets {
			byName[s.Zone] = n.zone(s.Zone)
		}
	}
	var zones []Zone
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		zones = append(zones, byName[name])
	}
	return zones
}

func (n *Network) zone(name string) Zone {
	rest := strings.TrimPrefix(name, n.region.Name())
	zone := Zone{Name: name, ID: strings.ReplaceAll(n.region.Name(), "-", "") + "-az" + rest, Type: "availability-zone"}
	switch {
	case strings.HasPrefix(rest, "-wl"):
		zone.Type = "wavelength-zone"
	case len(rest) > 1:
		zone.Type = "local-zone"
	}
	return zone
}
