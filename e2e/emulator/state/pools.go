// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"cmp"
	"regexp"

	"github.com/targetgate/targetgate/e2e/emulator/ec2"
	"github.com/targetgate/targetgate/e2e/emulator/refusal"
)

// The forms of the ids of address pools, in the API's model.
var (
	ipamPool     = regexp.MustCompile(`^(ipam-pool-)[a-zA-Z0-9]+$`)
	customerPool = regexp.MustCompile(`^(ipv4pool-coip-)[a-zA-Z0-9]+$`)
)

// PutPool makes a pool of public addresses known, of IPAM (ipam-pool-) or a customer's own (ipv4pool-coip-).
func (m *Machine) PutPool(id string) {
	m.enter()
	defer m.leave()
	m.pools[id] = true
}

// validatePools checks the pools of a load balancer whose subnets are in zones.
func (m *Machine) validatePools(s BalancerSpec, zones []ec2.Subnet) error {
	switch {
	case (s.IPAMPool != "" || s.CustomerPool != "") && s.Type != Application:
		return refusal.New("InvalidConfigurationRequest", "Address pools are supported for Application Load Balancers only")
	case s.IPAMPool != "" && s.Scheme != "internet-facing":
		return refusal.New("InvalidConfigurationRequest", "IPAM pools are supported for internet-facing load balancers only")
	case s.CustomerPool != "" && !onOutpost(zones):
		return refusal.New("InvalidConfigurationRequest", "A customer-owned address pool needs a subnet on an Outpost")
	}
	return cmp.Or(
		m.validatePool("ipamPools.ipv4IpamPoolId", s.IPAMPool, ipamPool),
		m.validatePool("customerOwnedIpv4Pool", s.CustomerPool, customerPool),
	)
}

func (m *Machine) validatePool(parameter, id string, form *regexp.Regexp) error {
	switch {
	case id == "":
		return nil
	case !form.MatchString(id):
		return refusal.Unfit(parameter, id, "satisfy regular expression pattern: "+form.String())
	case !m.pools[id]:
		return refusal.Invalid("The address pool '%s' does not exist", id)
	}
	return nil
}

// SetIPAMPool has a load balancer take its public addresses from a pool of IPAM, or from Amazon again with "".
func (m *Machine) SetIPAMPool(arn, pool string) error {
	m.enter()
	defer m.leave()
	b, ok := m.balancers[arn]
	if !ok {
		return loadBalancerNotFound()
	}
	spec := b.BalancerSpec
	spec.IPAMPool = pool
	if err := m.validatePools(spec, b.Zones); err != nil {
		return err
	}
	b.IPAMPool = pool
	return nil
}
