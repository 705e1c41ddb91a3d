// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"strings"
	"time"

	"github.com/targetgate/targetgate/e2e/emulator/state"
)

type zoneXML struct {
	ZoneName string
	SubnetID string `xml:"SubnetId"`
	Outpost  string `xml:"OutpostId,omitempty"`

	LoadBalancerAddresses members[elasticXML]
}

type elasticXML struct {
	IPAddress    string `xml:"IpAddress"`
	AllocationID string `xml:"AllocationId"`
}

type balancerStateXML struct {
	Code string
}

type balancerXML struct {
	LoadBalancerArn   string
	DNSName           string
	CreatedTime       string
	LoadBalancerName  string
	Scheme            string
	VpcID             string `xml:"VpcId"`
	State             balancerStateXML
	Type              string
	AvailabilityZones members[zoneXML]
	SecurityGroups    members[string]
	IPAddressType     string    `xml:"IpAddressType"`
	CustomerPool      string    `xml:"CustomerOwnedIpv4Pool,omitempty"`
	IpamPools         *poolsXML `xml:",omitempty"`
}

type balancersXML struct {
	LoadBalancers members[balancerXML]
	NextMarker    string `xml:",omitempty"`
}

func balancerAnswer(b state.Balancer) balancerXML {
	code := "provisioning"
	if b.Active {
		code = "active"
	}
	answer := balancerXML{
		LoadBalancerArn:  b.ARN,
		DNSName:          b.DNSName,
		CreatedTime:      b.Created.UTC().Format(time.RFC3339),
		LoadBalancerName: b.Name,
		Scheme:           b.Scheme,
		VpcID:            b.VPC,
		State:            balancerStateXML{code},
		Type:             b.Type,
		IPAddressType:    b.AddressType,
		CustomerPool:     b.CustomerPool,
		IpamPools:        poolsAnswer(b.IPAMPool),
		SecurityGroups:   members[string]{b.SecurityGroups},
	}
	for _, zone := range b.Zones {
		answer.AvailabilityZones.Members = append(answer.AvailabilityZones.Members, zoneAnswer(b, zone))
	}
	return answer
}

func zoneAnswer(b state.Balancer, zone state.Subnet) zoneXML {
	answer := zoneXML{
		ZoneName: zone.Zone,
		SubnetID: zone.ID,
		Outpost:  zone.Outpost[strings.LastIndex(zone.Outpost, "/")+1:],
	}
	if a, ok := b.Elastic[zone.ID]; ok {
		answer.LoadBalancerAddresses.Members = []elasticXML{{a.Address.String(), a.ID}}
	}
	return answer
}

func oneBalancer(b state.Balancer, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return balancersXML{LoadBalancers: members[balancerXML]{[]balancerXML{balancerAnswer(b)}}}, nil
}

// subnets reads the subnets of CreateLoadBalancer and SetSubnets, and the Elastic IP addresses of those that are given one.
func (q *request) subnets() (ids []string, allocations map[string]string, err error) {
	ids, allocations = q.texts("Subnets.member"), map[string]string{}
	mappings := q.list("SubnetMappings.member")
	if len(ids) > 0 && len(mappings) > 0 {
		return nil, nil, state.Invalid("Either subnets or subnet mappings can be specified, but not both")
	}
	for _, mapping := range mappings {
		id := mapping.text("SubnetId")
		ids = append(ids, id)
		for name, value := range mapping.kids {
			switch name {
			case "SubnetId":
			case "AllocationId":
				allocations[id] = value.value
			default:
				return nil, nil, state.Refuse("UnknownParameter", "The parameter %s is not emulated", name)
			}
		}
	}
	return ids, allocations, nil
}

func createLoadBalancer(s *Server, q *request) (any, error) {
	tags, err := q.tagParams()
	if err != nil {
		return nil, err
	}
	subnets, allocations, err := q.subnets()
	if err != nil {
		return nil, err
	}
	return oneBalancer(s.machine.CreateBalancer(q.caller.account, state.BalancerSpec{
		Name:           q.text("Name"),
		Type:           q.text("Type"),
		Scheme:         q.text("Scheme"),
		AddressType:    q.text("IpAddressType"),
		IPAMPool:       q.ipamPool(),
		CustomerPool:   q.text("CustomerOwnedIpv4Pool"),
		Subnets:        subnets,
		Allocations:    allocations,
		SecurityGroups: q.texts("SecurityGroups.member"),
		Tags:           tags,
		ByAPI:          true,
	}))
}

func deleteLoadBalancer(s *Server, q *request) (any, error) {
	return struct{}{}, s.machine.DeleteBalancer(q.text("LoadBalancerArn"))
}

func describeLoadBalancers(s *Server, q *request) (any, error) {
	balancers, err := s.machine.Balancers(q.caller.account, q.texts("LoadBalancerArns.member"), q.texts("Names.member"))
	if err != nil {
		return nil, err
	}
	balancers, next, err := page(q, balancers)
	if err != nil {
		return nil, err
	}
	answer := balancersXML{NextMarker: next}
	for _, b := range balancers {
		answer.LoadBalancers.Members = append(answer.LoadBalancers.Members, balancerAnswer(b))
	}
	return answer, nil
}

// settingXML is the answer of the calls that set one thing; each fills in its own.
type settingXML struct {
	AvailabilityZones *members[zoneXML]
	SecurityGroupIDs  *members[string] `xml:"SecurityGroupIds"`
	IPAddressType     string           `xml:"IpAddressType,omitempty"`
}

// setting is the load balancer as a call has left it.
func setting(s *Server, q *request, err error) (balancerXML, error) {
	if err != nil {
		return balancerXML{}, err
	}
	balancers, err := s.machine.Balancers(q.caller.account, []string{q.text("LoadBalancerArn")}, nil)
	if err != nil {
		return balancerXML{}, err
	}
	return balancerAnswer(balancers[0]), nil
}

func setSubnets(s *Server, q *request) (any, error) {
	subnets, allocations, err := q.subnets()
	if err != nil {
		return nil, err
	}
	b, err := setting(s, q, s.machine.SetSubnetMappings(q.text("LoadBalancerArn"), subnets, allocations))
	return settingXML{AvailabilityZones: &b.AvailabilityZones, IPAddressType: b.IPAddressType}, err
}

func setSecurityGroups(s *Server, q *request) (any, error) {
	b, err := setting(s, q, s.machine.SetSecurityGroups(q.text("LoadBalancerArn"), q.texts("SecurityGroups.member")))
	return settingXML{SecurityGroupIDs: &b.SecurityGroups}, err
}

func setIPAddressType(s *Server, q *request) (any, error) {
	b, err := setting(s, q, s.machine.SetAddressType(q.text("LoadBalancerArn"), q.text("IpAddressType")))
	return settingXML{IPAddressType: b.IPAddressType}, err
}
