// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package testbed

import (
	"fmt"
	"net"
	"net/netip"

	"github.com/targetgate/targetgate/e2e/kubelet"
)

const (
	// reservationPort marks a range of pod addresses as taken. Nothing is ever said on it.
	reservationPort = 20871
	// firstRange and lastRange are n of the ranges 10.n.0.0/16: far from those that nodes get outside a test bed, and
	// all in the same subnet of the emulator's VPC.
	firstRange, lastRange = 32, 63
)

// reserveAddresses gives each node a range of pod addresses that no other test bed on this machine uses at the same
// time: pods with the same address share 127.a.b.c, so one bed's load balancer would send to the other bed's pod. The
// listeners hold the ranges until they are closed.
func reserveAddresses(nodes []kubelet.Node) (held []net.Listener, err error) {
	for number := firstRange; number <= lastRange && len(held) < len(nodes); number++ {
		listener, err := net.Listen("tcp", fmt.Sprintf("127.%d.0.1:%d", number, reservationPort))
		if err != nil {
			continue // another test bed has it
		}
		nodes[len(held)].PodCIDR = netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(number)}), 16)
		held = append(held, listener)
	}
	if len(held) < len(nodes) {
		return held, fmt.Errorf("reserving pod addresses: only %d ranges are free, want %d", len(held), len(nodes))
	}
	return held, nil
}
