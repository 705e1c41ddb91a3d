// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package account

import (
	"context"

	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"github.com/targetgate/targetgate/aws/acm"
)

// ELB are the calls of Elastic Load Balancing. Each answers with all pages.
type ELB interface {
	DescribeLoadBalancers(context.Context, *elbv2.DescribeLoadBalancersInput) (*elbv2.DescribeLoadBalancersOutput, error)
	DescribeTargetGroups(context.Context, *elbv2.DescribeTargetGroupsInput) (*elbv2.DescribeTargetGroupsOutput, error)
	// DescribeTags takes any number of ARNs.
	DescribeTags(context.Context, *elbv2.DescribeTagsInput) (*elbv2.DescribeTagsOutput, error)
	DescribeListeners(context.Context, *elbv2.DescribeListenersInput) (*elbv2.DescribeListenersOutput, error)
	DescribeRules(context.Context, *elbv2.DescribeRulesInput) (*elbv2.DescribeRulesOutput, error)
	DescribeListenerCertificates(context.Context, *elbv2.DescribeListenerCertificatesInput) (
		*elbv2.DescribeListenerCertificatesOutput, error)
	DescribeLoadBalancerAttributes(context.Context, *elbv2.DescribeLoadBalancerAttributesInput) (
		*elbv2.DescribeLoadBalancerAttributesOutput, error)
	DescribeTargetHealth(context.Context, *elbv2.DescribeTargetHealthInput) (*elbv2.DescribeTargetHealthOutput, error)
	DescribeTargetGroupAttributes(context.Context, *elbv2.DescribeTargetGroupAttributesInput) (
		*elbv2.DescribeTargetGroupAttributesOutput, error)
	DescribeListenerAttributes(context.Context, *elbv2.DescribeListenerAttributesInput) (*elbv2.DescribeListenerAttributesOutput, error)
	DescribeCapacityReservation(context.Context, *elbv2.DescribeCapacityReservationInput) (*elbv2.DescribeCapacityReservationOutput, error)
	DescribeTrustStores(context.Context, *elbv2.DescribeTrustStoresInput) (*elbv2.DescribeTrustStoresOutput, error)
}

// SecurityGroups are the calls of EC2 for security groups. Each answers with all pages.
type SecurityGroups interface {
	DescribeSecurityGroups(context.Context, *awsec2.DescribeSecurityGroupsInput) (*awsec2.DescribeSecurityGroupsOutput, error)
}

// WebACLs are the calls of WAF, and those of WAF Classic, which has IDs in place of ARNs and names.
type WebACLs interface {
	// WebACL is the ARN of the web ACL that guards the load balancer, "" for none.
	WebACL(ctx context.Context, loadBalancer string) (string, error)
	// Named is the ARN of the regional web ACL of that name, "" if there is none.
	Named(ctx context.Context, name string) (string, error)
}

// Protections are the calls of Shield.
type Protections interface {
	// Protection is that of the load balancer, and whether it is ours; it has no ID when there is none.
	Protection(ctx context.Context, loadBalancer string) (id string, own bool, err error)
	// Subscribed reports whether the account can have protections.
	Subscribed(context.Context) (bool, error)
}

// Certificates are the calls of Certificate Manager.
type Certificates interface {
	Issued(context.Context) ([]string, error)
	Certificate(ctx context.Context, arn string) (acm.Certificate, error)
}
