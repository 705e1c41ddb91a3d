// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package membership says which Ingresses are ours, by their classes (classify.go), and which of these share a load balancer: a group
// (group.go) and its members (members.go). Flags keep Ingresses from choosing class or group themselves (switches.go). It reads what the
// cluster has, and knows nothing of AWS.
package membership
