// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package plan

// pairs is how many pairs of stacks TestEachPrefixOfAPlanKeepsEachRoute plans.
const pairs = 20_000
