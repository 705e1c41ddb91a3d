// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ec2

import (
	"context"

	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
)

// API is the part of the SDK's client that we call, with the SDK's signatures.
type API interface {
	DescribeInstances(context.Context, *awsec2.DescribeInstancesInput, ...func(*awsec2.Options)) (
		*awsec2.DescribeInstancesOutput, error)
	DescribeNetworkInterfaces(context.Context, *awsec2.DescribeNetworkInterfacesInput, ...func(*awsec2.Options)) (
		*awsec2.DescribeNetworkInterfacesOutput, error)
	DescribeSecurityGroups(context.Context, *awsec2.DescribeSecurityGroupsInput, ...func(*awsec2.Options)) (
		*awsec2.DescribeSecurityGroupsOutput, error)
	AuthorizeSecurityGroupIngress(context.Context, *awsec2.AuthorizeSecurityGroupIngressInput, ...func(*awsec2.Options)) (
		*awsec2.AuthorizeSecurityGroupIngressOutput, error)
	RevokeSecurityGroupIngress(context.Context, *awsec2.RevokeSecurityGroupIngressInput, ...func(*awsec2.Options)) (
		*awsec2.RevokeSecurityGroupIngressOutput, error)
}

var _ API = (*awsec2.Client)(nil)
