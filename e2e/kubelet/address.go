// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"fmt"
	"net/netip"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// SocketAddr returns the loopback address on which the pod with the given address really listens: 10.a.b.c becomes 127.a.b.c.
func SocketAddr(podIP netip.Addr) netip.Addr {
	raw := podIP.As4()
	raw[0] = 127
	return netip.AddrFrom4(raw)
}

// addresses hands out the addresses of one node.
type addresses struct {
	cidr     netip.Prefix
	reserved netip.Addr
	reuse    bool

	mu     sync.Mutex
	last   netip.Addr
	used   map[netip.Addr]bool
	forced map[types.NamespacedName]netip.Addr // by the test
}

func newAddresses(node Node, reuse bool) *addresses {
	return &addresses{
		cidr: node.PodCIDR.Masked(), reserved: node.hostIP(), reuse: reuse,
		last: node.hostIP(), used: map[netip.Addr]bool{}, forced: map[types.NamespacedName]netip.Addr{},
	}
}

// take returns a free address, or an error when the whole range is in use. It is the pod's own one when that can be had:
// had is what the pod's status says, from before this program started. An address forced on the pod is the only one it
// gets; there is an error while that is in use.
func (a *addresses) take(pod types.NamespacedName, had string) (netip.Addr, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	ip, forced := a.forced[pod]
	if forced && a.used[ip] {
		return ip, fmt.Errorf("address %v is in use", ip)
	}
	if !forced {
		ip, _ = netip.ParseAddr(had) // not an address: the pod had none
	}
	if !a.cidr.Contains(ip) || !a.usable(ip) {
		ip = a.search()
	}
	if !ip.IsValid() {
		return ip, fmt.Errorf("no free address in %v", a.cidr)
	}
	a.used[ip] = true
	return ip, nil
}

func (a *addresses) free(ip netip.Addr) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.used, ip)
}

// force makes ip the address of every pod of that name that starts from now on.
func (a *addresses) force(pod types.NamespacedName, ip netip.Addr) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.forced[pod] = ip
}

func (a *addresses) search() netip.Addr {
	ip := a.last
	if a.reuse {
		ip = a.reserved
	}
	start := ip
	for {
		if ip = ip.Next(); !a.cidr.Contains(ip) {
			ip = a.reserved
		}
		if a.usable(ip) {
			a.last = ip
			return ip
		}
		if ip == start {
			return netip.Addr{}
		}
	}
}

func (a *addresses) usable(ip netip.Addr) bool {
	low := ip.As4()[3]
	return ip != a.reserved && low != 0 && low != 255 && !a.used[ip]
}
