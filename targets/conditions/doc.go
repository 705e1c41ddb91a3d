// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package conditions decides what the readiness gates of a binding's pods say (planner.go, obstacles.go, detachment.go, counts.go,
// from values alone; the reasons are in package readiness) and has it written to the pods, beside the passes (writer.go). The gates of
// bindings that do not exist are opened by orphans.go.
//
// Locks: Gates.mu guards what is being written for one binding, Orphans.mu the pods without a binding. Each is taken alone, and
// neither is held across a write.
package conditions
