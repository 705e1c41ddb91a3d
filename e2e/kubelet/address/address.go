// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package address has the addresses of pods: which a node hands out, and where in 127.0.0.0/8 they really listen.
package address

import (
	"fmt"
	"net/netip"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Pods are all addresses that pods may have.
var Pods = netip.MustParsePrefix("10.0.0.0/8")

// Socket returns the loopback address on which the pod with the given address really listens: 10.a.b.c becomes 127.a.b.c.
func Socket(podIP netip.Addr) netip.Addr {
	raw := podIP.As4()
	raw[0] = 127
	return netip.AddrFrom4(raw)
}

// Pool hands out the addresses of one node. It is safe for concurrent use.
type Pool struct {
	cidr     netip.Prefix
	reserved netip.Addr
	reuse    bool

	mu     sync.Mutex
	last   netip.Addr
	used   map[netip.Addr]bool
	forced map[types.NamespacedName]netip.Addr // by the test
}

// NewPool is of a node that has one address of the range itself. With reuse a pod gets the first free address, else the next one.
func NewPool(cidr netip.Prefix, reserved netip.Addr, reuse bool) *Pool {
	return &Pool{
		cidr: cidr.Masked(), reserved: reserved, reuse: reuse,
		last: reserved, used: map[netip.Addr]bool{}, forced: map[types.NamespacedName]netip.Addr{},
	}
}

// Take returns a free address, or an error when the whole range is in use. It is the pod's own one when that can be had:
// had is what the pod's status says, from before this program started. An address forced on the pod is the only one it
// gets; there is an error while that is in use.
func (a *Pool) Take(pod types.NamespacedName, had string) (netip.Addr, error) {
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

// Free makes an address free for others.
func (a *Pool) Free(ip netip.Addr) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.used, ip)
}

// Force makes ip the address of every pod of that name that starts from now on.
func (a *Pool) Force(pod types.NamespacedName, ip netip.Addr) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.forced[pod] = ip
}

func (a *Pool) search() netip.Addr {
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

func (a *Pool) usable(ip netip.Addr) bool {
	low := ip.As4()[3]
	return ip != a.reserved && low != 0 && low != 255 && !a.used[ip]
}
