// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package elbv2

import (
	"context"

	awselbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
)

// CreateLoadBalancer makes a load balancer.
func (p *Provisioner) CreateLoadBalancer(ctx context.Context, in *awselbv2.CreateLoadBalancerInput) (
	*awselbv2.CreateLoadBalancerOutput, error,
) {
	return call(ctx, p, "creating load balancer", in.Name, (*awselbv2.Client).CreateLoadBalancer, in)
}

// SetSubnets replaces the subnets of a load balancer.
func (p *Provisioner) SetSubnets(ctx context.Context, in *awselbv2.SetSubnetsInput) (
	*awselbv2.SetSubnetsOutput, error,
) {
	return call(ctx, p, "setting the subnets of load balancer", in.LoadBalancerArn, (*awselbv2.Client).SetSubnets, in)
}

// SetSecurityGroups replaces the security groups of a load balancer.
func (p *Provisioner) SetSecurityGroups(ctx context.Context, in *awselbv2.SetSecurityGroupsInput) (
	*awselbv2.SetSecurityGroupsOutput, error,
) {
	return call(ctx, p, "setting the security groups of load balancer", in.LoadBalancerArn, (*awselbv2.Client).SetSecurityGroups, in)
}

// SetIpAddressType changes the address families of a load balancer.
func (p *Provisioner) SetIpAddressType(ctx context.Context, in *awselbv2.SetIpAddressTypeInput) ( //nolint:revive // the SDK's name
	*awselbv2.SetIpAddressTypeOutput, error,
) {
	return call(ctx, p, "setting the address type of load balancer", in.LoadBalancerArn, (*awselbv2.Client).SetIpAddressType, in)
}

// ModifyLoadBalancerAttributes sets the attributes that are named.
func (p *Provisioner) ModifyLoadBalancerAttributes(ctx context.Context, in *awselbv2.ModifyLoadBalancerAttributesInput) (
	*awselbv2.ModifyLoadBalancerAttributesOutput, error,
) {
	return call(ctx, p, "modifying attributes of load balancer", in.LoadBalancerArn, (*awselbv2.Client).ModifyLoadBalancerAttributes, in)
}

// ModifyIpPools says from which pool a load balancer takes public addresses.
func (p *Provisioner) ModifyIpPools(ctx context.Context, in *awselbv2.ModifyIpPoolsInput) ( //nolint:revive // the SDK's name
	*awselbv2.ModifyIpPoolsOutput, error,
) {
	return call(ctx, p, "setting the address pool of load balancer", in.LoadBalancerArn, (*awselbv2.Client).ModifyIpPools, in)
}

// ModifyCapacityReservation reserves capacity for a load balancer.
func (p *Provisioner) ModifyCapacityReservation(ctx context.Context, in *awselbv2.ModifyCapacityReservationInput) (
	*awselbv2.ModifyCapacityReservationOutput, error,
) {
	return call(ctx, p, "reserving capacity for load balancer", in.LoadBalancerArn, (*awselbv2.Client).ModifyCapacityReservation, in)
}

// DeleteLoadBalancer deletes a load balancer with its listeners and rules.
func (p *Provisioner) DeleteLoadBalancer(ctx context.Context, in *awselbv2.DeleteLoadBalancerInput) (
	*awselbv2.DeleteLoadBalancerOutput, error,
) {
	return call(ctx, p, "deleting load balancer", in.LoadBalancerArn, (*awselbv2.Client).DeleteLoadBalancer, in)
}

// CreateTargetGroup makes a target group.
func (p *Provisioner) CreateTargetGroup(ctx context.Context, in *awselbv2.CreateTargetGroupInput) (
	*awselbv2.CreateTargetGroupOutput, error,
) {
	return call(ctx, p, "creating target group", in.Name, (*awselbv2.Client).CreateTargetGroup, in)
}

// ModifyTargetGroup changes the health check of a target group.
func (p *Provisioner) ModifyTargetGroup(ctx context.Context, in *awselbv2.ModifyTargetGroupInput) (
	*awselbv2.ModifyTargetGroupOutput, error,
) {
	return call(ctx, p, "modifying target group", in.TargetGroupArn, (*awselbv2.Client).ModifyTargetGroup, in)
}

// ModifyTargetGroupAttributes sets the attributes that are named.
func (p *Provisioner) ModifyTargetGroupAttributes(ctx context.Context, in *awselbv2.ModifyTargetGroupAttributesInput) (
	*awselbv2.ModifyTargetGroupAttributesOutput, error,
) {
	return call(ctx, p, "modifying attributes of target group", in.TargetGroupArn, (*awselbv2.Client).ModifyTargetGroupAttributes, in)
}

// DeleteTargetGroup deletes a target group that nothing sends to.
func (p *Provisioner) DeleteTargetGroup(ctx context.Context, in *awselbv2.DeleteTargetGroupInput) (
	*awselbv2.DeleteTargetGroupOutput, error,
) {
	return call(ctx, p, "deleting target group", in.TargetGroupArn, (*awselbv2.Client).DeleteTargetGroup, in)
}

// AddTags adds tags, and replaces their values.
func (p *Provisioner) AddTags(ctx context.Context, in *awselbv2.AddTagsInput) (
	*awselbv2.AddTagsOutput, error,
) {
	return call(ctx, p, "adding tags to", one(in.ResourceArns), (*awselbv2.Client).AddTags, in)
}

// RemoveTags removes tags.
func (p *Provisioner) RemoveTags(ctx context.Context, in *awselbv2.RemoveTagsInput) (
	*awselbv2.RemoveTagsOutput, error,
) {
	return call(ctx, p, "removing tags from", one(in.ResourceArns), (*awselbv2.Client).RemoveTags, in)
}

// RegisterTargets registers targets in a target group.
func (p *Provisioner) RegisterTargets(ctx context.Context, in *awselbv2.RegisterTargetsInput) (*awselbv2.RegisterTargetsOutput, error) {
	return call(ctx, p, "registering the target of target group", in.TargetGroupArn, (*awselbv2.Client).RegisterTargets, in)
}
