// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"fmt"
	"net/netip"
	"slices"
	"sync"
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

	mu   sync.Mutex
	last netip.Addr
	used map[netip.Addr]bool
	next []netip.Addr // forced by the test, in this order, each as soon as it is free
}

func newAddresses(node Node, reuse bool) *addresses {
	return &addresses{
		cidr: node.PodCIDR.Masked(), reserved: node.hostIP(), reuse: reuse,
		last: node.hostIP(), used: map[netip.Addr]bool{},
	}
}

// take returns a free address, or an error when the whole range is in use. It is the pod's own one when that can be had:
// had is what the pod's status says, from before this program started.
func (a *addresses) take(had string) (netip.Addr, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	ip, err := netip.ParseAddr(had)
	if err != nil || !a.cidr.Contains(ip) || !a.usable(ip) {
		ip = a.forced()
	}
	if !ip.IsValid() {
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

// force makes ip the address of the next pod that starts while ip is free.
func (a *addresses) force(ip netip.Addr) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.next = append(a.next, ip)
}

func (a *addresses) forced() netip.Addr {
	i := slices.IndexFunc(a.next, func(ip netip.Addr) bool { return !a.used[ip] })
	if i < 0 {
		return netip.Addr{}
	}
	ip := a.next[i]
	a.next = slices.Delete(a.next, i, i+1)
	return ip
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
