// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lookup answers what groups need to know of the AWS account before their stacks are built, in the terms of package input
// (balancers/ingress/input). A new question begins with input.Needs, what has to be looked up for a group. Lookup asks a reader of package
// account (balancers/account), or of package issue for certificates that ACM was asked for, and puts the answer into input.AWS.
package lookup
