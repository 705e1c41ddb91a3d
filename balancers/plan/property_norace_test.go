// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package plan

// defaultPairs is how many pairs of stacks TestEachPrefixOfAPlanKeepsEachRoute plans.
const defaultPairs = 8000
