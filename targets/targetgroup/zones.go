// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targetgroup

import (
	"net/netip"
	"sync"
	"time"

	"k8s.io/utils/lru"

	"github.com/targetgate/targetgate/aws/elbv2"
)

// Subnets is what AWS has taught about which addresses are outside the subnets of a VPC. AWS finds the Availability Zone of an
// address in them by itself and refuses to be told; outside of them it wants to be told. Only AWS knows which subnets these are,
// so a first registration names no zone and a refusal says what would be right. All groups of a VPC share it; it is safe for
// concurrent use.
type Subnets struct {
	mu    sync.Mutex
	known *lru.Cache // *neighbourhood by place
}

// place is where a neighbourhood is. The VPC is its ID; empty is the cluster's own.
type place struct {
	vpc    string
	prefix netip.Prefix
}

// neighbourhood is what AWS said of addresses that have the same prefix.
type neighbourhood struct {
	outside bool            // of the first one, and so, likely, of those that it has not spoken of
	exact   map[string]bool // by address
	turn    turn
}

const (
	// placesKept is how many neighbourhoods are remembered; a VPC with five full /16 ranges has 1,280.
	placesKept = 10_000
	// addressesKept is how many addresses are remembered in a neighbourhood: all of a /24, and of a /64 as many.
	addressesKept = 256
)

// NewSubnets knows nothing yet.
func NewSubnets() *Subnets { return &Subnets{known: lru.New(placesKept)} }

// exclude reports whether the address is known to be outside the VPC.
func (s *Subnets) exclude(vpc, address string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.find(vpc, address)
	if n == nil {
		return false
	}
	if outside, said := n.exact[address]; said {
		return outside
	}
	return n.outside
}

// learn takes AWS's word about an address. If it is the contrary of an earlier one the subnets have changed, or AWS contradicts
// itself: what was said of the neighbours is forgotten, too, and the next contrary word has to wait (turn).
func (s *Subnets) learn(vpc, address string, outside bool, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.find(vpc, address)
	if n == nil {
		n = &neighbourhood{outside: outside, exact: map[string]bool{}}
		s.known.Add(place{vpc, neighbours(address)}, n)
	}
	if before, said := n.exact[address]; said && before != outside {
		if !n.turn.take(now) {
			return
		}
		clear(n.exact)
		n.outside = outside
	}
	if len(n.exact) >= addressesKept {
		clear(n.exact)
	}
	n.exact[address] = outside
}

// find is what is known of the address's neighbourhood, nil for nothing. The caller holds the lock.
func (s *Subnets) find(vpc, address string) *neighbourhood {
	n, ok := s.known.Get(place{vpc, neighbours(address)})
	if !ok {
		return nil
	}
	return n.(*neighbourhood) // nothing else is put in
}

// turn is when AWS was last believed the contrary of what it had said before.
type turn struct{ at time.Time }

// turnPause is how long a contrary word is not believed after another one: the registration is refused meanwhile, and waits
// longer each time. Without it an AWS that contradicts itself would be asked again and again without a pause.
const turnPause = 30 * time.Second

// take reports whether a contrary word is believed.
func (t *turn) take(now time.Time) bool {
	if !t.at.IsZero() && now.Sub(t.at) < turnPause {
		return false
	}
	t.at = now
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

// zones are the Availability Zones to name when targets of a group are registered.
type zones struct {
	vpc         string                  // the group's, by ID; empty is the cluster's own
	subnets     *Subnets                // of all VPCs
	abroad      bool                    // the group is in another account than targetgate, as of the last registration
	wantsOfNode bool                    // AWS does, for addresses outside the VPC, as cross-zone load balancing is off
	turn        turn                    // of wantsOfNode
	ofNodes     map[elbv2.Target]string // of what is to be registered
}

// of is the zone to name for the target, empty for none.
func (z *zones) of(id elbv2.Target) string {
	switch {
	case !z.subnets.exclude(z.vpc, id.ID):
		return ""
	case z.wantsOfNode && !z.abroad: // in another account the same name may be another zone's
		return z.ofNodes[id]
	default:
		return elbv2.ZoneAll
	}
}

// learn reports whether AWS has refused a registration for its zones, and the next one would name others.
func (z *zones) learn(named map[elbv2.Target]string, now time.Time, err error) bool {
	address, zone, ok := elbv2.ZoneRefusal(err)
	if !ok {
		return false
	}
	z.subnets.learn(z.vpc, address, zone != "", now)
	if wants := zone == elbv2.ZoneOfNode; zone != "" && wants != z.wantsOfNode && z.turn.take(now) {
		z.wantsOfNode = wants
	}
	for id, before := range named {
		if z.of(id) != before {
			return true
		}
	}
	return false
}
