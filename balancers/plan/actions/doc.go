// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package actions says what the actions of rules do: which target groups they send requests to (sending.go), and whether AWS does the same
// by two of them, or by two rules (keys.go). It knows no plan.
package actions
