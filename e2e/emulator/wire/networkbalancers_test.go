// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/targetgate/targetgate/e2e/emulator/cloud"
	"github.com/targetgate/targetgate/e2e/emulator/ec2"
	"github.com/targetgate/targetgate/e2e/emulator/region"
	"github.com/targetgate/targetgate/e2e/emulator/state"
)

const (
	eipA, eipB, eipForeign = "eipalloc-0a", "eipalloc-0b", "eipalloc-0f"
	bad                    = "InvalidConfigurationRequest"
)

// newNLBBed has two VPCs, and two Elastic IP addresses of the caller's account and one of another.
func newNLBBed(t *testing.T) *elbBed {
	t.Helper()
	b := newELBBed(t, func(opts *cloud.Options) {
		opts.EC2.VPCs = []ec2.VPC{ec2.DefaultVPC(region.DefaultName), ec2.PeeredVPC(region.DefaultName)}
	})
	for id, address := range map[string]string{eipA: "203.0.113.1", eipB: "203.0.113.2"} {
		b.machine.PutAllocation(state.Allocation{ID: id, Address: netip.MustParseAddr(address)})
	}
	b.machine.PutAllocation(state.Allocation{ID: eipForeign, Account: "210987654321"})
	return b
}

// mappings are one for each zone, with the Elastic IP addresses in order.
func mappings(allocations ...string) []types.SubnetMapping {
	var all []types.SubnetMapping
	for n, subnet := range bothZones {
		mapping := types.SubnetMapping{SubnetId: &subnet}
		if n < len(allocations) {
			mapping.AllocationId = &allocations[n]
		}
		all = append(all, mapping)
	}
	return all
}

func (b *elbBed) network(name string, allocations ...string) (types.LoadBalancer, error) {
	out, err := b.elb.CreateLoadBalancer(ctx(b.t), &elb.CreateLoadBalancerInput{
		Name: &name, Type: "network", SubnetMappings: mappings(allocations...),
	})
	if err != nil {
		return types.LoadBalancer{}, err
	}
	return out.LoadBalancers[0], nil
}

// elastic are the addresses and allocations of a load balancer, by zone.
func elastic(lb types.LoadBalancer) map[string]string {
	found := map[string]string{}
	for _, zone := range lb.AvailabilityZones {
		for _, a := range zone.LoadBalancerAddresses {
			found[*zone.ZoneName] = *a.AllocationId + " " + *a.IpAddress
		}
	}
	return found
}

// TestElasticAddresses follows two from one load balancer to the next.
func TestElasticAddresses(t *testing.T) {
	b := newNLBBed(t)
	lb := must[types.LoadBalancer](t)(b.network("one", eipA, eipB))
	both := map[string]string{"eu-west-1a": eipA + " 203.0.113.1", "eu-west-1b": eipB + " 203.0.113.2"}
	if diff := cmp.Diff(both, elastic(b.described(*lb.LoadBalancerArn))); diff != "" {
		t.Errorf("addresses (-want +got):\n%s", diff)
	}
	if again := must[types.LoadBalancer](t)(b.network("one", eipA, eipB)); *again.LoadBalancerArn != *lb.LoadBalancerArn {
		t.Errorf("the same request made another one, %s", *again.LoadBalancerArn)
	}
	_, err := b.network("one", eipB, eipA)
	wantCode(t, err, "DuplicateLoadBalancerName")
	_, err = b.network("two", eipA)
	wantCode(t, err, "ResourceInUse")
	set := func(allocations ...string) error {
		_, err := b.elb.SetSubnets(ctx(t), &elb.SetSubnetsInput{LoadBalancerArn: lb.LoadBalancerArn, SubnetMappings: mappings(allocations...)})
		return err
	}
	wantCode(t, set(eipB, eipA), bad)
	wantCode(t, set(eipA), bad)
	wantCode(t, set(), bad)
	wantCode(t, set(eipA, eipB), "")
	_, err = b.elb.SetSubnets(ctx(t), &elb.SetSubnetsInput{LoadBalancerArn: lb.LoadBalancerArn, SubnetMappings: mappings(eipA)[:1]})
	wantCode(t, err, "")
	if diff := cmp.Diff(map[string]string{"eu-west-1a": both["eu-west-1a"]}, elastic(b.described(*lb.LoadBalancerArn))); diff != "" {
		t.Errorf("addresses after SetSubnets (-want +got):\n%s", diff)
	}
	wantCode(t, set(eipA, eipForeign), "AllocationIdNotFound")
	must[*elb.DeleteLoadBalancerOutput](t)(b.elb.DeleteLoadBalancer(ctx(t), &elb.DeleteLoadBalancerInput{LoadBalancerArn: lb.LoadBalancerArn}))
	_, err = b.network("two", eipA)
	wantCode(t, err, "ResourceInUse")
	b.clock.Step(2 * time.Minute)
	_, err = b.network("two", eipA)
	wantCode(t, err, "")
}

