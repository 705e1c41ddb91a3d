// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/targetgate/targetgate/e2e/emulator/ec2"
	"github.com/targetgate/targetgate/e2e/emulator/refusal"
)

// SetSubnets replaces a load balancer's subnets, and with them its enabled Availability Zones: targets in others are unused
// from now on, and those in the new ones begin to be registered.
func (m *Machine) SetSubnets(arn string, subnets []string) error {
	return m.SetSubnetMappings(arn, subnets, nil)
}

// SetSubnetMappings is SetSubnets that replaces the Elastic IP addresses, too, which are by subnet.
func (m *Machine) SetSubnetMappings(arn string, subnets []string, allocations map[string]string) error {
	now := m.enter()
	defer m.leave()
	b, ok := m.balancers[arn]
	if !ok {
		return loadBalancerNotFound()
	}
	if b.reservation.state == CapacityPending {
		return capacityPending(b)
	}
	spec := b.BalancerSpec
	spec.Subnets, spec.Allocations = slices.Clone(subnets), maps.Clone(allocations)
	vpc, zones, err := m.zones(spec)
	switch {
	case err != nil:
		return err
	case vpc != b.VPC:
		return refusal.New("InvalidSubnet", "The subnets are not in the VPC '%s' of the load balancer", b.VPC)
	}
	if err := cmp.Or(b.validateKept(spec, zones), m.validateAllocations(b.Account, arn, spec)); err != nil {
		return err
	}
	b.BalancerSpec, b.Zones, b.Addresses = spec, zones, m.nodeAddresses(vpc, zones)
	b.Elastic = m.elastic(spec)
	for _, g := range m.order {
		if g.balancer == b {
			m.reconsider(g, now)
		}
	}
	return nil
}

// validateKept refuses what a Network Load Balancer cannot change of a zone that it stays in. The subnet goes first, by a call of its own,
// before there can be another one (aws-load-balancer-controller #4171, in AWS's own words). Subnets that were enabled before are given with
// their existing configurations, says the API reference of SetSubnets.
func (b *balancer) validateKept(to BalancerSpec, zones []ec2.Subnet) error {
	for _, subnet := range zones {
		isThere := func(had ec2.Subnet) bool { return had.Zone == subnet.Zone && had.ID != subnet.ID }
		switch {
		case b.Type != Network:
		case slices.ContainsFunc(b.Zones, isThere):
			return refusal.New("InvalidConfigurationRequest", "You cannot specify an additional subnet from an Availability Zone that is already "+
				"associated with the load balancer. The Availability Zone '%s' corresponding to the new subnet '%s' is already associated with the "+
				"load balancer.", subnet.Zone, subnet.ID)
		case slices.Contains(b.Subnets, subnet.ID) && to.Allocations[subnet.ID] != b.Allocations[subnet.ID]:
			return refusal.New("InvalidConfigurationRequest", "The Elastic IP address of the subnet '%s' cannot be changed", subnet.ID)
		}
	}
	return nil
}

// SetSecurityGroups replaces a load balancer's security groups.
func (m *Machine) SetSecurityGroups(arn string, groups []string) error {
	now := m.enter()
	defer m.leave()
	b, ok := m.balancers[arn]
	switch {
	case !ok:
		return loadBalancerNotFound()
	case len(groups) == 0:
		return refusal.Invalid("At least one security group must be specified")
	case b.Type == Network && len(b.SecurityGroups) == 0:
		return refusal.New("InvalidConfigurationRequest", "A Network Load Balancer that was created without security groups cannot have any")
	}
	if err := m.validateBalancerGroups(b.VPC, groups); err != nil {
		return err
	}
	m.ec2.Use(groups)
	m.ec2.Release(b.SecurityGroups, now)
	b.SecurityGroups = slices.Clone(groups)
	return nil
}

// SetAddressType replaces a load balancer's address type.
func (m *Machine) SetAddressType(arn, addressType string) error {
	m.enter()
	defer m.leave()
	b, ok := m.balancers[arn]
	if !ok {
		return loadBalancerNotFound()
	}
	spec := b.BalancerSpec
	spec.AddressType = addressType
	if err := cmp.Or(spec.validateAddressType(), spec.validateFamilies(b.Zones)); err != nil {
		return err
	}
	b.AddressType = addressType
	return nil
}

// DeleteBalancer removes a load balancer with its listeners and rules. Its target groups and security groups stay in use for a while.
// Deleting what is not there succeeds, or not (Options.RefuseMissing).
func (m *Machine) DeleteBalancer(arn string) error {
	now := m.enter()
	defer m.leave()
	b, ok := m.balancers[arn]
	switch {
	case !ok && m.opts.RefuseMissing:
		return loadBalancerNotFound()
	case !ok:
		return nil
	case b.attributes[attrProtection] == "true":
		return refusal.New("OperationNotPermitted", "Load balancer '%s' cannot be deleted because deletion protection is enabled", arn)
	}
	for _, l := range m.listenersOf(b) {
		m.removeListener(l)
	}
	delete(m.balancers, arn)
	m.dropTags(arn)
	m.release(b, now)
	m.leaveInterfaces(b, now)
	return nil
}

// leaveInterfaces has the network interfaces of a deleted load balancer keep its security groups and addresses busy for a while.
func (m *Machine) leaveInterfaces(b *balancer, now time.Time) {
	until := now
	if b.ByAPI {
		until = now.Add(m.region.Draw(m.opts.Delays.Linger))
	}
	m.ec2.Release(b.SecurityGroups, until)
	for _, id := range b.Allocations {
		m.lingering[id]++
		m.later(until, func(time.Time) { m.lingering[id]-- })
	}
}

// FailProvisioning has load balancers that API calls ask for from now on fail for that reason, "" has them become active again.
func (m *Machine) FailProvisioning(reason string) {
	m.enter()
	defer m.leave()
	m.doom = reason
}
