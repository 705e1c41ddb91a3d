// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package conditions decides what the readiness gates of a binding's pods say (each is a condition of its pod), and has it written beside
// the passes. The reasons are in package readiness; conditions of bindings are in package status.
//
// From values alone:
//
//	planner.go     what each gate says, by the health of its target, or by why there is none; events on pods that wait for too long
//	obstacles.go   why the target of a pod is not registered, as its gate says it
//	detachment.go  why a pod cannot have a target (the causes), and how long its gate waits then; gates of bindings left alone
//	early.go       which gates of pods that the incumbent registers are opened before it opens them
//	counts.go      pods by their gates, and targets by state, for the status; pods that should have a gate and have none
//	events.go      the event on a pod that tells of a written condition
//
// Beside the passes:
//
//	writer.go      writes the conditions of a binding's gates
//	overwritten.go finds those that somebody else has changed, which are put back
//	orphans.go     opens the gates of bindings that do not exist
//	metrics.go     how long a ready pod took to be registered, and a healthy one to have its gate opened
//
// Locks: Gates.mu guards what is being written for one binding, Orphans.mu the pods without a binding. Each is taken alone, and
// neither is held across a write.
package conditions
