// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package elbv2

import (
	"context"

	awselbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
)

// API is the part of the SDK's client that we call, with the SDK's signatures.
type API interface {
	DescribeTargetGroups(context.Context, *awselbv2.DescribeTargetGroupsInput, ...func(*awselbv2.Options)) (
		*awselbv2.DescribeTargetGroupsOutput, error)
	DescribeTargetGroupAttributes(context.Context, *awselbv2.DescribeTargetGroupAttributesInput, ...func(*awselbv2.Options)) (
		*awselbv2.DescribeTargetGroupAttributesOutput, error)
	DescribeTargetHealth(context.Context, *awselbv2.DescribeTargetHealthInput, ...func(*awselbv2.Options)) (
		*awselbv2.DescribeTargetHealthOutput, error)
	DescribeTags(context.Context, *awselbv2.DescribeTagsInput, ...func(*awselbv2.Options)) (
		*awselbv2.DescribeTagsOutput, error)
	RegisterTargets(context.Context, *awselbv2.RegisterTargetsInput, ...func(*awselbv2.Options)) (
		*awselbv2.RegisterTargetsOutput, error)
	DeregisterTargets(context.Context, *awselbv2.DeregisterTargetsInput, ...func(*awselbv2.Options)) (
		*awselbv2.DeregisterTargetsOutput, error)
}

var _ API = (*awselbv2.Client)(nil)
