// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/targetgate/targetgate/e2e/emulator/ec2"
	"github.com/targetgate/targetgate/e2e/emulator/refusal"
	"github.com/targetgate/targetgate/e2e/emulator/tag"
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
	// Allocations are the Elastic IP addresses of a Network Load Balancer, by subnet.
	Allocations map[string]string
	// IPAMPool is where the public addresses of an internet-facing ALB are from, CustomerPool those of one on an Outpost; "" is Amazon's.
	IPAMPool, CustomerPool string
	// SecurityGroups are of the same VPC. With none, only rules with address ranges let its traffic through to targets.
	SecurityGroups []string
	// ByAPI is one that an API call asks for: it is not active at once, and its security groups hold clients off.
	ByAPI bool
	Tags  map[string]string
}

// Balancer is a load balancer as DescribeLoadBalancers shows it.
type Balancer struct {
	BalancerSpec
	ARN, Account string
	VPC          string
	DNSName      string
	Zones        []ec2.Subnet
	// Addresses are those of its nodes, which connect to targets.
	Addresses []netip.Addr
	// Elastic are its Elastic IP addresses, by subnet.
	Elastic map[string]Allocation
	Created time.Time
	// Active says that it takes traffic in; before, it is being provisioned. Failed is why that came to nothing.
	Active bool
	Failed string
}

type balancer struct {
	Balancer
	attributes  map[string]string
	reservation reservation
	// batched says that changed rules wait for the next batch; phase is the time of one of the batches.
	batched bool
	phase   time.Time
}

// enabled reports whether targets of a zone are used.
func (b *balancer) enabled(zone string) bool {
	return zone == "" || zone == "all" || slices.ContainsFunc(b.Zones, func(s ec2.Subnet) bool { return s.Zone == zone })
}

// CreateBalancer makes a load balancer for an account ("" is the default one), without listeners. The same request again returns the one
// that is there.
func (m *Machine) CreateBalancer(account string, spec BalancerSpec) (Balancer, error) {
	now := m.enter()
	defer m.leave()
	spec = spec.withDefaults()
	account = m.region.Account(account)
	if err := spec.validate(); err != nil {
		return Balancer{}, err
	}
	vpc, zones, err := m.zones(spec)
	if err := cmp.Or(err, m.validateBalancerGroups(vpc, spec.SecurityGroups), m.validatePools(spec, zones)); err != nil {
		return Balancer{}, err
	}
	if same, err := m.sameBalancer(account, spec); same != nil || err != nil {
		return same.orEmpty(), err
	}
	if err := cmp.Or(m.balancersQuota(account), m.validateAllocations(account, "", spec)); err != nil {
		return Balancer{}, err
	}
	kind := map[string]string{Application: "app", Network: "net"}[spec.Type]
	id := m.region.ID()
	b := &balancer{Balancer: Balancer{
		BalancerSpec: spec,
		Account:      account,
		ARN:          m.region.ARN("elasticloadbalancing", account, "loadbalancer/"+kind+"/"+spec.Name+"/"+id),
		VPC:          vpc,
		DNSName:      spec.dnsName(id, m.region.Name()),
		Zones:        zones,
		Addresses:    m.nodeAddresses(vpc, zones),
		Elastic:      m.elastic(spec),
		Created:      now,
		Active:       !spec.ByAPI,
	}}
	b.attributes = presets(b.knownAttributes())
	if spec.Scheme == "internal" {
		b.attributes[attrDenyIPv6] = "true"
	}
	m.balancers[b.ARN] = b
	m.ec2.Use(b.SecurityGroups)
	m.begin(b.ARN, spec.Tags, now)
	if spec.ByAPI {
		m.provision(b, now)
	}
	return b.Balancer, nil
}

// provision plans the moment at which a load balancer is active, or has failed.
func (m *Machine) provision(b *balancer, now time.Time) {
	doom := m.doom
	m.later(now.Add(m.region.Draw(m.opts.Delays.Provisioning)), func(time.Time) {
		b.Active, b.Failed = doom == "", doom
		m.nudge()
	})
}

func (b *balancer) orEmpty() Balancer {
	if b == nil {
		return Balancer{}
	}
	return b.Balancer
}

func (s BalancerSpec) withDefaults() BalancerSpec {
	s.Type = cmp.Or(s.Type, Application)
	s.Scheme = cmp.Or(s.Scheme, "internet-facing")
	s.AddressType = cmp.Or(s.AddressType, IPv4)
	s.Allocations = maps.Clone(s.Allocations)
	s.Subnets, s.SecurityGroups, s.Tags = slices.Clone(s.Subnets), slices.Clone(s.SecurityGroups), maps.Clone(s.Tags)
	return s
}

func (s BalancerSpec) dnsName(id, region string) string {
	if s.Type == Network {
		return s.Name + "-" + id + ".elb." + region + ".amazonaws.com"
	}
	name := s.Name + "-" + id[:10]
	if s.Scheme == "internal" {
		name = "internal-" + name
	}
	return name + "." + region + ".elb.amazonaws.com"
}

// sameBalancer finds the load balancer of a name. It is an error if it is another than what is asked for.
func (m *Machine) sameBalancer(account string, spec BalancerSpec) (*balancer, error) {
	for _, b := range m.balancers {
		switch {
		case b.Account != account || b.Name != spec.Name:
		case spec.ByAPI && b.sameAs(spec):
			return b, nil
		default:
			return nil, refusal.New("DuplicateLoadBalancerName",
				"A load balancer with the same name '%s' exists, but with different settings", spec.Name)
		}
	}
	return nil, nil
}