// TestAZoneKeepsItsSubnet has a Network Load Balancer leave a zone before it comes back in another subnet. Others exchange it at once.
func TestAZoneKeepsItsSubnet(t *testing.T) {
	b := newNLBBed(t)
	set := func(arn string, ids ...string) error {
		_, err := b.elb.SetSubnets(ctx(t), &elb.SetSubnetsInput{LoadBalancerArn: &arn, Subnets: ids})
		return err
	}
	nlb, alb := *must[types.LoadBalancer](t)(b.network("nlb")).LoadBalancerArn, b.balancer("alb")
	wantCode(t, set(alb, subnetSix, bothZones[1]), "")
	wantCode(t, set(nlb, subnetSix, bothZones[1]), bad)
	wantCode(t, set(nlb, bothZones[1]), "")
	wantCode(t, set(nlb, subnetSix, bothZones[1]), "")
}

func TestSubnetMappingCodes(t *testing.T) {
	private := mappings()
	private[0].PrivateIPv4Address = aws.String("10.0.0.9")
	for name, tc := range map[string]struct {
		in   elb.CreateLoadBalancerInput
		want string
	}{
		"an application load balancer": {elb.CreateLoadBalancerInput{SubnetMappings: mappings(eipA, eipB)}, bad},
		"an internal one":              {elb.CreateLoadBalancerInput{Type: "network", Scheme: "internal", SubnetMappings: mappings(eipA)}, bad},
		"no such address":              {elb.CreateLoadBalancerInput{Type: "network", SubnetMappings: mappings("eipalloc-0x")}, "AllocationIdNotFound"},
		"another account's address":    {elb.CreateLoadBalancerInput{Type: "network", SubnetMappings: mappings(eipForeign)}, "AllocationIdNotFound"},
		"one address twice":            {elb.CreateLoadBalancerInput{Type: "network", SubnetMappings: mappings(eipA, eipA)}, "ResourceInUse"},
		"subnets, too":                 {elb.CreateLoadBalancerInput{Type: "network", SubnetMappings: mappings(), Subnets: bothZones}, "ValidationError"},
		"a private address":            {elb.CreateLoadBalancerInput{Type: "network", SubnetMappings: private}, "UnknownParameter"},
		"none":                         {elb.CreateLoadBalancerInput{SubnetMappings: mappings()}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := newNLBBed(t)
			tc.in.Name = aws.String("lb")
			_, err := b.elb.CreateLoadBalancer(ctx(t), &tc.in)
			wantCode(t, err, tc.want)
		})
	}
}

