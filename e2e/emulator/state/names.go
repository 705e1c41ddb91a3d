// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import "strings"

// BalancerNamed finds the load balancer with a DNS name, of whatever account; false is none. As in DNS, case and a dot at the end do
// not matter, and the name with dualstack. before it is the same one.
func (m *Machine) BalancerNamed(dnsName string) (Balancer, bool) {
	m.enter()
	defer m.leave()
	name := strings.TrimPrefix(strings.TrimSuffix(strings.ToLower(dnsName), "."), "dualstack.")
	for _, b := range m.balancers {
		if strings.ToLower(b.DNSName) == name {
			return b.Balancer, true
		}
	}
	return Balancer{}, false
}
