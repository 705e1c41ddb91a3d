// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build race

package targets

// modelDefault is smaller where each history takes some ten times as long.
const modelDefault = 30
