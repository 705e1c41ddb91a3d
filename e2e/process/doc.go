// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package process starts programs that never outlive the one that started them (process.go), and tells how they ended, with the last
// lines of their log (tail.go).
package process
