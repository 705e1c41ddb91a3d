// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package elbv2 is the only way to the load balancer: target groups, their targets and the targets' health.
//
// The seam is narrow. api.go names exactly the SDK calls that are made; client.go is the facade over them and speaks
// in this package's own small types. It first sees to the credentials: accounts.go keeps those of the roles that bindings
// name, assume.go gets them and leaves a role alone for a while that refuses, role.go says what AWS is told of the binding.
// Every HTTP attempt, retries included, then takes a token from its account's budget (budget.go): a few buckets
// (bucket.go), each of which serves deregistrations before registrations, then the health of pods that wait, then lookups
// for users, then everything else; lookups have a fifth of the bucket for themselves. Within a class the tenants, which are
// the bindings' namespaces, take turns (queue.go). A bucket never sends more than AWS's own of the same size lets in, and
// when AWS throttles all the same, because others use the account too, it slows down for a while (pace.go). Readings of one
// group that wait for a token together are one call (reading.go).
//
// Error codes are told apart in errors.go, and what AWS says of Availability Zones is read in zone.go, and nowhere else.
//
// The package knows nothing of Kubernetes and imports nothing of ours.
package elbv2
