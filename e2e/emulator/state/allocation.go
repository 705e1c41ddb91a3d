// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"maps"
	"net/netip"
	"slices"

	"github.com/targetgate/targetgate/e2e/emulator/refusal"
)

// Allocation is an Elastic IP address of an account.
type Allocation struct {
	// ID begins with eipalloc-.
	ID string
	// Account is the owner, the default account when empty.
	Account string
	Address netip.Addr
}

// PutAllocation makes an Elastic IP address known, for Network Load Balancers to have.
func (m *Machine) PutAllocation(a Allocation) {
	m.enter()
	defer m.leave()
	a.Account = m.region.Account(a.Account)
	m.allocations[a.ID] = a
}

// elastic are the Elastic IP addresses of a load balancer, by subnet.
func (m *Machine) elastic(s BalancerSpec) map[string]Allocation {
	found := map[string]Allocation{}
	for subnet, id := range s.Allocations {
		found[subnet] = m.allocations[id]
	}
	return found
}

// validateAllocations checks the Elastic IP addresses of a load balancer of an account, of which own is the ARN if it is there already.
func (m *Machine) validateAllocations(account, own string, s BalancerSpec) error {
	seen := map[string]bool{}
	for _, id := range s.Allocations {
		switch {
		case s.Type != Network:
			return refusal.New("InvalidConfigurationRequest", "Elastic IP addresses are supported for Network Load Balancers only")
		case s.Scheme != "internet-facing":
			return refusal.New("InvalidConfigurationRequest", "Elastic IP addresses are supported for internet-facing load balancers only")
		case m.allocations[id].ID == "" || m.allocations[id].Account != account:
			return refusal.New("AllocationIdNotFound", "The allocation ID '%s' does not exist", id)
		case seen[id] || m.allocated(id, own):
			return refusal.New("ResourceInUse", "The allocation ID '%s' is in use", id)
		}
		seen[id] = true
	}
	return nil
}

// allocated reports whether another load balancer than own has an Elastic IP address, or had it until a while ago.
func (m *Machine) allocated(id, own string) bool {
	if m.lingering[id] > 0 {
		return true
	}
	for arn, b := range m.balancers {
		if arn != own && slices.Contains(slices.Collect(maps.Values(b.Allocations)), id) {
			return true
		}
	}
	return false
}
