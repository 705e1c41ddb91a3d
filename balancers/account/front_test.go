// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package account

import (
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

// What stands in front is a stack of its own, with the load balancers that are its targets.
func TestFrontIsSeen(t *testing.T) {
	c := newCloud()
	c.add("alb", tagged("shop"))
	c.add("nlb", stack.Tags("c", stack.Ingresses, "shop", stack.FrontPart))
	c.balancers[1].Type = types.LoadBalancerTypeEnumNetwork
	c.balancers[1].AvailabilityZones = []types.AvailabilityZone{{SubnetId: aws.String("subnet-b")}, {
		SubnetId: aws.String("subnet-a"), LoadBalancerAddresses: []types.LoadBalancerAddress{{AllocationId: aws.String("eipalloc-0a")}},
	}}
	c.add("other", stack.Tags("c", stack.Ingresses, "shop", stack.FrontPart)) // an Application Load Balancer that is none
	c.groups = []types.TargetGroup{{TargetGroupArn: aws.String("group"), VpcId: aws.String("vpc")}}
	c.tags["group"] = stack.Tags("c", stack.Ingresses, "shop", stack.FrontGroupPart(80))
	state := func(state types.TargetHealthStateEnum, port int32) types.TargetHealthDescription {
		return types.TargetHealthDescription{
			Target: &types.TargetDescription{Id: aws.String("alb"), Port: &port}, TargetHealth: &types.TargetHealth{State: state},
		}
	}
	c.targets = map[string][]types.TargetHealthDescription{
		"group": {state(types.TargetHealthStateEnumHealthy, 80), state(types.TargetHealthStateEnumDraining, 81)},
	}
	v, _ := viewOf(c)
	seen, err := v.Stack(t.Context(), id("shop"))
	if err != nil {
		t.Fatal(err)
	}
	if len(seen.LoadBalancers) != 1 || len(seen.TargetGroups) != 0 || seen.Front == nil {
		t.Fatalf("seen %+v", seen)
	}
	front := seen.Front
	if len(front.LoadBalancers) != 1 || c.calls["Rules"] != 1 {
		t.Errorf("in front stands %+v; rules were read %d times", front.LoadBalancers, c.calls["Rules"])
	}
	if b := front.LoadBalancers[0]; !slices.Equal(b.Subnets, []string{"subnet-a", "subnet-b"}) || !slices.Equal(b.Allocations, []string{"eipalloc-0a", ""}) {
		t.Errorf("subnets %v, addresses %q", b.Subnets, b.Allocations)
	}
	if g := front.TargetGroups[0]; g.Target.ID != "alb" || g.TargetPort != 80 {
		t.Errorf("the target is %+v", g)
	}

	shop := seen.ID
	more := steps.SetSubnets{LoadBalancer: stack.Ref{ID: "nlb"}, Subnets: []string{"subnet-c", "subnet-a"}, Allocations: []string{"", "eipalloc-0a"}}
	v.Note(shop, more, steps.Made{})
	if seen, err = v.Stack(t.Context(), shop); err != nil {
		t.Fatal(err)
	}
	if b := seen.Front.LoadBalancers[0]; !slices.Equal(b.Subnets, []string{"subnet-a", "subnet-c"}) || !slices.Equal(b.Allocations, []string{"eipalloc-0a", ""}) {
		t.Errorf("noted subnets %v, addresses %q", b.Subnets, b.Allocations)
	}
	v.Note(shop, steps.CreateTargetGroup{Group: stack.TargetGroup{Part: stack.FrontGroupPart(81)}}, steps.Made{ID: "new"})
	v.Note(shop, steps.RegisterLoadBalancer{Group: stack.Ref{ID: "new"}, Target: stack.Ref{ID: "alb"}, Port: 81}, steps.Made{})
	v.Note(shop, steps.DeleteLoadBalancer{LoadBalancer: stack.Ref{ID: "nlb"}}, steps.Made{})
	v.Note(shop, steps.CreateLoadBalancer{LoadBalancer: stack.LoadBalancer{Network: true, Name: "again"}}, steps.Made{ID: "nlb2"})
	if seen, err = v.Stack(t.Context(), shop); err != nil {
		t.Fatal(err)
	}
	front = seen.Front
	if g := front.TargetGroups[1]; g.Target.ID != "alb" || g.TargetPort != 81 {
		t.Errorf("the new target is %+v", g)
	}
	if len(front.LoadBalancers) != 1 || front.LoadBalancers[0].ARN != "nlb2" {
		t.Errorf("in front stands %+v", front.LoadBalancers)
	}
}
