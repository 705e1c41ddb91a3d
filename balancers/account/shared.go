// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package account

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"github.com/targetgate/targetgate/aws/ec2"
	"github.com/targetgate/targetgate/balancers/stack"
)

// Shared are the security groups that all load balancers of the cluster share: one, unless two controllers have made one each.
func (v *View) Shared(ctx context.Context) ([]stack.SecurityGroup, error) {
	if err := v.refresh(ctx, stack.ID{Cluster: v.Cluster}); err != nil {
		return nil, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return stack.Copy(v.shared), nil
}

// Uses is what uses a security group: load balancers, whoever's, and inbound rules of other security groups. It reads AWS now, in two
// calls.
func (v *View) Uses(ctx context.Context, group string) (uses stack.Uses, err error) {
	balancers, err := v.ELB.DescribeLoadBalancers(ctx, &elbv2.DescribeLoadBalancersInput{})
	if err != nil {
		return uses, err
	}
	for _, b := range balancers.LoadBalancers {
		if slices.Contains(b.SecurityGroups, group) {
			uses.LoadBalancers = append(uses.LoadBalancers, aws.ToString(b.LoadBalancerName))
		}
	}
	others, err := v.EC2.DescribeSecurityGroups(ctx, &awsec2.DescribeSecurityGroupsInput{Filters: []ec2types.Filter{
		{Name: aws.String("ip-permission.group-id"), Values: []string{group}},
	}})
	if err != nil {
		return uses, err
	}
	for _, other := range others.SecurityGroups {
		read, err := ec2.SecurityGroupOf(other)
		if err != nil {
			return uses, err
		}
		for _, p := range read.Ingress {
			if read.ID != group && p.Source.Group == group {
				uses.Rules = append(uses.Rules, stack.Use{Group: read.ID, Rule: inbound(p), Ours: p.IsOfBindings()})
			}
		}
	}
	return uses, nil
}
