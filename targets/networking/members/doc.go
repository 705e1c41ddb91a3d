// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package members finds the security group of a member: a pod or a node behind a binding. It reads EC2 and the objects that it is given,
// changes nothing, and knows no rules.
//
//	member.go      pods and nodes       -> members: what is needed to find their network interfaces
//	interfaces.go  members              -> network interfaces, by batched reads
//	choice.go      a network interface  -> the one security group that gets the rules; values only
//	locator.go     all of it, and remembers what was found and what was not
//	ec2.go         which reads of EC2 are made, and which of their errors may be gone at the next attempt
//
// Locator.mu guards what is remembered and is taken alone, never across a call.
package members
