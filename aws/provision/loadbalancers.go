// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package provision

import (
	"context"

	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"github.com/targetgate/targetgate/aws/accounts"
)

// CreateLoadBalancer makes a load balancer.
func (e *ELB) CreateLoadBalancer(ctx context.Context, in *elbv2.CreateLoadBalancerInput) (
	*elbv2.CreateLoadBalancerOutput, error,
) {
	return accounts.Call(ctx, e.calls, about("creating load balancer", in.Name), (*elbv2.Client).CreateLoadBalancer, in)
}

// SetSubnets replaces the subnets of a load balancer.
func (e *ELB) SetSubnets(ctx context.Context, in *elbv2.SetSubnetsInput) (
	*elbv2.SetSubnetsOutput, error,
) {
	return accounts.Call(ctx, e.calls, about("setting the subnets of load balancer", in.LoadBalancerArn), (*elbv2.Client).SetSubnets, in)
}

// SetSecurityGroups replaces the security groups of a load balancer.
func (e *ELB) SetSecurityGroups(ctx context.Context, in *elbv2.SetSecurityGroupsInput) (
	*elbv2.SetSecurityGroupsOutput, error,
) {
	return accounts.Call(ctx, e.calls, about("setting the security groups of load balancer", in.LoadBalancerArn),
		(*elbv2.Client).SetSecurityGroups, in)
}

// SetIpAddressType changes the address families of a load balancer.
func (e *ELB) SetIpAddressType(ctx context.Context, in *elbv2.SetIpAddressTypeInput) ( //nolint:revive // the SDK's name
	*elbv2.SetIpAddressTypeOutput, error,
) {
	return accounts.Call(ctx, e.calls, about("setting the address type of load balancer", in.LoadBalancerArn),
		(*elbv2.Client).SetIpAddressType, in)
}

// ModifyLoadBalancerAttributes sets the attributes that are named.
func (e *ELB) ModifyLoadBalancerAttributes(ctx context.Context, in *elbv2.ModifyLoadBalancerAttributesInput) (
	*elbv2.ModifyLoadBalancerAttributesOutput, error,
) {
	return accounts.Call(ctx, e.calls, about("modifying attributes of load balancer", in.LoadBalancerArn),
		(*elbv2.Client).ModifyLoadBalancerAttributes, in)
}

// ModifyIpPools says from which pool a load balancer takes public addresses.
func (e *ELB) ModifyIpPools(ctx context.Context, in *elbv2.ModifyIpPoolsInput) ( //nolint:revive // the SDK's name
	*elbv2.ModifyIpPoolsOutput, error,
) {
	return accounts.Call(ctx, e.calls, about("setting the address pool of load balancer", in.LoadBalancerArn),
		(*elbv2.Client).ModifyIpPools, in)
}

// ModifyCapacityReservation reserves capacity for a load balancer.
func (e *ELB) ModifyCapacityReservation(ctx context.Context, in *elbv2.ModifyCapacityReservationInput) (
	*elbv2.ModifyCapacityReservationOutput, error,
) {
	return accounts.Call(ctx, e.calls, about("reserving capacity for load balancer", in.LoadBalancerArn),
		(*elbv2.Client).ModifyCapacityReservation, in)
}

// DeleteLoadBalancer deletes a load balancer with its listeners and rules.
func (e *ELB) DeleteLoadBalancer(ctx context.Context, in *elbv2.DeleteLoadBalancerInput) (
	*elbv2.DeleteLoadBalancerOutput, error,
) {
	return accounts.Call(ctx, e.calls, about("deleting load balancer", in.LoadBalancerArn), (*elbv2.Client).DeleteLoadBalancer, in)
}

// CreateTargetGroup makes a target group.
func (e *ELB) CreateTargetGroup(ctx context.Context, in *elbv2.CreateTargetGroupInput) (
	*elbv2.CreateTargetGroupOutput, error,
) {
	return accounts.Call(ctx, e.calls, about("creating target group", in.Name), (*elbv2.Client).CreateTargetGroup, in)
}

// ModifyTargetGroup changes the health check of a target group.
func (e *ELB) ModifyTargetGroup(ctx context.Context, in *elbv2.ModifyTargetGroupInput) (
	*elbv2.ModifyTargetGroupOutput, error,
) {
	return accounts.Call(ctx, e.calls, about("modifying target group", in.TargetGroupArn), (*elbv2.Client).ModifyTargetGroup, in)
}

// ModifyTargetGroupAttributes sets the attributes that are named.
func (e *ELB) ModifyTargetGroupAttributes(ctx context.Context, in *elbv2.ModifyTargetGroupAttributesInput) (
	*elbv2.ModifyTargetGroupAttributesOutput, error,
) {
	return accounts.Call(ctx, e.calls, about("modifying attributes of target group", in.TargetGroupArn),
		(*elbv2.Client).ModifyTargetGroupAttributes, in)
}

// DeleteTargetGroup deletes a target group that nothing sends to.
func (e *ELB) DeleteTargetGroup(ctx context.Context, in *elbv2.DeleteTargetGroupInput) (
	*elbv2.DeleteTargetGroupOutput, error,
) {
	return accounts.Call(ctx, e.calls, about("deleting target group", in.TargetGroupArn), (*elbv2.Client).DeleteTargetGroup, in)
}

// AddTags adds tags, and replaces their values.
func (e *ELB) AddTags(ctx context.Context, in *elbv2.AddTagsInput) (
	*elbv2.AddTagsOutput, error,
) {
	return accounts.Call(ctx, e.calls, about("adding tags to", one(in.ResourceArns)), (*elbv2.Client).AddTags, in)
}

// RemoveTags removes tags.
func (e *ELB) RemoveTags(ctx context.Context, in *elbv2.RemoveTagsInput) (
	*elbv2.RemoveTagsOutput, error,
) {
	return accounts.Call(ctx, e.calls, about("removing tags from", one(in.ResourceArns)), (*elbv2.Client).RemoveTags, in)
}

// RegisterTargets registers targets in a target group.
func (e *ELB) RegisterTargets(ctx context.Context, in *elbv2.RegisterTargetsInput) (*elbv2.RegisterTargetsOutput, error) {
	return accounts.Call(ctx, e.calls, about("registering the target of target group", in.TargetGroupArn),
		(*elbv2.Client).RegisterTargets, in)
}
