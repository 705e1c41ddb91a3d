// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
)

// reserve asks for capacity units, or gives them back with 0.
func (b *elbBed) reserve(lb string, units int32) error {
	in := &elb.ModifyCapacityReservationInput{LoadBalancerArn: &lb, ResetCapacityReservation: aws.Bool(true)}
	if units != 0 {
		in.MinimumLoadBalancerCapacity, in.ResetCapacityReservation = &types.MinimumLoadBalancerCapacity{CapacityUnits: &units}, nil
	}
	_, err := b.elb.ModifyCapacityReservation(ctx(b.t), in)
	return err
}

func (b *elbBed) capacity(lb string) *elb.DescribeCapacityReservationOutput {
	b.t.Helper()
	return must[*elb.DescribeCapacityReservationOutput](b.t)(
		b.elb.DescribeCapacityReservation(ctx(b.t), &elb.DescribeCapacityReservationInput{LoadBalancerArn: &lb}))
}

// step lets a reservation, or a load balancer, be provisioned.
func (b *elbBed) step() { b.clock.Step(5 * time.Minute) }

// TestCapacityReservationLife follows one from its request until it is given back.
func TestCapacityReservationLife(t *testing.T) {
	b := newELBBed(t)
	lb := b.balancer("lb")
	b.step()
	if got := b.capacity(lb); got.MinimumLoadBalancerCapacity != nil || len(got.CapacityReservationState) > 0 || got.LastModifiedTime != nil {
		t.Errorf("at first it is %+v, want no reservation", got)
	}
	wantCode(t, b.reserve(lb, 300), "")
	b.clock.Step(time.Minute - time.Second)
	got := b.capacity(lb)
	if *got.MinimumLoadBalancerCapacity.CapacityUnits != 300 || len(got.CapacityReservationState) != 2 ||
		got.CapacityReservationState[0].State.Code != "pending" || got.CapacityReservationState[0].EffectiveCapacityUnits != nil {
		t.Errorf("after the request it is %+v, want 300 units, pending in two zones", got)
	}
	_, err := b.elb.SetSubnets(ctx(t), &elb.SetSubnetsInput{LoadBalancerArn: &lb, Subnets: bothZones})
	wantCode(t, err, "CapacityReservationPending")
	b.step()
	got = b.capacity(lb)
	zone := got.CapacityReservationState[1]
	if *zone.AvailabilityZone != "eu-west-1b" || zone.State.Code != "provisioned" || *zone.EffectiveCapacityUnits != 150 || got.LastModifiedTime == nil {
		t.Errorf("after five minutes it is %+v, want 150 units provisioned in each zone", zone)
	}
	wantCode(t, b.reserve(lb, 0), "")
	b.step()
	if got := b.capacity(lb); got.MinimumLoadBalancerCapacity != nil || len(got.CapacityReservationState) > 0 || *got.DecreaseRequestsRemaining != 2 {
		t.Errorf("after the reset it is %+v, want no reservation and no decrease counted", got)
	}
}

func TestCapacityReservationRefusals(t *testing.T) {
	b := newELBBed(t)
	lb := b.balancer("lb")
	wantCode(t, b.reserve(lb, 100), "PriorRequestNotComplete")
	wantCode(t, b.reserve(lb+"x", 100), "LoadBalancerNotFound")
	b.step()
	wantCode(t, b.reserve(lb, -1), "ValidationError")
	for _, in := range []*elb.ModifyCapacityReservationInput{
		{LoadBalancerArn: &lb},
		{LoadBalancerArn: &lb, ResetCapacityReservation: aws.Bool(true), MinimumLoadBalancerCapacity: &types.MinimumLoadBalancerCapacity{CapacityUnits: aws.Int32(1)}},
	} {
		_, err := b.elb.ModifyCapacityReservation(ctx(t), in)
		wantCode(t, err, "ValidationError")
	}
	wantCode(t, b.reserve(lb, 15001), "CapacityUnitsLimitExceeded")
	b.machine.SetFreeCapacity(500)
	wantCode(t, b.reserve(lb, 501), "InsufficientCapacity")
	wantCode(t, b.reserve(lb, 500), "")
	wantCode(t, b.reserve(lb, 500), "CapacityReservationPending")
	for _, units := range []int32{400, 300} {
		b.step()
		wantCode(t, b.reserve(lb, units), "")
	}
	b.step()
	wantCode(t, b.reserve(lb, 200), "CapacityDecreaseRequestLimitExceeded")
	b.clock.Step(24 * time.Hour)
	wantCode(t, b.reserve(lb, 200), "")
	_, err := b.elb.DescribeCapacityReservation(ctx(t), &elb.DescribeCapacityReservationInput{LoadBalancerArn: aws.String(lb + "x")})
	wantCode(t, err, "LoadBalancerNotFound")
}

func TestPolicyForCapacity(t *testing.T) {
	b := newELBBed(t)
	lb := b.balancer("lb")
	b.step()
	b.server.SetPolicies("AKIATEST", policy(t, allows("elasticloadbalancing:ModifyCapacityReservation", lb, ""),
		allows("elasticloadbalancing:ModifyIpPools", lb+"x", "")))
	wantCode(t, b.reserve(lb, 100), "")
	_, err := b.elb.ModifyIpPools(ctx(t), &elb.ModifyIpPoolsInput{LoadBalancerArn: &lb, RemoveIpamPools: []types.RemoveIpamPoolEnum{"ipv4"}})
	wantCode(t, err, "AccessDenied")
	_, err = b.elb.DescribeCapacityReservation(ctx(t), &elb.DescribeCapacityReservationInput{LoadBalancerArn: &lb})
	wantCode(t, err, "AccessDenied")
}
