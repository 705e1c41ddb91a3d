// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package elbv2

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	awselbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
)

// DescribeLoadBalancers reads the load balancers of the names or ARNs, or all: all pages as one.
func (p *Provisioner) DescribeLoadBalancers(ctx context.Context, in *awselbv2.DescribeLoadBalancersInput) (
	*awselbv2.DescribeLoadBalancersOutput, error,
) {
	all := &awselbv2.DescribeLoadBalancersOutput{}
	what := one(append(in.LoadBalancerArns, in.Names...))
	return all, paged(ctx, p, "describing load balancers", what, (*awselbv2.Client).DescribeLoadBalancers, in,
		func(in *awselbv2.DescribeLoadBalancersInput, page *awselbv2.DescribeLoadBalancersOutput) bool {
			all.LoadBalancers = append(all.LoadBalancers, page.LoadBalancers...)
			return follow(&in.Marker, page.NextMarker)
		})
}

// DescribeTargetGroups reads the target groups of the names, the ARNs or the load balancer, or all: all pages as one.
func (p *Provisioner) DescribeTargetGroups(ctx context.Context, in *awselbv2.DescribeTargetGroupsInput) (
	*awselbv2.DescribeTargetGroupsOutput, error,
) {
	all := &awselbv2.DescribeTargetGroupsOutput{}
	what := one(append(in.TargetGroupArns, in.Names...))
	return all, paged(ctx, p, "describing target groups", what, (*awselbv2.Client).DescribeTargetGroups, in,
		func(in *awselbv2.DescribeTargetGroupsInput, page *awselbv2.DescribeTargetGroupsOutput) bool {
			all.TargetGroups = append(all.TargetGroups, page.TargetGroups...)
			return follow(&in.Marker, page.NextMarker)
		})
}

// DescribeListeners reads the listeners of a load balancer, or those of the ARNs: all pages as one.
func (p *Provisioner) DescribeListeners(ctx context.Context, in *awselbv2.DescribeListenersInput) (
	*awselbv2.DescribeListenersOutput, error,
) {
	all := &awselbv2.DescribeListenersOutput{}
	return all, paged(ctx, p, "describing listeners of load balancer", in.LoadBalancerArn, (*awselbv2.Client).DescribeListeners, in,
		func(in *awselbv2.DescribeListenersInput, page *awselbv2.DescribeListenersOutput) bool {
			all.Listeners = append(all.Listeners, page.Listeners...)
			return follow(&in.Marker, page.NextMarker)
		})
}

// DescribeRules reads the rules of a listener, the default one included: all pages as one.
func (p *Provisioner) DescribeRules(ctx context.Context, in *awselbv2.DescribeRulesInput) (
	*awselbv2.DescribeRulesOutput, error,
) {
	all := &awselbv2.DescribeRulesOutput{}
	return all, paged(ctx, p, "describing rules of listener", in.ListenerArn, (*awselbv2.Client).DescribeRules, in,
		func(in *awselbv2.DescribeRulesInput, page *awselbv2.DescribeRulesOutput) bool {
			all.Rules = append(all.Rules, page.Rules...)
			return follow(&in.Marker, page.NextMarker)
		})
}

// DescribeListenerCertificates reads the certificates of a listener, the default one included: all pages as one.
func (p *Provisioner) DescribeListenerCertificates(ctx context.Context, in *awselbv2.DescribeListenerCertificatesInput) (
	*awselbv2.DescribeListenerCertificatesOutput, error,
) {
	all := &awselbv2.DescribeListenerCertificatesOutput{}
	return all, paged(ctx, p, "describing certificates of listener", in.ListenerArn, (*awselbv2.Client).DescribeListenerCertificates, in,
		func(in *awselbv2.DescribeListenerCertificatesInput, page *awselbv2.DescribeListenerCertificatesOutput) bool {
			all.Certificates = append(all.Certificates, page.Certificates...)
			return follow(&in.Marker, page.NextMarker)
		})
}

