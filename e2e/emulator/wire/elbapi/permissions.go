// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package elbapi

import (
	"slices"
	"strings"

	"github.com/targetgate/targetgate/e2e/emulator/state"
	"github.com/targetgate/targetgate/e2e/emulator/wire/call"
)

// resources are those that the call names. Describe operations know no resources, and what is created has no id yet.
func resources(q *call.Request) []string {
	if strings.HasPrefix(q.Operation, "Describe") {
		return []string{"*"}
	}
	switch q.Operation {
	case "CreateTargetGroup", "CreateLoadBalancer":
		return []string{created(q)}
	}
	named := q.Texts("ResourceArns.member")
	for _, entry := range q.List("RulePriorities.member") {
		named = append(named, entry.Text("RuleArn"))
	}
	for _, parameter := range []string{"TargetGroupArn", "LoadBalancerArn", "ListenerArn", "RuleArn"} {
		if arn := q.Text(parameter); arn != "" {
			named = append(named, arn)
		}
	}
	return named
}

// created is what a call creates, with a star for the id that it has not got yet.
func created(q *call.Request) string {
	arn := func(resource string) string {
		return q.Cloud.Region.ARN("elasticloadbalancing", q.Caller.Account, resource)
	}
	switch q.Operation {
	case "CreateTargetGroup":
		return arn("targetgroup/" + q.Text("Name") + "/*")
	case "CreateLoadBalancer":
		kind := "app"
		if q.Text("Type") == state.Network {
			kind = "net"
		}
		return arn("loadbalancer/" + kind + "/" + q.Text("Name") + "/*")
	case "CreateListener":
		return strings.Replace(q.Text("LoadBalancerArn"), ":loadbalancer/", ":listener/", 1) + "/*"
	case "CreateRule":
		return strings.Replace(q.Text("ListenerArn"), ":listener/", ":listener-rule/", 1) + "/*"
	}
	return ""
}

// inEC2 are the actions in EC2 that a caller must be allowed besides, as these calls look there in the caller's name: those of the page
// "Elastic Load Balancing API permissions" in AWS's User Guide, and GetSecurityGroupsForVpc, which refusals of CreateLoadBalancer name.
var inEC2 = map[string][]string{
	"CreateLoadBalancer": {
		"DescribeAccountAttributes", "DescribeAddresses", "DescribeInternetGateways", "DescribeSecurityGroups", "DescribeSubnets", "DescribeVpcs",
		"GetSecurityGroupsForVpc",
	},
	"CreateTargetGroup": {"DescribeInternetGateways", "DescribeVpcs"},
	"RegisterTargets":   {"DescribeInstances", "DescribeInternetGateways", "DescribeSubnets", "DescribeVpcs"},
	"SetIpAddressType":  {"DescribeSubnets"},
	"SetSubnets":        {"DescribeSubnets"},
}

// ofCustomerPools are needed besides by a call that names a customer's pool of addresses: aws-load-balancer-controller #1803.
var ofCustomerPools = []string{"DescribeCoipPools", "GetCoipPoolUsage"}

// further has a call need what it needs in EC2 and, where it creates with tags, AddTags on what it creates. Conditions may ask which call
// it is. A login at a user pool needs the right to look at its client.
func further(q *call.Request) error {
	needed := inEC2[q.Operation]
	if q.Text("CustomerOwnedIpv4Pool") != "" {
		needed = slices.Concat(needed, ofCustomerPools)
	}
	for _, action := range needed {
		if err := q.Permit("ec2:"+action, "*", q.Keys("*")); err != nil {
			return err
		}
	}
	for _, pool := range userPools(q) {
		if err := q.Permit("cognito-idp:DescribeUserPoolClient", pool, q.Keys(pool)); err != nil {
			return err
		}
	}
	resource := created(q)
	if resource == "" || len(q.List("Tags.member")) == 0 {
		return nil
	}
	keys := q.Keys(resource)
	keys["elasticloadbalancing:CreateAction"] = q.Operation
	return q.Permit("elasticloadbalancing:AddTags", resource, keys)
}
