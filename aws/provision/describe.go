// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package provision

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"github.com/targetgate/targetgate/aws/accounts"
)

// DescribeLoadBalancers reads the load balancers of the names or ARNs, or all: all pages as one.
func (r *Reader) DescribeLoadBalancers(ctx context.Context, in *elbv2.DescribeLoadBalancersInput) (
	*elbv2.DescribeLoadBalancersOutput, error,
) {
	all := &elbv2.DescribeLoadBalancersOutput{}
	what := one(append(in.LoadBalancerArns, in.Names...))
	return all, accounts.Pages(ctx, r.calls, about("describing load balancers", what), (*elbv2.Client).DescribeLoadBalancers, in,
		func(in *elbv2.DescribeLoadBalancersInput, page *elbv2.DescribeLoadBalancersOutput) bool {
			all.LoadBalancers = append(all.LoadBalancers, page.LoadBalancers...)
			return accounts.Follow(&in.Marker, page.NextMarker)
		})
}

// DescribeTargetGroups reads the target groups of the names, the ARNs or the load balancer, or all: all pages as one.
func (r *Reader) DescribeTargetGroups(ctx context.Context, in *elbv2.DescribeTargetGroupsInput) (
	*elbv2.DescribeTargetGroupsOutput, error,
) {
	all := &elbv2.DescribeTargetGroupsOutput{}
	what := one(append(in.TargetGroupArns, in.Names...))
	return all, accounts.Pages(ctx, r.calls, about("describing target groups", what), (*elbv2.Client).DescribeTargetGroups, in,
		func(in *elbv2.DescribeTargetGroupsInput, page *elbv2.DescribeTargetGroupsOutput) bool {
			all.TargetGroups = append(all.TargetGroups, page.TargetGroups...)
			return accounts.Follow(&in.Marker, page.NextMarker)
		})
}

// DescribeListeners reads the listeners of a load balancer, or those of the ARNs: all pages as one.
func (r *Reader) DescribeListeners(ctx context.Context, in *elbv2.DescribeListenersInput) (
	*elbv2.DescribeListenersOutput, error,
) {
	all := &elbv2.DescribeListenersOutput{}
	return all, accounts.Pages(ctx, r.calls, about("describing listeners of load balancer", in.LoadBalancerArn),
		(*elbv2.Client).DescribeListeners, in,
		func(in *elbv2.DescribeListenersInput, page *elbv2.DescribeListenersOutput) bool {
			all.Listeners = append(all.Listeners, page.Listeners...)
			return accounts.Follow(&in.Marker, page.NextMarker)
		})
}

// DescribeRules reads the rules of a listener, the default one included: all pages as one.
func (r *Reader) DescribeRules(ctx context.Context, in *elbv2.DescribeRulesInput) (
	*elbv2.DescribeRulesOutput, error,
) {
	all := &elbv2.DescribeRulesOutput{}
	return all, accounts.Pages(ctx, r.calls, about("describing rules of listener", in.ListenerArn), (*elbv2.Client).DescribeRules, in,
		func(in *elbv2.DescribeRulesInput, page *elbv2.DescribeRulesOutput) bool {
			all.Rules = append(all.Rules, page.Rules...)
			return accounts.Follow(&in.Marker, page.NextMarker)
		})
}

// DescribeListenerCertificates reads the certificates of a listener, the default one included: all pages as one.
func (r *Reader) DescribeListenerCertificates(ctx context.Context, in *elbv2.DescribeListenerCertificatesInput) (
	*elbv2.DescribeListenerCertificatesOutput, error,
) {
	all := &elbv2.DescribeListenerCertificatesOutput{}
	return all, accounts.Pages(ctx, r.calls, about("describing certificates of listener", in.ListenerArn),
		(*elbv2.Client).DescribeListenerCertificates, in,
		func(in *elbv2.DescribeListenerCertificatesInput, page *elbv2.DescribeListenerCertificatesOutput) bool {
			all.Certificates = append(all.Certificates, page.Certificates...)
			return accounts.Follow(&in.Marker, page.NextMarker)
		})
}

