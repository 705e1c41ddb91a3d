// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package account has the stacks that are seen in the AWS account, in one view for all of them, and what else of the account stacks are
// built of.
//
//	view.go          View: the stacks that are seen; who asks for one gets a copy
//	sweep.go         one reading of all load balancers, target groups and security groups of the cluster; then only the states of load
//	                 balancers that are not active yet
//	details.go       what a sweep leaves out, read when a stack is asked for first: listeners, rules, attributes; or when it is wanted:
//	                 web ACLs, capacity, protection, attributes of target groups
//	assemble.go      makes stacks of what was swept
//	note.go          what our own steps have changed
//	ownership.go     whose a thing is, by its tags
//	read.go          turns the SDK's load balancers, target groups and security groups into those of package stack
//	rules.go         likewise, listeners and rules with their conditions and actions
//	auth.go          likewise, the authentication part of a rule's action, and a rule's transforms
//	shared.go        the security group that all load balancers of the cluster share, and what uses it
//	network.go       Network: what load balancers are made in (subnets, ...), and what users made themselves and refer to (security
//	                 groups, target groups, trust stores, web ACLs)
//	names.go         looks several names up in one call; asks for those that stand for nothing less and less often
//	remembered.go    keeps the answers to what Network has asked AWS, for a time
//	certificates.go  Issued: all issued certificates of ACM with their domains, among which listeners find theirs by host
//	refresh.go       Refresh: reads a list of certificates again when it is too old, one read for all who wait; SparingACLs and
//	                 SparingProtections: make a call that fails once a minute, for all
//	clients.go       the calls of AWS that are made
//
// View, Refresh, Issued, what is remembered, misses, and calls that are spared have a lock each. None is held for a call.
package account
