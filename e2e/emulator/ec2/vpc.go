// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ec2

import (
	"net/netip"
	"slices"

	"github.com/targetgate/targetgate/e2e/emulator/refusal"
)

// VPC is a network with the address ranges associated with it and the subnets made in them. Not every associated
// address needs to be in a subnet.
type VPC struct {
	ID string
	// Account is the owner and the only one that can describe it; the default account when empty.
	Account string
	CIDRs   []netip.Prefix
	Subnets []Subnet
	// RouteTables decide which subnets are public. With none, all of them are.
	RouteTables []RouteTable
}

// Subnet is a part of a VPC in one Availability Zone.
type Subnet struct {
	ID   string
	Zone string
	// CIDR is its IPv4 range, or its IPv6 range if it has no other.
	CIDR netip.Prefix
	// CIDR6 is the IPv6 range beside an IPv4 one, if any.
	CIDR6 netip.Prefix
	// Tags are those that it begins with, see Network.TagResources.
	Tags map[string]string
	// Outpost is the ARN of the Outpost that it is on, if any.
	Outpost string
}

// HasIPv6 reports whether it has an IPv6 range.
func (s Subnet) HasIPv6() bool { return s.CIDR6.IsValid() || s.CIDR.Addr().Is6() }

// DefaultVPCID names the VPC of DefaultVPC.
const DefaultVPCID = "vpc-0a1b2c3d4e5f60718"

// DefaultVPC covers 10.0.0.0/8 and an IPv6 range with subnets in the zones a, b and c of the region, far larger than AWS
// allows, so that any pod address a test bed picks is inside. Its secondary range 100.64.0.0/16 has no subnet. All subnets are
// public; those with IPv4 are tagged for load balancers of either scheme and have an IPv6 range beside.
func DefaultVPC(region string) VPC {
	return VPC{
		ID: DefaultVPCID,
		CIDRs: []netip.Prefix{
			netip.MustParsePrefix("10.0.0.0/8"),
			netip.MustParsePrefix("100.64.0.0/16"),
			netip.MustParsePrefix("2001:db8:1200::/56"),
		},
		Subnets: []Subnet{
			forBalancers("subnet-0a000000000000001", region+"a", "10.0.0.0/10", "2001:db8:1200:a0::/64"),
			forBalancers("subnet-0b000000000000002", region+"b", "10.64.0.0/10", "2001:db8:1200:b0::/64"),
			forBalancers("subnet-0c000000000000003", region+"c", "10.128.0.0/9", "2001:db8:1200:c0::/64"),
			{ID: "subnet-0a000000000000006", Zone: region + "a", CIDR: netip.MustParsePrefix("2001:db8:1200::/64")},
		},
	}
}

func forBalancers(id, zone, cidr, cidr6 string) Subnet {
	return Subnet{
		ID: id, Zone: zone, CIDR: netip.MustParsePrefix(cidr), CIDR6: netip.MustParsePrefix(cidr6),
		Tags: map[string]string{"kubernetes.io/role/elb": "1", "kubernetes.io/role/internal-elb": "1"},
	}
}

// PeeredVPCID names the VPC of PeeredVPC.
const PeeredVPCID = "vpc-0f1e2d3c4b5a69788"

// PeeredVPC is a second one, for load balancers away from the pods: 172.31.0.0/16, with subnets in two zones. Every
// address of DefaultVPC is outside it.
func PeeredVPC(region string) VPC {
	return VPC{
		ID:    PeeredVPCID,
		CIDRs: []netip.Prefix{netip.MustParsePrefix("172.31.0.0/16")},
		Subnets: []Subnet{
			{ID: "subnet-0a000000000000011", Zone: region + "a", CIDR: netip.MustParsePrefix("172.31.0.0/20")},
			{ID: "subnet-0b000000000000012", Zone: region + "b", CIDR: netip.MustParsePrefix("172.31.16.0/20")},
		},
	}
}

// VPCs returns an account's own ("" is the default one) with one of the ids, or all. An id that is unknown or another
// account's is InvalidVpcID.NotFound.
func (n *Network) VPCs(account string, ids ...string) ([]VPC, error) {
	own := n.ownVPCs(account)
	if len(ids) == 0 {
		return own, nil
	}
	var found []VPC
	for _, id := range ids {
		i := slices.IndexFunc(own, func(v VPC) bool { return v.ID == id })
		if i < 0 {
			return nil, vpcNotFound(id)
		}
		found = append(found, own[i])
	}
	return found, nil
}

func (n *Network) ownVPCs(account string) []VPC {
	return slices.DeleteFunc(slices.Clone(n.opts.VPCs), func(v VPC) bool { return n.region.Account(v.Account) != n.region.Account(account) })
}

func vpcNotFound(id string) error {
	return refusal.New("InvalidVpcID.NotFound", "The vpc ID '%s' does not exist", id)
}

// FirstVPC is the one for what names none.
func (n *Network) FirstVPC() VPC { return n.opts.VPCs[0] }

// VPC is the one with that id, whoever owns it; false is none.
func (n *Network) VPC(id string) (VPC, bool) {
	i := slices.IndexFunc(n.opts.VPCs, func(v VPC) bool { return v.ID == id })
	if i < 0 {
		return VPC{}, false
	}
	return n.opts.VPCs[i], true
}

// Subnet is the one with that id, and the id of its VPC; false is none.
func (n *Network) Subnet(id string) (vpc string, subnet Subnet, ok bool) {
	for _, v := range n.opts.VPCs {
		for _, s := range v.Subnets {
			if s.ID == id {
				return v.ID, s, true
			}
		}
	}
	return "", Subnet{}, false
}

// ZoneOf finds the zone of the subnet an address is in.
func (v VPC) ZoneOf(addr netip.Addr) (string, bool) {
	for _, subnet := range v.Subnets {
		if subnet.CIDR.Contains(addr) || subnet.CIDR6.Contains(addr) {
			return subnet.Zone, true
		}
	}
	return "", false
}
