// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package parts has what every load balancer is made of, whatever kind of object asks for it. It is pure.
//
//	options.go  Options: the flags and feature gates that say how stacks are built; the quotas of the account
//	subnets.go  Subnets: chooses the subnets of a load balancer
//	tags.go     tags of what is made, and which tags users may set
//	names.go    names of what is made besides what others have
//	access.go   the security groups of a load balancer: which it gets, which it was given
package parts
