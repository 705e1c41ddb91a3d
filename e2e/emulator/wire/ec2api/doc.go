// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ec2api is the operations of EC2: what a call asks for, and how the answer looks. What they do is in package ec2.
//
// # Files
//
//	service.go         Service: its operations, its limits
//	permissions.go     which resources a call needs to be allowed for, and tags
//	answer.go          answers and errors
//	vpcs.go            VPCs
//	subnets.go         subnets and route tables
//	zones.go           Availability Zones
//	instances.go       instances
//	interfaces.go      network interfaces
//	securitygroups.go  DescribeSecurityGroups
//	changes.go         CreateSecurityGroup, DeleteSecurityGroup, CreateTags, DeleteTags
//	ingress.go         inbound rules: authorize and revoke
//	filters.go         filters of calls
//	listing.go         lists, with filters and pages
package ec2api
