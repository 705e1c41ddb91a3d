// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package status makes the status of a binding, its conditions and counts, from what a pass has seen (input.go, values only), has it
// written beside the passes (writer.go), and again where somebody else has changed it (overwritten.go), and records the events that a
// written status calls for (events.go). Passes do not wait for a write: an API server that is slow delays no gate.
//
// Locks: Status.mu guards what is known of one binding's status. It is taken alone, and not held across a write.
package status
