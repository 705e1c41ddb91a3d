// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package steps has the steps by which one stack becomes another. Package plan makes them, apply does them, preview shows them. The type of
// a change says all that follows from it without a call: its text, what its failure blocks, and what a stack is like afterwards.
//
//	step.go           a plan, its steps, what they wait for; JSON
//	change.go         what every change says, and what only some say
//	loadbalancer.go   the changes of load balancers
//	setting.go        ... of settings of load balancers that take a call each: one row for each setting
//	protection.go     ... of protections of AWS Shield
//	listener.go       ... of listeners and their certificates
//	rule.go           ... of rules
//	targetgroup.go    ... of target groups
//	securitygroup.go  ... of security groups
//	tag.go            ... of tags
//	binding.go        ... of TargetGroupBindings
//	refs.go           fills in the IDs of what earlier steps have made
//	text.go           the texts of single parts; what of a change may stand in logs
package steps
