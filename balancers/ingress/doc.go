// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ingress knows what Ingresses say: which of them are ours (classify.go) and share a load balancer (members.go), and what stack they
// want (build.go). What a single annotation means is in its folder annotation. It calls nothing: what has to be looked up in AWS is a value
// (needs.go says which).
package ingress
