// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package readiness owns the readiness gates: their names, how they get into a pod, and the pod conditions that open
// them.
//
// The contract with the kubelet: a pod is Ready when its containers are ready and the condition of every gate is
// True. A gate without a condition is closed. So a pod with a gate of ours waits for Writer, and for nothing else of
// ours: no other package writes such a condition.
//
// A condition goes to exactly one pod, named by UID, and True is for the life of the pod: once the load balancer has
// accepted a pod, trouble on the load balancer's side never turns it NotReady.
//
// The package imports nothing of ours. It takes names and Health, not bindings.
package readiness
