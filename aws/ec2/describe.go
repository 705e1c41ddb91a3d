// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ec2

import (
	"context"

	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
)

// DescribeSecurityGroups reads the security groups that pass the filters: all pages as one.
func (p *Provisioner) DescribeSecurityGroups(ctx context.Context, in *awsec2.DescribeSecurityGroupsInput) (
	*awsec2.DescribeSecurityGroupsOutput, error,
) {
	all := &awsec2.DescribeSecurityGroupsOutput{}
	return all, paged(ctx, p, "describing security groups", (*awsec2.Client).DescribeSecurityGroups, in,
		func(in *awsec2.DescribeSecurityGroupsInput, page *awsec2.DescribeSecurityGroupsOutput) bool {
			all.SecurityGroups = append(all.SecurityGroups, page.SecurityGroups...)
			return follow(&in.NextToken, page.NextToken)
		})
}

// DescribeSubnets reads the subnets that pass the filters: all pages as one.
func (p *Provisioner) DescribeSubnets(ctx context.Context, in *awsec2.DescribeSubnetsInput) (
	*awsec2.DescribeSubnetsOutput, error,
) {
	all := &awsec2.DescribeSubnetsOutput{}
	return all, paged(ctx, p, "describing subnets", (*awsec2.Client).DescribeSubnets, in,
		func(in *awsec2.DescribeSubnetsInput, page *awsec2.DescribeSubnetsOutput) bool {
			all.Subnets = append(all.Subnets, page.Subnets...)
			return follow(&in.NextToken, page.NextToken)
		})
}

// DescribeRouteTables reads the route tables that pass the filters: all pages as one.
func (p *Provisioner) DescribeRouteTables(ctx context.Context, in *awsec2.DescribeRouteTablesInput) (
	*awsec2.DescribeRouteTablesOutput, error,
) {
	all := &awsec2.DescribeRouteTablesOutput{}
	return all, paged(ctx, p, "describing route tables", (*awsec2.Client).DescribeRouteTables, in,
		func(in *awsec2.DescribeRouteTablesInput, page *awsec2.DescribeRouteTablesOutput) bool {
			all.RouteTables = append(all.RouteTables, page.RouteTables...)
			return follow(&in.NextToken, page.NextToken)
		})
}

// DescribeAvailabilityZones reads the Availability Zones, Local Zones and Wavelength Zones that the account may use.
func (p *Provisioner) DescribeAvailabilityZones(ctx context.Context, in *awsec2.DescribeAvailabilityZonesInput) (
	*awsec2.DescribeAvailabilityZonesOutput, error,
) {
	return call(ctx, p, "describing Availability Zones", (*awsec2.Client).DescribeAvailabilityZones, in)
}
