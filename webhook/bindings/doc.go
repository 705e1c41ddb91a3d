// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bindings fills in and validates TargetGroupBindings at admission.
//
// It fills in at creation, from the target group, what the user left out. It rejects what contradicts itself, another binding, the
// owner of group or role, or AWS, with all faults at once and the path of each, and warns about what is unwise. An update fills in
// nothing, and is rejected only for the faults that it makes.
//
// The ARN is filled in from the name, never the name from the ARN. So a binding that was created by name has both. Later updates
// cannot change the ARN, and the name must be the one in it, or be left out.
//
//	bindings.go      paths and options; makes the handlers
//	handler.go       reads a review and answers it
//	view.go          the fields of a review that are decoded
//	size.go          limits of lists and texts
//	turns.go         who may ask AWS now, and who waits
//	defaults.go      fills in fields at creation; the last that sees what the user wrote, as validation.go sees the filled-in spec
//	validation.go    the validator: which checks a creation and an update get
//	inplace.go       which fields cannot be changed in place, and whether a new binding could be
//	refusal.go       the code of a refusal: 403, or 422 for what takes a new binding; its faults, shortened
//	rules.go         what the spec alone shows to be wrong; most of this is in the CRD, too
//	uniqueness.go    that no other binding has the target group
//	consent.go       whether the namespace may use the role, and whether the target group's owner consents
//	owner.go         whether the target group's tags name another cluster
//	facts.go         looks up the target group in AWS, and compares the spec with it
//	answer_cache.go  reuses AWS's answers for a while
//	own.go           recognizes bindings that targetgate itself creates, which are not compared with AWS
//	warnings.go      warnings about what is unwise
//
// No object costs more than reading it. The number of values in a list is counted before the list is decoded, a rejection names at
// most 50 faults, and a growth test of hostile objects holds all costs linear. A review returns its memory before AWS is asked; at
// most 8 reviews of a namespace ask AWS at a time.
//
// Locks: turns.mu guards who has a turn, claims.mu which groups were claimed a moment ago. Each is taken alone, and neither is held
// across a call.
package bindings
