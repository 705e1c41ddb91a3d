// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ec2 is all that targetgate reads and changes in EC2: network interfaces, instances, and the inbound rules of security
// groups.
//
//	client.go     sessions, budgets, and the calls' limits
//	interfaces.go network interfaces and instances
//	groups.go     security groups and their inbound rules
//	rule.go       a rule as a value
//	errors.go     what the errors of EC2 mean
package ec2
