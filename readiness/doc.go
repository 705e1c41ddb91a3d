// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package readiness owns the readiness gates: their names, how they get into a pod, and the pod conditions that open
// them.
//
// The contract with the kubelet: a pod is Ready when its containers are ready and the condition of every gate is True. A
// gate without a condition is closed. So only Writer opens our gates: no other package writes these conditions. It also writes
// the one condition of ours that is no gate, by which a node guard may leave.
//
// Each condition is written to exactly one pod, identified by UID. True lasts for the life of the pod: once its target was
// healthy, trouble on the load balancer's side never turns the pod NotReady, unless users ask for that (Writer.TwoWay).
//
//	gate.go       names of gates, how they get into a pod (Inject), which ones a pod has, and which of these are open
//	condition.go  the Writer of conditions
//	health.go     Health: what a condition says, in the load balancer's words or with reasons of our own. Package targets/conditions chooses
//	guard.go      the condition of node guards, and its reasons
//	metrics.go    how long after the registration gates opened
//
// The package imports none of ours. It takes names and Health, not bindings.
package readiness
