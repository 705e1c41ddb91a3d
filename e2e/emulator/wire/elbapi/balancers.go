// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package elbapi

import (
	"strings"
	"time"

	"github.com/targetgate/targetgate/e2e/emulator/ec2"
	"github.com/targetgate/targetgate/e2e/emulator/refusal"
	"github.com/targetgate/targetgate/e2e/emulator/state"
	"github.com/targetgate/targetgate/e2e/emulator/wire/call"
)

type zoneXML struct {
	ZoneName string
	SubnetID string `xml:"SubnetId"`
	Outpost  string `xml:"OutpostId,omitempty"`

	LoadBalancerAddresses call.Members[elasticXML]
}

type elasticXML struct {
	IPAddress    string `xml:"IpAddress"`
	AllocationID string `xml:"AllocationId"`
}

type balancerStateXML struct {
	Code   string
	Reason string `xml:",omitempty"`
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
	AvailabilityZones call.Members[zoneXML]
	SecurityGroups    call.Members[string]
	IPAddressType     string    `xml:"IpAddressType"`
	CustomerPool      string    `xml:"CustomerOwnedIpv4Pool,omitempty"`
	IpamPools         *poolsXML `xml:",omitempty"`
}

type balancersXML struct {
	LoadBalancers call.Members[balancerXML]
	NextMarker    string `xml:",omitempty"`
}

func balancerAnswer(b state.Balancer) balancerXML {
	answer := balancerXML{
		LoadBalancerArn:  b.ARN,
		DNSName:          b.DNSName,
		CreatedTime:      b.Created.UTC().Format(time.RFC3339),
		LoadBalancerName: b.Name,
		Scheme:           b.Scheme,
		VpcID:            b.VPC,
		State:            balancerState(b),
		Type:             b.Type,
		IPAddressType:    b.AddressType,
		CustomerPool:     b.CustomerPool,
		IpamPools:        poolsAnswer(b.IPAMPool),
		SecurityGroups:   call.Members[string]{Members: b.SecurityGroups},
	}
	for _, zone := range b.Zones {
		answer.AvailabilityZones.Members = append(answer.AvailabilityZones.Members, zoneAnswer(b, zone))
	}
	return answer
}

func balancerState(b state.Balancer) balancerStateXML {
	switch {
	case b.Active:
		return balancerStateXML{Code: "active"}
	case b.Failed != "":
		return balancerStateXML{"failed", b.Failed}
	}
	return balancerStateXML{Code: "provisioning"}
}

func zoneAnswer(b state.Balancer, zone ec2.Subnet) zoneXML {
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
	return balancersXML{LoadBalancers: call.Members[balancerXML]{Members: []balancerXML{balancerAnswer(b)}}}, nil
}

// subnets reads the subnets of CreateLoadBalancer and SetSubnets, and the Elastic IP addresses of those that are given one.
func subnets(q *call.Request) (ids []string, allocations map[string]string, err error) {
	ids, allocations = q.Texts("Subnets.member"), map[string]string{}
	mappings := q.List("SubnetMappings.member")
	if len(ids) > 0 && len(mappings) > 0 {
		return nil, nil, refusal.Invalid("Either subnets or subnet mappings can be specified, but not both")
	}
	for _, mapping := range mappings {
		id := mapping.Text("SubnetId")
		ids = append(ids, id)
		for name, value := range mapping.Kids {
			switch name {
			case "SubnetId":
			case "AllocationId":
				allocations[id] = value.Value
			default:
				return nil, nil, refusal.New("UnknownParameter", "The parameter %s is not emulated", name)
			}
		}
	}
	return ids, allocations, nil
}

func createLoadBalancer(q *call.Request) (any, error) {
	tags, err := call.Tags(q)
	if err != nil {
		return nil, err
	}
	subnets, allocations, err := subnets(q)
	if err != nil {
		return nil, err
	}
	return oneBalancer(q.Cloud.ELB.CreateBalancer(q.Caller.Account, state.BalancerSpec{
		Name:           q.Text("Name"),
		Type:           q.Text("Type"),
		Scheme:         q.Text("Scheme"),
		AddressType:    q.Text("IpAddressType"),
		IPAMPool:       ipamPool(q),
		CustomerPool:   q.Text("CustomerOwnedIpv4Pool"),
		Subnets:        subnets,
		Allocations:    allocations,
		SecurityGroups: q.Texts("SecurityGroups.member"),
		Tags:           tags,
		ByAPI:          true,
	}))
}

func deleteLoadBalancer(q *call.Request) (any, error) {
	return struct{}{}, q.Cloud.ELB.DeleteBalancer(q.Text("LoadBalancerArn"))
}

func describeLoadBalancers(q *call.Request) (any, error) {
	balancers, err := q.Cloud.ELB.Balancers(q.Caller.Account, q.Texts("LoadBalancerArns.member"), q.Texts("Names.member"))
	if err != nil {
		return nil, err
	}
	if balancers, err = listed(q, balancers, func(one state.Balancer) string { return one.ARN }); err != nil {
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
	AvailabilityZones *call.Members[zoneXML]
	SecurityGroupIDs  *call.Members[string] `xml:"SecurityGroupIds"`
	IPAddressType     string                `xml:"IpAddressType,omitempty"`
}

// setting is the load balancer as a call has left it.
func setting(q *call.Request, err error) (balancerXML, error) {
	if err != nil {
		return balancerXML{}, err
	}
	balancers, err := q.Cloud.ELB.Balancers(q.Caller.Account, []string{q.Text("LoadBalancerArn")}, nil)
	if err != nil {
		return balancerXML{}, err
	}
	return balancerAnswer(balancers[0]), nil
}

func setSubnets(q *call.Request) (any, error) {
	subnets, allocations, err := subnets(q)
	if err != nil {
		return nil, err
	}
	b, err := setting(q, q.Cloud.ELB.SetSubnetMappings(q.Text("LoadBalancerArn"), subnets, allocations))
	return settingXML{AvailabilityZones: &b.AvailabilityZones, IPAddressType: b.IPAddressType}, err
}

func setSecurityGroups(q *call.Request) (any, error) {
	b, err := setting(q, q.Cloud.ELB.SetSecurityGroups(q.Text("LoadBalancerArn"), q.Texts("SecurityGroups.member")))
	return settingXML{SecurityGroupIDs: &b.SecurityGroups}, err
}

func setIPAddressType(q *call.Request) (any, error) {
	b, err := setting(q, q.Cloud.ELB.SetAddressType(q.Text("LoadBalancerArn"), q.Text("IpAddressType")))
	return settingXML{IPAddressType: b.IPAddressType}, err
}
