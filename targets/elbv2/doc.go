// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package elbv2 is the only way to the load balancer: target groups, their targets and the targets' health.
//
// The seam is narrow. api.go names exactly the SDK calls that are made; client.go is the facade over them and speaks
// in this package's own small types. Every HTTP attempt, retries included, first takes a token from the budget
// (budget.go), which serves deregistrations before registrations, then admission, then the health of pods that wait,
// then everything else. Error codes are told apart in errors.go and nowhere else.
//
// The package knows nothing of Kubernetes and imports nothing of ours.
package elbv2
