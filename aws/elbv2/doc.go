// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package elbv2 is the only way to the load balancers' API: target groups, their targets and the targets' health, and in provision.go,
// describe.go, changes.go and listenerchanges.go load balancers with all that belongs to them, in the SDK's types.
//
// The seam is narrow. For targets, api.go names the SDK calls that are made, and Client speaks in this package's own small types
// (targets.go, groups.go, tags.go). Provisioner speaks in the SDK's. A call first sees to the credentials of its session (aws/accounts),
// then takes a token from the budget of its account (aws/budget). Readings of one group that wait for a token together are one call
// (reading.go).
//
// Error codes of target groups are told apart in errors.go, and which Availability Zone AWS wants for an address is read in zone.go.
//
// Locks: readings.mu guards which readings others may join. It is taken alone, and not held across a call.
//
// The package knows nothing of Kubernetes.
package elbv2
