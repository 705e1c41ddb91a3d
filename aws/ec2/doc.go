// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ec2 has the calls of EC2 about network interfaces, instances and the inbound rules of security groups, in small types of its own.
// Security groups themselves, and what load balancers are made in, are in aws/provision.
//
//	client.go      the identity and the budget of calls
//	api.go         the SDK's calls that are made
//	interfaces.go  network interfaces and instances
//	groups.go      security groups and their inbound rules
//	lookup.go      how things are found by ID, of which some may not exist
//	answers.go     network interfaces as EC2 describes them
//	permission.go  rules as EC2 reads and writes them
//	rule.go        the values
//	errors.go      what the errors of EC2 mean
//
// The package knows nothing of Kubernetes.
package ec2