// DescribeCapacityReservation reads which capacity is reserved for a load balancer.
func (p *Provisioner) DescribeCapacityReservation(ctx context.Context, in *awselbv2.DescribeCapacityReservationInput) (
	*awselbv2.DescribeCapacityReservationOutput, error,
) {
	return call(ctx, p, "describing the reserved capacity of load balancer", in.LoadBalancerArn,
		(*awselbv2.Client).DescribeCapacityReservation, in)
}

// DescribeTrustStores reads the trust stores of the names or ARNs, or all: all pages as one.
func (p *Provisioner) DescribeTrustStores(ctx context.Context, in *awselbv2.DescribeTrustStoresInput) (
	*awselbv2.DescribeTrustStoresOutput, error,
) {
	all := &awselbv2.DescribeTrustStoresOutput{}
	what := one(append(in.TrustStoreArns, in.Names...))
	return all, paged(ctx, p, "describing trust stores", what, (*awselbv2.Client).DescribeTrustStores, in,
		func(in *awselbv2.DescribeTrustStoresInput, page *awselbv2.DescribeTrustStoresOutput) bool {
			all.TrustStores = append(all.TrustStores, page.TrustStores...)
			return follow(&in.Marker, page.NextMarker)
		})
}

// tagsAtOnce is how many ARNs one DescribeTags may have.
const tagsAtOnce = 20

// DescribeTags reads the tags of any number of resources, 20 a call. AWS refuses a call one of whose resources does not exist.
func (p *Provisioner) DescribeTags(ctx context.Context, in *awselbv2.DescribeTagsInput) (*awselbv2.DescribeTagsOutput, error) {
	all := &awselbv2.DescribeTagsOutput{}
	for arns := range slices.Chunk(in.ResourceArns, tagsAtOnce) {
		some, err := call(ctx, p, "describing tags of", aws.String(manyOf(arns)), (*awselbv2.Client).DescribeTags,
			&awselbv2.DescribeTagsInput{ResourceArns: arns})
		if err != nil {
			return nil, err
		}
		all.TagDescriptions = append(all.TagDescriptions, some.TagDescriptions...)
	}
	return all, nil
}

// DescribeLoadBalancerAttributes reads the attributes of a load balancer.
func (p *Provisioner) DescribeLoadBalancerAttributes(ctx context.Context, in *awselbv2.DescribeLoadBalancerAttributesInput) (
	*awselbv2.DescribeLoadBalancerAttributesOutput, error,
) {
	return call(ctx, p, "describing attributes of load balancer", in.LoadBalancerArn, (*awselbv2.Client).DescribeLoadBalancerAttributes, in)
}

// DescribeTargetGroupAttributes reads the attributes of a target group.
func (p *Provisioner) DescribeTargetGroupAttributes(ctx context.Context, in *awselbv2.DescribeTargetGroupAttributesInput) (
	*awselbv2.DescribeTargetGroupAttributesOutput, error,
) {
	return call(ctx, p, "describing attributes of target group", in.TargetGroupArn, (*awselbv2.Client).DescribeTargetGroupAttributes, in)
}

// DescribeListenerAttributes reads the attributes of a listener.
func (p *Provisioner) DescribeListenerAttributes(ctx context.Context, in *awselbv2.DescribeListenerAttributesInput) (
	*awselbv2.DescribeListenerAttributesOutput, error,
) {
	return call(ctx, p, "describing attributes of listener", in.ListenerArn, (*awselbv2.Client).DescribeListenerAttributes, in)
}

// DescribeTargetHealth reads the health of targets of a target group.
func (p *Provisioner) DescribeTargetHealth(ctx context.Context, in *awselbv2.DescribeTargetHealthInput) (
	*awselbv2.DescribeTargetHealthOutput, error,
) {
	return call(ctx, p, "describing the health of targets in", in.TargetGroupArn, (*awselbv2.Client).DescribeTargetHealth, in)
}

// manyOf is the first of the ARNs, and how many others there are.
func manyOf(arns []string) string {
	if len(arns) == 1 {
		return arns[0]
	}
	return fmt.Sprintf("%s and %d others", arns[0], len(arns)-1)
}
