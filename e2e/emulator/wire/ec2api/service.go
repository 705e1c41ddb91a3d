// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ec2api

import (
	"strings"

	"github.com/targetgate/targetgate/e2e/emulator/refusal"
	"github.com/targetgate/targetgate/e2e/emulator/wire/call"
)

// Service is EC2.
var Service = call.Service{
	Version:     "2016-11-15",
	Prefix:      prefix,
	Permissions: call.OwnPermission,
	Resources:   resources,
	Further:     tagging,
	Denied:      unauthorized,
	Namespace:   "http://ec2.amazonaws.com/doc/2016-11-15/",
	Bucket:      bucket,
	Overload:    refusal.Error{Code: "RequestLimitExceeded", Message: "Request limit exceeded."},
	Tags:        tagsOf,
	Answer:      answer,
	Refusal:     refused,
	Actions: map[string]call.Action{
		"DescribeVpcs":                  describeVpcs,
		"DescribeInstances":             call.Only(describeInstances, "InstanceId", "Filter", "MaxResults", "NextToken"),
		"DescribeNetworkInterfaces":     call.Only(describeNetworkInterfaces, "NetworkInterfaceId", "Filter", "MaxResults", "NextToken"),
		"DescribeSecurityGroups":        call.Only(describeSecurityGroups, "GroupId", "Filter", "MaxResults", "NextToken"),
		"DescribeSubnets":               call.Only(describeSubnets, "SubnetId", "Filter", "MaxResults", "NextToken"),
		"DescribeRouteTables":           call.Only(describeRouteTables, "RouteTableId", "Filter", "MaxResults", "NextToken"),
		"DescribeAvailabilityZones":     call.Only(describeZones, "ZoneName", "Filter", "AllAvailabilityZones"),
		"CreateSecurityGroup":           call.Only(createSecurityGroup, "GroupName", "GroupDescription", "VpcId", "TagSpecification"),
		"DeleteSecurityGroup":           call.Only(deleteSecurityGroup, "GroupId"),
		"CreateTags":                    call.Only(createTags, "ResourceId", "Tag"),
		"DeleteTags":                    call.Only(deleteTags, "ResourceId", "Tag"),
		"AuthorizeSecurityGroupIngress": call.Only(authorizeSecurityGroupIngress, "GroupId", "IpPermissions"),
		"RevokeSecurityGroupIngress":    call.Only(revokeSecurityGroupIngress, "GroupId", "IpPermissions"),
	},
}

// bucket is an operation's own.
func bucket(q *call.Request) (name string, limit call.Limit) {
	name = "EC2 " + q.Operation
	switch {
	case !strings.HasPrefix(q.Operation, "Describe"):
		return name, call.EC2Change
	case q.Operation != "DescribeVpcs" && len(q.List("Filter")) == 0 && q.Text("MaxResults") == "":
		return name + " unfiltered", call.EC2Unfiltered
	}
	return name, call.EC2Describe
}
