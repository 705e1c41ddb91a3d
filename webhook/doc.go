// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package webhook decides at admission what later steps rely on.
//
// Pods: which TargetGroupBindings cover this pod? Each covering binding adds its readiness gate, so that the pod is not
// Ready before the load balancer has accepted it. The answer comes from memory, makes no network call, and patches
// only what it adds.
//
// Bindings: what the user left out is filled in from the target group, once, at creation; what contradicts another
// object or AWS is refused with all faults at once and the path of each. What the object alone can tell is refused by
// the CRD itself.
//
// Trouble of our own is never a refusal. It is answered as an HTTP 5xx, so that the failurePolicy of the webhook
// configuration decides: Ignore for pods, whose missing gate is seen afterwards, Fail for bindings.
//
// What is not decided here: whether a pod is registered or healthy. That is package targets, and this package does not
// know it.
package webhook