// DescribeCapacityReservation reads which capacity is reserved for a load balancer.
func (r *Reader) DescribeCapacityReservation(ctx context.Context, in *elbv2.DescribeCapacityReservationInput) (
	*elbv2.DescribeCapacityReservationOutput, error,
) {
	return accounts.Call(ctx, r.calls, about("describing the reserved capacity of load balancer", in.LoadBalancerArn),
		(*elbv2.Client).DescribeCapacityReservation, in)
}

// DescribeTrustStores reads the trust stores of the names or ARNs, or all: all pages as one.
func (r *Reader) DescribeTrustStores(ctx context.Context, in *elbv2.DescribeTrustStoresInput) (
	*elbv2.DescribeTrustStoresOutput, error,
) {
	all := &elbv2.DescribeTrustStoresOutput{}
	what := one(append(in.TrustStoreArns, in.Names...))
	return all, accounts.Pages(ctx, r.calls, about("describing trust stores", what), (*elbv2.Client).DescribeTrustStores, in,
		func(in *elbv2.DescribeTrustStoresInput, page *elbv2.DescribeTrustStoresOutput) bool {
			all.TrustStores = append(all.TrustStores, page.TrustStores...)
			return accounts.Follow(&in.Marker, page.NextMarker)
		})
}

// tagsAtOnce is how many ARNs one DescribeTags may have.
const tagsAtOnce = 20

// DescribeTags reads the tags of any number of resources, 20 a call. AWS refuses a call one of whose resources does not exist.
func (r *Reader) DescribeTags(ctx context.Context, in *elbv2.DescribeTagsInput) (*elbv2.DescribeTagsOutput, error) {
	all := &elbv2.DescribeTagsOutput{}
	for arns := range slices.Chunk(in.ResourceArns, tagsAtOnce) {
		some, err := accounts.Call(ctx, r.calls, about("describing tags of", aws.String(manyOf(arns))), (*elbv2.Client).DescribeTags,
			&elbv2.DescribeTagsInput{ResourceArns: arns})
		if err != nil {
			return nil, err
		}
		all.TagDescriptions = append(all.TagDescriptions, some.TagDescriptions...)
	}
	return all, nil
}

// DescribeLoadBalancerAttributes reads the attributes of a load balancer.
func (r *Reader) DescribeLoadBalancerAttributes(ctx context.Context, in *elbv2.DescribeLoadBalancerAttributesInput) (
	*elbv2.DescribeLoadBalancerAttributesOutput, error,
) {
	return accounts.Call(ctx, r.calls, about("describing attributes of load balancer", in.LoadBalancerArn),
		(*elbv2.Client).DescribeLoadBalancerAttributes, in)
}

// DescribeTargetGroupAttributes reads the attributes of a target group.
func (r *Reader) DescribeTargetGroupAttributes(ctx context.Context, in *elbv2.DescribeTargetGroupAttributesInput) (
	*elbv2.DescribeTargetGroupAttributesOutput, error,
) {
	return accounts.Call(ctx, r.calls, about("describing attributes of target group", in.TargetGroupArn),
		(*elbv2.Client).DescribeTargetGroupAttributes, in)
}

// DescribeListenerAttributes reads the attributes of a listener.
func (r *Reader) DescribeListenerAttributes(ctx context.Context, in *elbv2.DescribeListenerAttributesInput) (
	*elbv2.DescribeListenerAttributesOutput, error,
) {
	return accounts.Call(ctx, r.calls, about("describing attributes of listener", in.ListenerArn),
		(*elbv2.Client).DescribeListenerAttributes, in)
}

// DescribeTargetHealth reads the health of targets of a target group.
func (r *Reader) DescribeTargetHealth(ctx context.Context, in *elbv2.DescribeTargetHealthInput) (
	*elbv2.DescribeTargetHealthOutput, error,
) {
	return accounts.Call(ctx, r.calls, about("describing the health of targets in", in.TargetGroupArn),
		(*elbv2.Client).DescribeTargetHealth, in)
}

// manyOf is the first of the ARNs, and how many others there are.
func manyOf(arns []string) string {
	if len(arns) == 1 {
		return arns[0]
	}
	return fmt.Sprintf("%s and %d others", arns[0], len(arns)-1)
}
