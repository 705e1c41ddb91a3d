// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package stack has the names and the tags of what is made in AWS for one load balancer. Both are the incumbent's: by its tags we adopt
// what it made, and what we make it would have given the same name.
package stack
