// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package elbv2 is the registrar's way to the load balancers' API: target groups, their targets and the targets' health, in small types of
// its own (targets.go, groups.go, tags.go). How load balancers are made of the same API is in aws/provision.
//
// The seam is narrow: api.go names the SDK calls that are made. A call first sees to the credentials of its session (aws/accounts), then
// takes a token from the budget of its account (aws/budget). Readings of one group that wait for a token together are one call
// (reading.go).
//
// Error codes of target groups are told apart in errors.go, and which Availability Zone AWS wants for an address is read in zone.go.
//
// Locks: readings.mu guards which readings others may join. It is taken alone, and not held across a call.
//
// The package knows nothing of Kubernetes.
package elbv2
