// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package emulator

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"strconv"

	"github.com/targetgate/targetgate/e2e/emulator/ec2"
	"github.com/targetgate/targetgate/e2e/emulator/state"
)

// Service describes a load balancer with one listener and one target group.
type Service struct {
	// Account owns both, the default one when empty: calls of other accounts are AccessDenied.
	Account string
	// Type is state.Application (the default) or state.Network.
	Type string
	// Port is the group's own port, 80 when 0. ListenerPort is where the front door tries to listen, 80 (and so, any
	// free port) when 0.
	Port, ListenerPort int
	// TargetType is state.TypeIP (the default) or state.TypeInstance. Instances must be made known to EC2 first; checks
	// and traffic go to their address and the target's port.
	TargetType string
	// HealthCheck settings that are zero get AWS's defaults, but for a timeout that fits a short interval.
	HealthCheck state.HealthCheck
	// DeregistrationDelay is in seconds, nil is AWS's 300.
	DeregistrationDelay *int
	// Attributes are further target group attributes.
	Attributes map[string]string
	// Tags of the target group.
	Tags map[string]string
	// AddressType is state.IPv4 (the default) or state.IPv6.
	AddressType string
	// Zones are the enabled Availability Zones, all when empty.
	Zones []string
	// SecurityGroups of the load balancer.
	SecurityGroups []string
	// VPC is the first one when empty. Targets outside of it need the zone all.
	VPC string
}

// CreateService makes a target group and a load balancer of the given name and a listener between them, without API
// calls. The URL is the front door's, http or tcp.
func (e *Emulator) CreateService(name string, s Service) (groupARN, frontDoorURL string, err error) {
	s.Type = cmp.Or(s.Type, state.Application)
	group, err := e.createGroup(name, s)
	if err != nil {
		return "", "", fmt.Errorf("creating target group %s: %w", name, err)
	}
	balancer, err := e.createBalancer(name, s)
	if err != nil {
		return "", "", fmt.Errorf("creating load balancer %s: %w", name, err)
	}
	_, err = e.ELB.CreateListener(state.ListenerSpec{
		LoadBalancer: balancer.ARN,
		Protocol:     s.protocol(),
		Port:         cmp.Or(s.ListenerPort, 80),
		Group:        group.ARN,
	})
	if err != nil {
		return "", "", fmt.Errorf("creating listener of %s: %w", name, err)
	}
	scheme := map[string]string{state.Application: "http", state.Network: "tcp"}[s.Type]
	return group.ARN, scheme + "://" + e.FrontDoor(group.ARN), nil
}

func (s Service) protocol() string {
	if s.Type == state.Network {
		return state.ProtocolTCP
	}
	return state.ProtocolHTTP
}

// largestTimeout is the default timeout of an ALB's health checks; a shorter interval needs a shorter one.
const largestTimeout = 5

func (e *Emulator) createGroup(name string, s Service) (state.Group, error) {
	check := s.HealthCheck
	if check.Interval != 0 && check.Timeout == 0 {
		check.Timeout = min(largestTimeout, check.Interval-1)
	}
	group, err := e.ELB.CreateGroup(s.Account, state.GroupSpec{
		Name:        name,
		Protocol:    s.protocol(),
		Port:        cmp.Or(s.Port, 80),
		VPC:         cmp.Or(s.VPC, e.EC2.FirstVPC().ID),
		TargetType:  cmp.Or(s.TargetType, state.TypeIP),
		AddressType: s.AddressType,
		HealthCheck: check,
	})
	if err != nil {
		return group, err
	}
	attributes := map[string]string{}
	maps.Copy(attributes, s.Attributes)
	if s.DeregistrationDelay != nil {
		attributes["deregistration_delay.timeout_seconds"] = strconv.Itoa(*s.DeregistrationDelay)
	}
	_, err = e.ELB.ModifyAttributes(group.ARN, attributes)
	return group, errors.Join(err, e.ELB.AddTags(group.ARN, s.Tags))
}

func (e *Emulator) vpc(s Service) ec2.VPC {
	if vpc, ok := e.EC2.VPC(s.VPC); ok {
		return vpc
	}
	return e.EC2.FirstVPC()
}

func (e *Emulator) createBalancer(name string, s Service) (state.Balancer, error) {
	return e.ELB.CreateBalancer(s.Account, state.BalancerSpec{
		Name:    name,
		Type:    s.Type,
		Subnets: subnets(e.vpc(s), s.Zones),

		SecurityGroups: s.SecurityGroups,
	})
}

// subnets picks one subnet for each zone.
func subnets(vpc ec2.VPC, zones []string) []string {
	wanted := map[string]bool{}
	for _, zone := range zones {
		wanted[zone] = true
	}
	seen := map[string]bool{}
	var ids []string
	for _, subnet := range vpc.Subnets {
		if (len(zones) == 0 || wanted[subnet.Zone]) && !seen[subnet.Zone] {
			seen[subnet.Zone] = true
			ids = append(ids, subnet.ID)
		}
	}
	return ids
}
