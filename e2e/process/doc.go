// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package process starts programs that never outlive the one that started them, and tells how they ended.
package process
