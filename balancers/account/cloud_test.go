// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package account

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/smithy-go"
)

// cloud is an account in memory; it counts calls.
type cloud struct {
	mu        sync.Mutex
	balancers []types.LoadBalancer
	groups    []types.TargetGroup
	security  []ec2types.SecurityGroup
	tags      map[string]map[string]string
	listeners map[string][]types.Listener // by load balancer
	rules     map[string][]types.Rule     // by listener
	targets   map[string][]types.TargetHealthDescription
	denied    bool            // attributes may not be read
	unfound   map[string]bool // ARNs of load balancers that are listed and not found
	calls     map[string]int
	during    func() // runs in the first DescribeTargetGroups
}

func newCloud() *cloud {
	return &cloud{
		tags: map[string]map[string]string{}, listeners: map[string][]types.Listener{}, rules: map[string][]types.Rule{}, calls: map[string]int{},
	}
}

func (c *cloud) count(operation string) func() {
	c.mu.Lock()
	c.calls[operation]++
	return c.mu.Unlock
}

func (c *cloud) add(arn string, tags map[string]string) {
	c.balancers = append(c.balancers, types.LoadBalancer{
		LoadBalancerArn: aws.String(arn), VpcId: aws.String("vpc"), Type: types.LoadBalancerTypeEnumApplication,
		State: &types.LoadBalancerState{Code: types.LoadBalancerStateEnumActive},
	})
	c.tags[arn] = tags
	c.listeners[arn] = []types.Listener{{ListenerArn: aws.String(arn + "/80"), Port: aws.Int32(80), Protocol: types.ProtocolEnumHttp}}
}

// read is AWS's refusal of what may not be read.
func (c *cloud) read() error {
	if c.denied {
		return &smithy.GenericAPIError{Code: "AccessDenied", Fault: smithy.FaultClient}
	}
	return nil
}

// find is AWS's refusal of what it does not find.
func (c *cloud) find(arns ...string) error {
	if slices.ContainsFunc(arns, func(arn string) bool { return c.unfound[arn] }) {
		return &smithy.GenericAPIError{Code: "LoadBalancerNotFound", Fault: smithy.FaultClient}
	}
	return nil
}

func (c *cloud) DescribeLoadBalancers(_ context.Context, in *elbv2.DescribeLoadBalancersInput) (*elbv2.DescribeLoadBalancersOutput, error) {
	defer c.count("LoadBalancers")()
	if err := c.find(in.LoadBalancerArns...); err != nil {
		return nil, err
	}
	return &elbv2.DescribeLoadBalancersOutput{LoadBalancers: append([]types.LoadBalancer(nil), c.balancers...)}, nil
}

func (c *cloud) DescribeTargetGroups(context.Context, *elbv2.DescribeTargetGroupsInput) (*elbv2.DescribeTargetGroupsOutput, error) {
	if during := c.during; during != nil {
		c.during = nil
		during()
	}
	defer c.count("TargetGroups")()
	return &elbv2.DescribeTargetGroupsOutput{TargetGroups: append([]types.TargetGroup(nil), c.groups...)}, nil
}

func (c *cloud) DescribeTags(_ context.Context, in *elbv2.DescribeTagsInput) (*elbv2.DescribeTagsOutput, error) {
	defer c.count("Tags")()
	out := &elbv2.DescribeTagsOutput{}
	for _, arn := range in.ResourceArns {
		d := types.TagDescription{ResourceArn: aws.String(arn)}
		for key, value := range c.tags[arn] {
			d.Tags = append(d.Tags, types.Tag{Key: aws.String(key), Value: aws.String(value)})
		}
		out.TagDescriptions = append(out.TagDescriptions, d)
	}
	return out, nil
}

func (c *cloud) DescribeListeners(_ context.Context, in *elbv2.DescribeListenersInput) (*elbv2.DescribeListenersOutput, error) {
	defer c.count("Listeners")()
	return &elbv2.DescribeListenersOutput{Listeners: c.listeners[*in.LoadBalancerArn]}, nil
}

func (c *cloud) DescribeRules(_ context.Context, in *elbv2.DescribeRulesInput) (*elbv2.DescribeRulesOutput, error) {
	defer c.count("Rules")()
	return &elbv2.DescribeRulesOutput{Rules: c.rules[*in.ListenerArn]}, nil
}

func (c *cloud) DescribeListenerCertificates(context.Context, *elbv2.DescribeListenerCertificatesInput) (
	*elbv2.DescribeListenerCertificatesOutput, error,
) {
	return &elbv2.DescribeListenerCertificatesOutput{}, nil
}

func (c *cloud) DescribeLoadBalancerAttributes(_ context.Context, in *elbv2.DescribeLoadBalancerAttributesInput) (
	*elbv2.DescribeLoadBalancerAttributesOutput, error,
) {
	defer c.count("Attributes")()
	return &elbv2.DescribeLoadBalancerAttributesOutput{}, errors.Join(c.find(*in.LoadBalancerArn), c.read())
}

func (c *cloud) DescribeTargetGroupAttributes(context.Context, *elbv2.DescribeTargetGroupAttributesInput) (
	*elbv2.DescribeTargetGroupAttributesOutput, error,
) {
	defer c.count("TargetGroupAttributes")()
	return &elbv2.DescribeTargetGroupAttributesOutput{}, nil
}

func (c *cloud) DescribeTargetHealth(_ context.Context, in *elbv2.DescribeTargetHealthInput) (*elbv2.DescribeTargetHealthOutput, error) {
	defer c.count("TargetHealth")()
	return &elbv2.DescribeTargetHealthOutput{TargetHealthDescriptions: c.targets[*in.TargetGroupArn]}, nil
}

func (c *cloud) DescribeListenerAttributes(context.Context, *elbv2.DescribeListenerAttributesInput) (
	*elbv2.DescribeListenerAttributesOutput, error,
) {
	defer c.count("Attributes")()
	return &elbv2.DescribeListenerAttributesOutput{}, c.read()
}

func (c *cloud) DescribeCapacityReservation(context.Context, *elbv2.DescribeCapacityReservationInput) (
	*elbv2.DescribeCapacityReservationOutput, error,
) {
	defer c.count("CapacityReservation")()
	return &elbv2.DescribeCapacityReservationOutput{}, nil
}

func (c *cloud) DescribeTrustStores(context.Context, *elbv2.DescribeTrustStoresInput) (*elbv2.DescribeTrustStoresOutput, error) {
	return &elbv2.DescribeTrustStoresOutput{}, nil
}

func (c *cloud) DescribeSecurityGroups(context.Context, *awsec2.DescribeSecurityGroupsInput) (*awsec2.DescribeSecurityGroupsOutput, error) {
	defer c.count("SecurityGroups")()
	return &awsec2.DescribeSecurityGroupsOutput{SecurityGroups: c.security}, nil
}
