// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ingress knows what Ingresses say: which of them share a load balancer (group.go), how its parts are named (names.go), and what
// their annotations mean (table.go is the only list of these).
package ingress
