// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package iam decides by policy documents whether a call is allowed, as AWS does for policies that are attached to a user or
// a role. It makes no calls and knows none of them: a call is an action, a resource, and what conditions may ask about.
//
//	policy.go     reads policy documents; their grants
//	condition.go  conditions of statements
//	pattern.go    text with * and ?
//	evaluate.go   decides about a call
//
// A policy that says more than this package understands is an error, so that nothing is allowed or denied by accident.
// Understood are Effect, Action and Resource with * and ?, and the conditions StringEquals, StringLike and Null. Not understood
// are NotAction, NotResource, Principal, variables, conditions on several values (ForAllValues) and those with IfExists.
package iam
