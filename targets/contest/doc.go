// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package contest is about what others change of what we wrote to the API server. Whoever writes an object puts it back at once; while
// somebody goes on to change it, after pauses that grow (contest.go). Each change counts in a metric (metrics.go), and is told once.
package contest
