// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package provision

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/targetgate/targetgate/aws/accounts"
)

// DescribeSecurityGroups reads the security groups that pass the filters: all pages as one.
func (e *EC2) DescribeSecurityGroups(ctx context.Context, in *ec2.DescribeSecurityGroupsInput) (
	*ec2.DescribeSecurityGroupsOutput, error,
) {
	all := &ec2.DescribeSecurityGroupsOutput{}
	return all, accounts.Pages(ctx, e.calls, "describing security groups", (*ec2.Client).DescribeSecurityGroups, in,
		func(in *ec2.DescribeSecurityGroupsInput, page *ec2.DescribeSecurityGroupsOutput) bool {
			all.SecurityGroups = append(all.SecurityGroups, page.SecurityGroups...)
			return accounts.Follow(&in.NextToken, page.NextToken)
		})
}

// DescribeSubnets reads the subnets that pass the filters: all pages as one.
func (e *EC2) DescribeSubnets(ctx context.Context, in *ec2.DescribeSubnetsInput) (
	*ec2.DescribeSubnetsOutput, error,
) {
	all := &ec2.DescribeSubnetsOutput{}
	return all, accounts.Pages(ctx, e.calls, "describing subnets", (*ec2.Client).DescribeSubnets, in,
		func(in *ec2.DescribeSubnetsInput, page *ec2.DescribeSubnetsOutput) bool {
			all.Subnets = append(all.Subnets, page.Subnets...)
			return accounts.Follow(&in.NextToken, page.NextToken)
		})
}

// DescribeRouteTables reads the route tables that pass the filters: all pages as one.
func (e *EC2) DescribeRouteTables(ctx context.Context, in *ec2.DescribeRouteTablesInput) (
	*ec2.DescribeRouteTablesOutput, error,
) {
	all := &ec2.DescribeRouteTablesOutput{}
	return all, accounts.Pages(ctx, e.calls, "describing route tables", (*ec2.Client).DescribeRouteTables, in,
		func(in *ec2.DescribeRouteTablesInput, page *ec2.DescribeRouteTablesOutput) bool {
			all.RouteTables = append(all.RouteTables, page.RouteTables...)
			return accounts.Follow(&in.NextToken, page.NextToken)
		})
}

// DescribeAvailabilityZones reads the Availability Zones, Local Zones and Wavelength Zones that the account may use.
func (e *EC2) DescribeAvailabilityZones(ctx context.Context, in *ec2.DescribeAvailabilityZonesInput) (
	*ec2.DescribeAvailabilityZonesOutput, error,
) {
	return accounts.Call(ctx, e.calls, "describing Availability Zones", (*ec2.Client).DescribeAvailabilityZones, in)
}