func TestNetworkLoadBalancerNameAndAttributes(t *testing.T) {
	b := newNLBBed(t)
	out := must[*elb.CreateLoadBalancerOutput](t)(b.elb.CreateLoadBalancer(ctx(t), &elb.CreateLoadBalancerInput{
		Name: aws.String("front"), Type: "network", Scheme: "internal", Subnets: bothZones[:1],
	}))
	lb := out.LoadBalancers[0]
	if name := *lb.DNSName; !strings.HasPrefix(name, "front-") || !strings.HasSuffix(name, ".elb.eu-west-1.amazonaws.com") {
		t.Errorf("DNS name is %s, want front-ID.elb.eu-west-1.amazonaws.com", name)
	}
	set := func(key, value string) error {
		_, err := b.elb.ModifyLoadBalancerAttributes(ctx(t), &elb.ModifyLoadBalancerAttributesInput{
			LoadBalancerArn: lb.LoadBalancerArn, Attributes: []types.LoadBalancerAttribute{{Key: &key, Value: &value}},
		})
		return err
	}
	wantCode(t, set("dns_record.client_routing_policy", "availability_zone_affinity"), "")
	wantCode(t, set("dns_record.client_routing_policy", "nearest"), "ValidationError")
	wantCode(t, set("secondary_ips.auto_assigned.per_subnet", "7"), "")
	wantCode(t, set("secondary_ips.auto_assigned.per_subnet", "8"), "ValidationError")
	wantCode(t, set("idle_timeout.timeout_seconds", "60"), "ValidationError")
	shown := must[*elb.DescribeLoadBalancerAttributesOutput](t)(
		b.elb.DescribeLoadBalancerAttributes(ctx(t), &elb.DescribeLoadBalancerAttributesInput{LoadBalancerArn: lb.LoadBalancerArn}))
	got := map[string]string{}
	for _, a := range shown.Attributes {
		got[*a.Key] = *a.Value
	}
	if got["dns_record.client_routing_policy"] != "availability_zone_affinity" || got["ipv6.deny_all_igw_traffic"] != "true" {
		t.Errorf("attributes are %v", got)
	}
}

// albGroup makes a target group for an ALB of a VPC at a port.
func (b *elbBed) albGroup(name, vpc string, port int) string {
	b.t.Helper()
	out := must[*elb.CreateTargetGroupOutput](b.t)(b.elb.CreateTargetGroup(ctx(b.t), &elb.CreateTargetGroupInput{
		Name: &name, Protocol: "TCP", Port: aws.Int32(int32(port)), VpcId: &vpc, TargetType: "alb",
		HealthCheckProtocol: "HTTP", HealthCheckIntervalSeconds: aws.Int32(15), HealthCheckTimeoutSeconds: aws.Int32(5),
		Matcher: &types.Matcher{HttpCode: aws.String("200")},
	}))
	return *out.TargetGroups[0].TargetGroupArn
}

func (b *elbBed) registerALB(group string, target types.TargetDescription) error {
	_, err := b.elb.RegisterTargets(ctx(b.t), &elb.RegisterTargetsInput{TargetGroupArn: &group, Targets: []types.TargetDescription{target}})
	return err
}

// TestListenerOfATargetStays has an ALB give a port back only when it is no longer registered there.
func TestListenerOfATargetStays(t *testing.T) {
	b := newNLBBed(t)
	alb := b.balancer("alb")
	listener := b.listener(alb, 80, fixed("200"))
	group := b.albGroup("front", ec2.DefaultVPCID, 80)
	nlb := *must[types.LoadBalancer](t)(b.network("nlb")).LoadBalancerArn
	must[*elb.CreateListenerOutput](t)(b.elb.CreateListener(ctx(t), &elb.CreateListenerInput{
		LoadBalancerArn: &nlb, Port: aws.Int32(80), Protocol: "TCP", DefaultActions: []types.Action{forward(group)},
	}))
	target := types.TargetDescription{Id: &alb}
	wantCode(t, b.registerALB(group, target), "")
	remove := func() error {
		_, err := b.elb.DeleteListener(ctx(t), &elb.DeleteListenerInput{ListenerArn: &listener})
		return err
	}
	move := func() error {
		_, err := b.elb.ModifyListener(ctx(t), &elb.ModifyListenerInput{ListenerArn: &listener, Port: aws.Int32(81)})
		return err
	}
	wantCode(t, remove(), "ResourceInUse")
	wantCode(t, move(), "ResourceInUse")
	_, err := b.elb.ModifyListener(ctx(t), &elb.ModifyListenerInput{ListenerArn: &listener, DefaultActions: []types.Action{fixed("201")}})
	wantCode(t, err, "")
	in := &elb.DeregisterTargetsInput{TargetGroupArn: &group, Targets: []types.TargetDescription{target}}
	must[*elb.DeregisterTargetsOutput](t)(b.elb.DeregisterTargets(ctx(t), in))
	if lines := must[[]types.TargetHealthDescription](t)(b.health(group)); lines[0].TargetHealth.State != "draining" {
		t.Errorf("target is %s, want draining", lines[0].TargetHealth.State)
	}
	wantCode(t, move(), "")
	wantCode(t, remove(), "")
}

