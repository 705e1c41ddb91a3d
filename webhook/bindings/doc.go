// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bindings fills in and validates TargetGroupBindings at admission.
//
// It fills in at creation, from the target group, what the user left out (defaults.go). It rejects what contradicts itself
// (rules.go, size.go), another binding (uniqueness.go), the owner of group or role (consent.go) or AWS (facts.go), with all
// faults at once and the path of each, and warns about what is unwise (warnings.go). An update is rejected only for the faults
// that it makes.
//
// No object costs more than reading it. The number of values in a list is counted before the list is decoded (view.go), a
// rejection names at most 50 faults, and a growth test of hostile objects holds all costs linear. A review returns its memory
// before AWS is asked; at most 8 reviews of a namespace ask AWS at a time (turns.go), and AWS's answers are reused for a moment
// (answer_cache.go).
//
// Locks: turns.mu guards who has a turn, claims.mu which groups were claimed a moment ago. Each is taken alone, and neither is held
// across a call.
package bindings
