// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package provision has the calls by which load balancers are made, changed, read and deleted, of the program's own account. They have the
// names and the types of the SDK's, and read all pages; an error says what was being done to what.
//
//	elb.go            Elastic Load Balancing
//	loadbalancers.go  load balancers, target groups, tags
//	listeners.go      listeners, rules
//	describe.go       what is read of all these
//	ec2.go            EC2: security groups
//	network.go        what load balancers are made in
//
// The package has no lock, and knows nothing of Kubernetes.
package provision
