// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package account has the stacks that are seen in the AWS account, in one view for all of them, and what else of the account stacks are
// built of.
//
//	view.go      the stacks: who asks for one gets a copy
//	sweep.go     one reading of all load balancers, target groups and security groups of the cluster
//	details.go   what is read of a stack when it is asked for first
//	assemble.go  stacks of what was swept
//	note.go      what our own steps have changed, of security groups, target groups and tags
//	notebalancer.go  of load balancers, listeners and rules
//	ownership.go whose a thing is, by its tags
//	read.go      load balancers, target groups and security groups, as the SDK has them
//	rules.go     listeners and rules, likewise
//	auth.go      who may pass, of a rule's action
//	network.go   what load balancers are made in (subnets, ...), and what users have made and name
//	remembered.go  what AWS has answered, for a time
//	refresh.go   reads again what is too old
//	certificates.go  issued certificates
//	clients.go   the calls that are made
//
// View, Refresh, Issued and what is remembered have a lock each. None is held for a call.
package account
