// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package networking holds the end-to-end tests of inbound rules: load balancers reach pods and nodes only where the rules of the nodes'
// security group let them, and EC2's reads lag up to two seconds behind its changes.
//
// What is decided about a security group, and histories of faults, is tested in targets/networking.
package networking
