// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package steps has the steps by which one stack becomes another. Package plan makes them, apply does them, preview shows them.
//
//	step.go      the types: a plan, its steps, the changes (one call each), the kinds of waits
//	describe.go  says in one line what a step does, what it waits for, and what a rule does; JSON
//	text.go      the texts of single parts in these lines; what of a step may stand in logs
package steps
