// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ec2 is the part of EC2 that load balancers and their targets are in: subnets and routes, instances, network interfaces, and
// security groups with their inbound rules.
//
// A call that reads them is shown how they were some time ago (Options.Lag), each call another time; a call that changes them acts on what
// is there now. What calls have done to inbound rules is in a journal (RuleChanges), which never lags.
//
// Security groups have no outbound rules, and their rules have no ids or tags. Subnets and routes are given with Options; only tags and
// free addresses change.
//
// # Files
//
//	network.go        Network: its lock, its ids, and how old a reading is
//	vpc.go            VPCs with their subnets
//	subnet.go         subnets, route tables and zones as calls show them
//	instance.go       instances
//	interface.go      network interfaces
//	securitygroup.go  security groups and prefix lists
//	rule.go           an inbound rule
//	ingress.go        AuthorizeIngress and RevokeIngress
//	rulechange.go     the journal of inbound rules
//	use.go            the security groups that load balancers have
//	inbound.go        what security groups let through
//	resourcetags.go   tags of security groups and subnets
package ec2
