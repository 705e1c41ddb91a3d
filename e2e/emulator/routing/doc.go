// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package routing is what rules of listeners say: which requests they take, and what is done with these. It has values and checks only;
// which rules there are is in package state.
//
// # Files
//
//	condition.go  conditions, and what is refused of them
//	match.go      whether a condition holds for a request
//	action.go     actions: forward, redirect, fixed response
//	auth.go       what actions ask for before: a login or a token
//	transform.go  rewrites of host and path
package routing
