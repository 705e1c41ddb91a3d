// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ingress builds the stack that the Ingresses of a group want (build.go). Its folders, each of which knows only those before it:
//
//	annotation   what a single annotation means
//	membership   which Ingresses are ours, and share a load balancer
//	input        what a stack is built of; what of it has to be looked up
//	reading      what one member asks for, by itself
//
// It calls nothing: what was looked up in AWS is a value.
package ingress
