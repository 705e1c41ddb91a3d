// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// Types of load balancers.
const (
	Application = "application"
	Network     = "network"
)

// BalancerSpec asks for a load balancer. Type defaults to application, Scheme to internet-facing, AddressType to ipv4.
type BalancerSpec struct {
	Name        string
	Type        string
	Scheme      string
	AddressType string
	// Subnets decide the enabled Availability Zones; an ALB needs two of them.
	Subnets []string
	// CrossZone is always on for an ALB.
	CrossZone bool
	// SecurityGroups are of the same VPC. With none, only rules with address ranges let its traffic through to targets.
	SecurityGroups []string
}

// Balancer is a load balancer as DescribeLoadBalancers shows it.
type Balancer struct {
	BalancerSpec
	ARN     string
	VPC     string
	DNSName string
	Zones   []Subnet
	// Addresses are those of its nodes, which connect to targets.
	Addresses []netip.Addr
	Created   time.Time
}

type balancer struct {
	Balancer
	account string
}

// enabled says whether targets of a zone are used.
func (b *balancer) enabled(zone string) bool {
	return zone == "" || zone == "all" || slices.ContainsFunc(b.Zones, func(s Subnet) bool { return s.Zone == zone })
}

// CreateBalancer makes a load balancer for an account ("" is the default one), without listeners.
func (m *Machine) CreateBalancer(account string, spec BalancerSpec) (Balancer, error) {
	now := m.enter()
	defer m.leave()
	spec.Type = cmp.Or(spec.Type, Application)
	spec.Scheme = cmp.Or(spec.Scheme, "internet-facing")
	spec.AddressType = cmp.Or(spec.AddressType, IPv4)
	account = m.account(account)
	if err := m.validateBalancer(account, spec); err != nil {
		return Balancer{}, err
	}
	vpc, zones, err := m.zones(spec)
	if err := first(err, m.validateBalancerGroups(vpc, spec)); err != nil {
		return Balancer{}, err
	}
	spec.SecurityGroups = slices.Clone(spec.SecurityGroups)
	kind := map[string]string{Application: "app", Network: "net"}[spec.Type]
	id := m.id()
	b := &balancer{account: account, Balancer: Balancer{
		BalancerSpec: spec,
		ARN:          m.arn(account, "loadbalancer/"+kind+"/"+spec.Name+"/"+id),
		VPC:          vpc,
		DNSName:      spec.Name + "-" + id[:10] + "." + m.opts.Region + ".elb.amazonaws.com",
		Zones:        zones,
		Addresses:    m.nodeAddresses(vpc, zones),
		Created:      now,
	}}
	m.balancers[b.ARN] = b
	return b.Balancer, nil
}

func (m *Machine) validateBalancer(account string, spec BalancerSpec) error {
	if !groupName.MatchString(spec.Name) || strings.HasPrefix(spec.Name, "internal-") {
		return Invalid("The load balancer name '%s' is not valid", spec.Name)
	}
	for _, b := range m.balancers {
		if b.account == account && b.Name == spec.Name {
			return Refuse("DuplicateLoadBalancerName", "A load balancer with the same name '%s' exists", spec.Name)
		}
	}
	return first(
		oneOf("type", spec.Type, []string{Application, Network}),
		oneOf("scheme", spec.Scheme, []string{"internet-facing", "internal"}),
		oneOf("ipAddressType", spec.AddressType, []string{IPv4, "dualstack"}),
	)
}

func (m *Machine) validateBalancerGroups(vpc string, spec BalancerSpec) error {
	for _, id := range spec.SecurityGroups {
		if g, err := m.securityGroup(id); err != nil || g.VPC != vpc {
			return Refuse("InvalidSecurityGroup", "The security group '%s' does not exist in VPC '%s'", id, vpc)
		}
	}
	return nil
}

func (m *Machine) zones(spec BalancerSpec) (vpc string, zones []Subnet, err error) {
	names := map[string]bool{}
	for _, id := range spec.Subnets {
		owner, subnet, ok := m.subnet(id)
		if !ok {
			return "", nil, Refuse("SubnetNotFound", "The subnet ID '%s' does not exist", id)
		}
		if names[subnet.Zone] || vpc != "" && vpc != owner {
			return "", nil, Refuse("InvalidConfigurationRequest", "The subnets must be of one VPC and of different Availability Zones")
		}
		vpc, names[subnet.Zone] = owner, true
		zones = append(zones, subnet)
	}
	if spec.Type == Application && len(zones) < 2 {
		return "", nil, Invalid("At least two subnets in two different Availability Zones must be specified")
	}
	if len(zones) == 0 {
		return "", nil, Invalid("At least one subnet must be specified")
	}
	return vpc, zones, nil
}

func (m *Machine) subnet(id string) (vpc string, subnet Subnet, ok bool) {
	for _, v := range m.opts.VPCs {
		for _, s := range v.Subnets {
			if s.ID == id {
				return v.ID, s, true
			}
		}
	}
	return "", Subnet{}, false
}

// Balancers lists load balancers by creation time, all of the account or those with one of the ARNs or names.
func (m *Machine) Balancers(account string, arns, names []string) ([]Balancer, error) {
	m.enter()
	defer m.leave()
	account = m.account(account)
	var found []Balancer
	for _, b := range m.balancers {
		wanted := len(arns)+len(names) == 0 || slices.Contains(arns, b.ARN) || slices.Contains(names, b.Name)
		if wanted && b.account == account {
			found = append(found, b.Balancer)
		}
	}
	if len(found) < len(arns)+len(names) {
		return nil, loadBalancerNotFound()
	}
	slices.SortFunc(found, func(a, b Balancer) int {
		return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.ARN, b.ARN))
	})
	return found, nil
}

// SetSubnets replaces a load balancer's subnets, and with them its enabled Availability Zones: targets in others are unused
// from now on, and those in the new ones begin to be registered.
func (m *Machine) SetSubnets(arn string, subnets []string) error {
	now := m.enter()
	defer m.leave()
	b, ok := m.balancers[arn]
	if !ok {
		return loadBalancerNotFound()
	}
	spec := b.BalancerSpec
	spec.Subnets = subnets
	vpc, zones, err := m.zones(spec)
	if err != nil {
		return err
	}
	b.BalancerSpec, b.VPC, b.Zones, b.Addresses = spec, vpc, zones, m.nodeAddresses(vpc, zones)
	for _, g := range m.groupsOf(b) {
		m.reconsider(g, now)
	}
	return nil
}

// DeleteBalancer removes a load balancer and its listeners; deleting what is not there succeeds.
func (m *Machine) DeleteBalancer(arn string) error {
	now := m.enter()
	defer m.leave()
	for _, l := range slices.Clone(m.listeners) {
		if l.LoadBalancer == arn {
			m.removeListener(l, now)
		}
	}
	delete(m.balancers, arn)
	return nil
}
