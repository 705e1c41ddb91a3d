// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package steps has the steps by which one stack becomes another: which changes there are, one call each, and what must hold before one
// (step.go), and what they are called (describe.go). Package plan makes them, apply does them, preview shows them.
package steps
