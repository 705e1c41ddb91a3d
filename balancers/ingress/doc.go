// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ingress knows what stack the Ingresses of a group want (build.go). Which Ingresses these are is in its folder membership, what a
// single annotation means in annotation. It calls nothing: what has to be looked up in AWS is a value (needs.go says which).
package ingress
