// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package targets

// modelDefault is how many histories TestModel runs.
const modelDefault = 300
