// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package input is what the stack of a group is built of (input.go): its members, their Services and Secrets, what was looked up in AWS,
// what is seen of the stack, and options. It says what has to be looked up (needs.go, secret.go), answers what the input alone can
// (subnets.go, seen.go, tags.go), and knows the names of what is made (names.go). It calls nobody.
package input