// TestAnALBCountsAsManyTargets of a Network Load Balancer, at each port.
func TestAnALBCountsAsManyTargets(t *testing.T) {
	for name, tc := range map[string]struct {
		crossZone string
		ports     int
	}{"in each zone": {"false", 2}, "in all zones": {"true", 1}} {
		t.Run(name, func(t *testing.T) {
			b := newELBBed(t, func(opts *cloud.Options) { opts.ELB.Quotas.TargetsPerNLBZone = 100 })
			alb, nlb := b.balancer("alb"), *must[types.LoadBalancer](t)(b.network("nlb")).LoadBalancerArn
			attributes := []types.LoadBalancerAttribute{{Key: aws.String("load_balancing.cross_zone.enabled"), Value: &tc.crossZone}}
			must[*elb.ModifyLoadBalancerAttributesOutput](t)(b.elb.ModifyLoadBalancerAttributes(ctx(t), &elb.ModifyLoadBalancerAttributesInput{
				LoadBalancerArn: &nlb, Attributes: attributes,
			}))
			for port := 80; port <= 80+tc.ports; port++ {
				b.listener(alb, port, fixed("200"))
				group := b.albGroup(fmt.Sprint("front-", port), ec2.DefaultVPCID, port)
				must[*elb.CreateListenerOutput](t)(b.elb.CreateListener(ctx(t), &elb.CreateListenerInput{
					LoadBalancerArn: &nlb, Port: aws.Int32(int32(port)), Protocol: "TCP", DefaultActions: []types.Action{forward(group)},
				}))
				want := map[bool]string{true: "TooManyTargets"}[port == 80+tc.ports]
				wantCode(t, b.registerALB(group, types.TargetDescription{Id: &alb}), want)
			}
		})
	}
}

func TestALBTargetCodes(t *testing.T) {
	b := newNLBBed(t)
	alb, other := b.balancer("alb"), b.balancer("other")
	b.listener(alb, 80, fixed("200"))
	b.listener(other, 81, fixed("200"))
	group, none := b.albGroup("front", ec2.DefaultVPCID, 80), b.albGroup("none", ec2.DefaultVPCID, 443)
	peered := b.albGroup("peered", ec2.PeeredVPCID, 80)
	zone := aws.String("eu-west-1a")
	for name, tc := range map[string]struct {
		group  string
		target types.TargetDescription
		want   string
	}{
		"no listener at the group's port": {none, types.TargetDescription{Id: &alb}, "ValidationError"},
		"no listener at its own port":     {group, types.TargetDescription{Id: &alb, Port: aws.Int32(81)}, "ValidationError"},
		"no such load balancer":           {group, types.TargetDescription{Id: aws.String(alb + "x")}, "InvalidTarget"},
		"one of another VPC":              {peered, types.TargetDescription{Id: &alb}, "InvalidTarget"},
		"an address":                      {group, types.TargetDescription{Id: aws.String("10.0.0.1")}, "InvalidTarget"},
		"a zone":                          {group, types.TargetDescription{Id: &alb, AvailabilityZone: zone}, "ValidationError"},
		"a listener at a port of its own": {none, types.TargetDescription{Id: &alb, Port: aws.Int32(80)}, ""},
	} {
		t.Run(name, func(t *testing.T) { wantCode(t, b.registerALB(tc.group, tc.target), tc.want) })
	}
	wantCode(t, b.registerALB(none, types.TargetDescription{Id: &other, Port: aws.Int32(81)}), "TooManyTargets")
	_, err := b.elb.ModifyTargetGroupAttributes(ctx(t), &elb.ModifyTargetGroupAttributesInput{
		TargetGroupArn: &group, Attributes: []types.TargetGroupAttribute{{Key: aws.String("deregistration_delay.timeout_seconds"), Value: aws.String("0")}},
	})
	wantCode(t, err, bad)
	attributes := must[map[string]string](t)(b.machine.Attributes(group))
	if attributes["preserve_client_ip.enabled"] != "true" {
		t.Errorf("attributes are %v, want clients' addresses kept", attributes)
	}
}
