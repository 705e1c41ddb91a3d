// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package input writes the types of package stack as the SDK's inputs of AWS's calls, in the incumbent's form, so that either controller
// finds nothing to change in what the other has made. It makes no call. Every reference must have its ID.
//
//	loadbalancer.go   the creation of load balancers; subnets, IPAM pools, lists of IDs
//	targetgroup.go    the creation and the health checks of target groups; attributes of target groups, load balancers and listeners
//	listener.go       the creation and changes of listeners and rules, priorities, certificates
//	rule.go           conditions and actions, for rules and listeners; tags of Elastic Load Balancing
//	auth.go           the authentication part of an action; transforms
//	securitygroup.go  the creation of security groups, their inbound rules; tags of EC2
package input
