// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package elbapi is the operations of ELBv2: what a call asks for, and how the answer looks. What they do is in package state.
//
// # Files
//
//	service.go      Service: its operations, its limits
//	permissions.go  which resources a call needs to be allowed for, and tags at creation
//	balancers.go    load balancers, their subnets and security groups
//	attributes.go   attributes of target groups, load balancers and listeners
//	capacity.go     reserved capacity
//	pools.go        pools of IPAM
//	listeners.go    listeners, their certificates, trust stores
//	rules.go        rules of listeners
//	conditions.go   the conditions of rules
//	actions.go      the actions of rules and listeners
//	auth.go         actions that ask for a login or a token; transforms
//	groups.go       target groups; pages of lists
//	targets.go      targets and their health
//	tags.go         tags
package elbapi
