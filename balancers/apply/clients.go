// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"

	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"github.com/targetgate/targetgate/aws/ec2"
	"github.com/targetgate/targetgate/aws/provision"
	"github.com/targetgate/targetgate/aws/shield"
	"github.com/targetgate/targetgate/aws/wafclassic"
	"github.com/targetgate/targetgate/aws/wafv2"
)

var (
	_ ELB            = (*provision.ELB)(nil)
	_ SecurityGroups = (*provision.EC2)(nil)
	_ WebACLs        = (*wafv2.Client)(nil)
	_ WebACLs        = (*wafclassic.Client)(nil)
	_ Protections    = (*shield.Client)(nil)
)

// Calls are the calls that steps are made of, charged to one class of the budget.
type Calls struct {
	ELB ELB
	EC2 SecurityGroups
	WAF WebACLs

	WAFClassic WebACLs
	Shield     Protections
}

// ELB are those of Elastic Load Balancing.
type ELB interface {
	LoadBalancers
	Listeners
	Rules
	TargetGroups
	AddTags(context.Context, *elbv2.AddTagsInput) (*elbv2.AddTagsOutput, error)
	RemoveTags(context.Context, *elbv2.RemoveTagsInput) (*elbv2.RemoveTagsOutput, error)
	DescribeTags(context.Context, *elbv2.DescribeTagsInput) (*elbv2.DescribeTagsOutput, error)
}

// LoadBalancers are the calls about load balancers.
type LoadBalancers interface {
	DescribeLoadBalancers(context.Context, *elbv2.DescribeLoadBalancersInput) (*elbv2.DescribeLoadBalancersOutput, error)
	CreateLoadBalancer(context.Context, *elbv2.CreateLoadBalancerInput) (*elbv2.CreateLoadBalancerOutput, error)
	SetSubnets(context.Context, *elbv2.SetSubnetsInput) (*elbv2.SetSubnetsOutput, error)
	SetSecurityGroups(context.Context, *elbv2.SetSecurityGroupsInput) (*elbv2.SetSecurityGroupsOutput, error)
	SetIpAddressType(context.Context, *elbv2.SetIpAddressTypeInput) (*elbv2.SetIpAddressTypeOutput, error)
	ModifyLoadBalancerAttributes(context.Context, *elbv2.ModifyLoadBalancerAttributesInput) (
		*elbv2.ModifyLoadBalancerAttributesOutput, error)
	ModifyIpPools(context.Context, *elbv2.ModifyIpPoolsInput) (*elbv2.ModifyIpPoolsOutput, error)
	ModifyCapacityReservation(context.Context, *elbv2.ModifyCapacityReservationInput) (*elbv2.ModifyCapacityReservationOutput, error)
	DeleteLoadBalancer(context.Context, *elbv2.DeleteLoadBalancerInput) (*elbv2.DeleteLoadBalancerOutput, error)
}

// Listeners are the calls about listeners and their certificates.
type Listeners interface {
	CreateListener(context.Context, *elbv2.CreateListenerInput) (*elbv2.CreateListenerOutput, error)
	ModifyListener(context.Context, *elbv2.ModifyListenerInput) (*elbv2.ModifyListenerOutput, error)
	ModifyListenerAttributes(context.Context, *elbv2.ModifyListenerAttributesInput) (*elbv2.ModifyListenerAttributesOutput, error)
	AddListenerCertificates(context.Context, *elbv2.AddListenerCertificatesInput) (*elbv2.AddListenerCertificatesOutput, error)
	RemoveListenerCertificates(context.Context, *elbv2.RemoveListenerCertificatesInput) (*elbv2.RemoveListenerCertificatesOutput, error)
	DeleteListener(context.Context, *elbv2.DeleteListenerInput) (*elbv2.DeleteListenerOutput, error)
}

// Rules are the calls about rules.
type Rules interface {
	CreateRule(context.Context, *elbv2.CreateRuleInput) (*elbv2.CreateRuleOutput, error)
	ModifyRule(context.Context, *elbv2.ModifyRuleInput) (*elbv2.ModifyRuleOutput, error)
	SetRulePriorities(context.Context, *elbv2.SetRulePrioritiesInput) (*elbv2.SetRulePrioritiesOutput, error)
	DeleteRule(context.Context, *elbv2.DeleteRuleInput) (*elbv2.DeleteRuleOutput, error)
}

// TargetGroups are the calls about target groups.
type TargetGroups interface {
	DescribeTargetGroups(context.Context, *elbv2.DescribeTargetGroupsInput) (*elbv2.DescribeTargetGroupsOutput, error)
	DescribeTargetHealth(context.Context, *elbv2.DescribeTargetHealthInput) (*elbv2.DescribeTargetHealthOutput, error)
	CreateTargetGroup(context.Context, *elbv2.CreateTargetGroupInput) (*elbv2.CreateTargetGroupOutput, error)
	ModifyTargetGroup(context.Context, *elbv2.ModifyTargetGroupInput) (*elbv2.ModifyTargetGroupOutput, error)
	ModifyTargetGroupAttributes(context.Context, *elbv2.ModifyTargetGroupAttributesInput) (
		*elbv2.ModifyTargetGroupAttributesOutput, error)
	RegisterTargets(context.Context, *elbv2.RegisterTargetsInput) (*elbv2.RegisterTargetsOutput, error)
	DeleteTargetGroup(context.Context, *elbv2.DeleteTargetGroupInput) (*elbv2.DeleteTargetGroupOutput, error)
}

// SecurityGroups are the calls of EC2.
type SecurityGroups interface {
	DescribeSecurityGroups(context.Context, *awsec2.DescribeSecurityGroupsInput) (*awsec2.DescribeSecurityGroupsOutput, error)
	CreateSecurityGroup(context.Context, *awsec2.CreateSecurityGroupInput) (*awsec2.CreateSecurityGroupOutput, error)
	DeleteSecurityGroup(context.Context, *awsec2.DeleteSecurityGroupInput) (*awsec2.DeleteSecurityGroupOutput, error)
	CreateTags(context.Context, *awsec2.CreateTagsInput) (*awsec2.CreateTagsOutput, error)
	DeleteTags(context.Context, *awsec2.DeleteTagsInput) (*awsec2.DeleteTagsOutput, error)
	// Authorize and Revoke add and remove rules, all or none.
	Authorize(ctx context.Context, group string, rules []ec2.Permission) error
	Revoke(ctx context.Context, group string, rules []ec2.Permission) error
}

// WebACLs are the calls of WAF, and those of WAF Classic.
type WebACLs interface {
	// Associate has the web ACL guard the load balancer, in place of another one.
	Associate(ctx context.Context, loadBalancer, webACL string) error
	// Disassociate leaves the load balancer without a web ACL.
	Disassociate(ctx context.Context, loadBalancer string) error
}

// Protections are the calls of Shield.
type Protections interface {
	// Protect protects a load balancer.
	Protect(ctx context.Context, loadBalancer string) error
	// Unprotect ends a protection.
	Unprotect(ctx context.Context, id string) error
}
