// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"net/netip"

	"github.com/targetgate/targetgate/targets/elbv2"
)

// zones is what AWS has taught about which Availability Zone a registration must name for an address. AWS finds the
// zone of an address in the group's subnets by itself and refuses to be told; outside of them it wants to be told. Only
// AWS knows which subnets these are, so the first registration names none and a refusal says what would be right.
type zones struct {
	exact map[string]string       // by address, as AWS said
	near  map[netip.Prefix]string // what was said first of a neighbour
}

func newZones() zones {
	return zones{exact: map[string]string{}, near: map[netip.Prefix]string{}}
}

// name is the zone to name for the target, empty for none. NodeZone is that of its node.
func (z *zones) name(target elbv2.Target, nodeZone string) string {
	if zone := z.of(target.ID); zone != elbv2.ZoneOfNode {
		return zone
	}
	return nodeZone
}

// of is what AWS has taught about the address, empty for nothing.
func (z *zones) of(address string) string {
	if zone, known := z.exact[address]; known {
		return zone
	}
	return z.near[neighbours(address)]
}

// learn takes AWS's word and reports whether it is news. It is not when AWS contradicts itself.
func (z *zones) learn(address, zone string) bool {
	if _, known := z.exact[address]; known || z.of(address) == zone {
		return false
	}
	z.exact[address] = zone
	if _, known := z.near[neighbours(address)]; !known {
		z.near[neighbours(address)] = zone
	}
	return true
}

// neighbours are the addresses that are in the same subnet more likely than not; the zero Prefix for what is no address.
func neighbours(address string) netip.Prefix {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return netip.Prefix{}
	}
	bits := 24
	if ip.Is6() {
		bits = 64
	}
	prefix, _ := ip.Prefix(bits) // bits fit the family
	return prefix
}
