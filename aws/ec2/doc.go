// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ec2 has the calls of EC2 about network interfaces, instances and the inbound rules of security groups, in small types of its own.
// Security groups themselves, and what load balancers are made in, are in aws/provision.
//
//	client.go      Client: the identity and the budget of calls
//	api.go         the SDK's calls that are made
//	interfaces.go  reads network interfaces and instances
//	groups.go      reads security groups; adds and removes their inbound rules
//	lookup.go      finds things by ID, of which some may not exist
//	answers.go     turns EC2's interfaces and instances into our types
//	permission.go  turns EC2's inbound rules into ours, and back
//	rule.go        our types: Rule, SecurityGroup, Interface, Instance
//	errors.go      error codes of security groups and their rules
//
// The package knows nothing of Kubernetes.
package ec2
