// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package report tells operators of bindings: events (reporter.go with the texts of lost and late targets, notices.go with all others,
// untold.go: when they are due), counters (metrics.go), and gauges of what the last pass over each binding has found (gauges.go). Reasons
// and names that the incumbent has are its own. What the status of a binding says is made in package status.
//
// Locks: bindingCollector.mu guards the gauges of all bindings, and keeps counters of a binding that is gone from beginning again. It is
// taken alone.
package report
