// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package report tells operators of bindings, by events and metrics. Where the incumbent has a reason or name for something, we use the
// same. What the status of a binding says is made in package status.
//
//	reporter.go    the Reporter, which records events, and counts what they tell; texts about lost and late targets, and pods with too
//	               many gates
//	notices.go     texts of other events: drift, odd nodes and EndpointSlices that a pass has found, what a deleted binding may leave in
//	               its group. What keeps a binding from working, such as BackendNotFound, is told in package status
//	unreported.go  when an event about lost or late targets is due
//	metrics.go     counters of a binding's drift and of unready pods kept; how long passes take; who leads
//	foreign.go     what a binding that is gone leaves to others in its group
//	gauges.go      gauges of a binding, as its last pass has found it: targets, conditions, waiting pods
//
// Whether deregistrations are in time is measured in package targetgroup.
//
// Locks: bindingCollector.mu guards the gauges of all bindings, and keeps counters of a binding that is gone from beginning again. It is
// taken alone.
package report
