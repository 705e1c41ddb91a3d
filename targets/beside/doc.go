// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package beside works where the incumbent works on other bindings of the cluster (ownership.Beside). It decides which bindings are ours,
// and takes and gives them back.
//
// A binding is ours from the write that puts our finalizer on it (take) to the one that gives it back. Before and after these nothing is
// written for it, neither to AWS nor to the API server, and nothing is remembered. An event is all it may get; gates of its pods are opened
// where users ask for that. A pass first asks whose the binding is (taker.go):
//
//	take         its namespace has the label, and every API server must know that (fences.go): our finalizer takes the place of the
//	             incumbent's, which a policy keeps away from then on
//	look         the incumbent works on it all the same (rival.go): nothing is sent until it stops
//	give back    the label is gone: the reverse write, when no call is under way; nothing is remembered once it had its effect
//	leave        nothing can be done for the binding, or another one of its group is the incumbent's: an event (untaken.go)
//	open early   of the incumbent's bindings in protected namespaces, where users ask for that: the group is read while a pod waits
//	             whose registration the incumbent has told of, and the gates of healthy targets are opened (early.go)
//
// The writes themselves are made by package claims. Give-backs by the command of that name, without a registrar, are in package handover.
//
// Locks: fences.mu, untaken.mu and EarlyGates.mu guard what is known of namespaces, events and the gates of the incumbent's bindings. Each
// is taken alone, but for that of a new group, which comes under EarlyGates.mu. None is held across a call or write.
package beside
