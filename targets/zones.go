// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"net/netip"
	"sync"

	"github.com/targetgate/targetgate/targets/elbv2"
)

// subnets is what AWS has taught about which addresses are outside the subnets of one VPC. AWS finds the Availability Zone
// of an address in them by itself and refuses to be told; outside of them it wants to be told. Only AWS knows which subnets
// these are, so a first registration names no zone and a refusal says what would be right. All groups of the VPC share it;
// it is safe for concurrent use.
type subnets struct {
	mu    sync.Mutex
	exact map[string]bool       // outside, by address, as AWS said
	near  map[netip.Prefix]bool // what was said first of a neighbour
}

func newSubnets() *subnets {
	return &subnets{exact: map[string]bool{}, near: map[netip.Prefix]bool{}}
}

// exclude reports whether the address is known to be outside.
func (s *subnets) exclude(address string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if outside, known := s.exact[address]; known {
		return outside
	}
	return s.near[neighbours(address)]
}

// learn takes AWS's word, but not the contrary of what it said before of the same address.
func (s *subnets) learn(address string, outside bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.exact[address]; known {
		return
	}
	s.exact[address] = outside
	prefix := neighbours(address)
	if _, known := s.near[prefix]; !known {
		s.near[prefix] = outside
	}
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

// zoneFor is the zone to name when the target is registered, empty for none. The caller holds the lock.
func (g *group) zoneFor(target elbv2.Target) string {
	switch {
	case !g.subnets.exclude(target.ID):
		return ""
	case g.wantsZoneOfNode:
		return g.nodeZones[target]
	default:
		return elbv2.ZoneAll
	}
}

// learnZone reports whether AWS has refused a registration for its zones, and the next one would name others. The caller
// holds the lock.
func (g *group) learnZone(named map[elbv2.Target]string, err error) bool {
	address, zone, ok := elbv2.ZoneRefusal(err)
	if !ok {
		return false
	}
	g.subnets.learn(address, zone != "")
	g.wantsZoneOfNode = g.wantsZoneOfNode || zone == elbv2.ZoneOfNode
	for target, before := range named {
		if g.zoneFor(target) != before {
			return true
		}
	}
	return false
}

// subnetsOf is what is known of a VPC, by its ID; empty is the cluster's own.
func (r *Registrar) subnetsOf(vpc string) *subnets {
	if r.subnets[vpc] == nil {
		r.subnets[vpc] = newSubnets()
	}
	return r.subnets[vpc]
}
