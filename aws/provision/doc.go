// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package provision has the calls by which load balancers are made, changed, read and deleted, of the program's own account. They keep the
// SDK's names and types, but for security group rules, which have those of aws/ec2. They read all pages; an error says what was being done
// to what.
//
//	elb.go            ELB and its Reader: the clients of Elastic Load Balancing, without their calls
//	loadbalancers.go  ELB: creates, changes and deletes load balancers and target groups; tags; registers targets
//	listeners.go      ELB: creates, changes and deletes listeners, their certificates and rules
//	describe.go       Reader: all its Describe calls, of load balancers, target groups, listeners, rules, certificates, attributes, tags,
//	                  trust stores, capacity and target health
//	ec2.go            EC2: the client; creates and deletes security groups, changes their rules and tags
//	network.go        EC2: all its Describe calls, of security groups, subnets, route tables and Availability Zones
//
// The package has no lock, and knows nothing of Kubernetes.
package provision
