// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ec2 is all that targetgate reads and changes in EC2: network interfaces, instances, security groups and their inbound rules,
// and what load balancers are made in.
//
//	client.go      the identity and the budget of calls
//	api.go         the SDK's calls that are made
//	interfaces.go  network interfaces and instances
//	groups.go      security groups and their inbound rules
//	lookup.go      how things are found by ID, of which some may not exist
//	answers.go     network interfaces as EC2 describes them
//	permission.go  rules as EC2 reads and writes them
//	rule.go        the values
//	provision.go   calls by which security groups are made and deleted, in the SDK's types
//	describe.go    calls that read what load balancers are made in, likewise
//	errors.go      what the errors of EC2 mean
//
// The package knows nothing of Kubernetes.
package ec2