func (b *balancer) sameAs(spec BalancerSpec) bool {
	same := func(a, b []string) bool {
		return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
	}
	return b.Type == spec.Type && b.Scheme == spec.Scheme && b.AddressType == spec.AddressType &&
		b.IPAMPool == spec.IPAMPool && b.CustomerPool == spec.CustomerPool && maps.Equal(b.Allocations, spec.Allocations) &&
		same(b.Subnets, spec.Subnets) && same(b.SecurityGroups, spec.SecurityGroups)
}

func (m *Machine) balancersQuota(account string) error {
	count := 0
	for _, b := range m.balancers {
		if b.Account == account && b.ByAPI {
			count++
		}
	}
	if count >= m.opts.Quotas.Balancers {
		return refusal.New("TooManyLoadBalancers", "The maximum number of load balancers has been reached")
	}
	return nil
}

func (s BalancerSpec) validate() error {
	if !groupName.MatchString(s.Name) || strings.HasPrefix(s.Name, "internal-") {
		return refusal.Invalid("The load balancer name '%s' is not valid", s.Name)
	}
	if err := cmp.Or(refusal.OneOf("type", s.Type, []string{Application, Network}), s.validateAddressType()); err != nil {
		return err
	}
	if s.Scheme != "internet-facing" && s.Scheme != "internal" {
		return refusal.New("InvalidScheme", "The scheme '%s' is not valid", s.Scheme)
	}
	return tag.Check(s.Tags)
}

func (s BalancerSpec) validateAddressType() error {
	allowed := []string{IPv4, "dualstack"}
	if s.Type == Application {
		allowed = append(allowed, "dualstack-without-public-ipv4")
	}
	if err := refusal.OneOf("ipAddressType", s.AddressType, allowed); err != nil {
		return err
	}
	if s.AddressType == "dualstack-without-public-ipv4" && s.Scheme == "internal" {
		return refusal.New("InvalidConfigurationRequest", "Address type '%s' needs scheme internet-facing", s.AddressType)
	}
	return nil
}

func (m *Machine) validateBalancerGroups(vpc string, groups []string) error {
	if most := m.opts.Quotas.SecurityGroupsPerBalancer; len(groups) > most {
		return refusal.New("InvalidConfigurationRequest", "A load balancer can have at most %d security groups", most)
	}
	for _, id := range groups {
		if !ec2.WellFormed("sg-", id) {
			return refusal.Invalid("The security group ID '%s' is not valid", id)
		}
		if g, err := m.ec2.SecurityGroup(id); err != nil || g.VPC != vpc {
			return refusal.New("InvalidSecurityGroup", "The security group '%s' does not exist in VPC '%s'", id, vpc)
		}
	}
	return nil
}

func (m *Machine) zones(spec BalancerSpec) (vpc string, zones []ec2.Subnet, err error) {
	names := map[string]bool{}
	for _, id := range spec.Subnets {
		owner, subnet, ok := m.ec2.Subnet(id)
		if !ok {
			return "", nil, refusal.New("SubnetNotFound", "The subnet ID '%s' does not exist", id)
		}
		if names[subnet.Zone] || vpc != "" && vpc != owner {
			return "", nil, refusal.New("InvalidConfigurationRequest", "The subnets must be of one VPC and of different Availability Zones")
		}
		vpc, names[subnet.Zone] = owner, true
		zones = append(zones, subnet)
	}
	if spec.Type == Application && len(zones) < 2 && !onOutpost(zones) {
		return "", nil, refusal.Invalid("At least two subnets in two different Availability Zones must be specified")
	}
	if len(zones) == 0 {
		return "", nil, refusal.Invalid("At least one subnet must be specified")
	}
	return vpc, zones, spec.validateFamilies(zones)
}

// validateFamilies checks that there are addresses of IPv6 if the load balancer is to have some.
func (s BalancerSpec) validateFamilies(zones []ec2.Subnet) error {
	if s.AddressType != IPv4 && slices.ContainsFunc(zones, func(z ec2.Subnet) bool { return !z.HasIPv6() }) {
		return refusal.Invalid("You must specify subnets with an associated IPv6 CIDR block.")
	}
	return nil
}

func onOutpost(zones []ec2.Subnet) bool {
	return len(zones) > 0 && !slices.ContainsFunc(zones, func(z ec2.Subnet) bool { return z.Outpost == "" })
}

// Balancer is the one with that ARN, of whatever account; false is none.
func (m *Machine) Balancer(arn string) (Balancer, bool) {
	m.enter()
	defer m.leave()
	b, ok := m.balancers[arn]
	return b.orEmpty(), ok
}

// Balancers lists load balancers by creation time, all of the account or those with one of the ARNs or names.
func (m *Machine) Balancers(account string, arns, names []string) ([]Balancer, error) {
	m.enter()
	defer m.leave()
	account = m.region.Account(account)
	var found []Balancer
	for _, b := range m.balancers {
		wanted := len(arns)+len(names) == 0 || slices.Contains(arns, b.ARN) || slices.Contains(names, b.Name)
		if wanted && b.Account == account {
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
