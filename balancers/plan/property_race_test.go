// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build race

package plan

// defaultPairs are fewer where each takes some ten times as long.
const defaultPairs = 1000
