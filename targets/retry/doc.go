// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package retry says when a call to AWS or a write to the API server that has failed is tried again (retry.go), and counts the failures
// (metrics.go).
package retry
