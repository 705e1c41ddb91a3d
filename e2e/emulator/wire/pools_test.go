// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/targetgate/targetgate/e2e/emulator/cloud"
	"github.com/targetgate/targetgate/e2e/emulator/ec2"
	"github.com/targetgate/targetgate/e2e/emulator/region"
)

const (
	publicPool  = "ipam-pool-0123456789abcdef0"
	outpostPool = "ipv4pool-coip-0123456789abcdef0"

	outpostSubnet = "subnet-0c000000000000009"
)

// onOutposts adds a subnet on an Outpost to the VPC.
func onOutposts(opts *cloud.Options) {
	vpc := ec2.DefaultVPC(region.DefaultName)
	outpost := vpc.Subnets[2]
	outpost.ID, outpost.Outpost = outpostSubnet, "arn:aws:outposts:eu-west-1:123456789012:outpost/op-0123456789abcdef0"
	vpc.Subnets = append(vpc.Subnets, outpost)
	opts.EC2.VPCs = []ec2.VPC{vpc}
}

func (b *elbBed) described(lb string) types.LoadBalancer {
	b.t.Helper()
	in := &elb.DescribeLoadBalancersInput{LoadBalancerArns: []string{lb}}
	return must[*elb.DescribeLoadBalancersOutput](b.t)(b.elb.DescribeLoadBalancers(ctx(b.t), in)).LoadBalancers[0]
}

func pools(id string) *types.IpamPools { return &types.IpamPools{Ipv4IpamPoolId: &id} }

func TestIPAMPools(t *testing.T) {
	b := newELBBed(t)
	b.machine.PutPool(publicPool)
	b.machine.PutPool(publicPool + "a")
	in := &elb.CreateLoadBalancerInput{Name: aws.String("lb"), Subnets: bothZones, IpamPools: pools(publicPool)}
	lb := *must[*elb.CreateLoadBalancerOutput](t)(b.elb.CreateLoadBalancer(ctx(t), in)).LoadBalancers[0].LoadBalancerArn
	want := func(pool string) {
		t.Helper()
		got := ""
		if shown := b.described(lb).IpamPools; shown != nil {
			got = *shown.Ipv4IpamPoolId
		}
		if got != pool {
			t.Errorf("pool is %q, want %q", got, pool)
		}
	}
	want(publicPool)
	in.IpamPools = pools(publicPool + "a")
	_, err := b.elb.CreateLoadBalancer(ctx(t), in)
	wantCode(t, err, "DuplicateLoadBalancerName")
	out := must[*elb.ModifyIpPoolsOutput](t)(b.elb.ModifyIpPools(ctx(t), &elb.ModifyIpPoolsInput{LoadBalancerArn: &lb, IpamPools: pools(publicPool + "a")}))
	if *out.IpamPools.Ipv4IpamPoolId != publicPool+"a" {
		t.Errorf("answer is %+v", out.IpamPools)
	}
	want(publicPool + "a")
	remove := []types.RemoveIpamPoolEnum{"ipv4"}
	must[*elb.ModifyIpPoolsOutput](t)(b.elb.ModifyIpPools(ctx(t), &elb.ModifyIpPoolsInput{LoadBalancerArn: &lb, RemoveIpamPools: remove}))
	want("")
	for name, tc := range map[string]struct {
		in   elb.ModifyIpPoolsInput
		want string
	}{
		"no load balancer":  {elb.ModifyIpPoolsInput{LoadBalancerArn: aws.String(lb + "x"), IpamPools: pools(publicPool)}, "LoadBalancerNotFound"},
		"no such pool":      {elb.ModifyIpPoolsInput{LoadBalancerArn: &lb, IpamPools: pools(publicPool + "x")}, "ValidationError"},
		"no pool by form":   {elb.ModifyIpPoolsInput{LoadBalancerArn: &lb, IpamPools: pools("pool-1")}, "ValidationError"},
		"nothing":           {elb.ModifyIpPoolsInput{LoadBalancerArn: &lb}, "ValidationError"},
		"both":              {elb.ModifyIpPoolsInput{LoadBalancerArn: &lb, IpamPools: pools(publicPool), RemoveIpamPools: remove}, "ValidationError"},
		"another to remove": {elb.ModifyIpPoolsInput{LoadBalancerArn: &lb, RemoveIpamPools: []types.RemoveIpamPoolEnum{"ipv6"}}, "ValidationError"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := b.elb.ModifyIpPools(ctx(t), &tc.in)
			wantCode(t, err, tc.want)
		})
	}
}

func TestCustomerOwnedPool(t *testing.T) {
	b := newELBBed(t, onOutposts)
	b.machine.PutPool(outpostPool)
	in := &elb.CreateLoadBalancerInput{Name: aws.String("lb"), Subnets: []string{outpostSubnet}, CustomerOwnedIpv4Pool: aws.String(outpostPool)}
	made := must[*elb.CreateLoadBalancerOutput](t)(b.elb.CreateLoadBalancer(ctx(t), in)).LoadBalancers[0]
	shown := b.described(*made.LoadBalancerArn)
	if aws.ToString(shown.CustomerOwnedIpv4Pool) != outpostPool || aws.ToString(shown.AvailabilityZones[0].OutpostId) != "op-0123456789abcdef0" {
		t.Errorf("load balancer is %+v, want its pool and Outpost", shown)
	}
}

func TestPoolCodesOfCreation(t *testing.T) {
	const bad, invalid = "InvalidConfigurationRequest", "ValidationError"
	for name, tc := range map[string]struct {
		in   elb.CreateLoadBalancerInput
		want string
	}{
		"an internal one":                 {elb.CreateLoadBalancerInput{IpamPools: pools(publicPool), Scheme: "internal"}, bad},
		"a network load balancer":         {elb.CreateLoadBalancerInput{IpamPools: pools(publicPool), Type: "network"}, bad},
		"no such pool":                    {elb.CreateLoadBalancerInput{IpamPools: pools(publicPool + "x")}, invalid},
		"a customer's away from Outposts": {elb.CreateLoadBalancerInput{CustomerOwnedIpv4Pool: aws.String(outpostPool)}, bad},
		"a customer's that is not there":  {elb.CreateLoadBalancerInput{CustomerOwnedIpv4Pool: aws.String(outpostPool + "x"), Subnets: []string{outpostSubnet}}, invalid},
		"a customer's without its form":   {elb.CreateLoadBalancerInput{CustomerOwnedIpv4Pool: aws.String(publicPool), Subnets: []string{outpostSubnet}}, invalid},
	} {
		t.Run(name, func(t *testing.T) {
			b := newELBBed(t, onOutposts)
			b.machine.PutPool(publicPool)
			b.machine.PutPool(outpostPool)
			tc.in.Name = aws.String("lb")
			if tc.in.Subnets == nil {
				tc.in.Subnets = bothZones
			}
			_, err := b.elb.CreateLoadBalancer(ctx(t), &tc.in)
			wantCode(t, err, tc.want)
		})
	}
}
