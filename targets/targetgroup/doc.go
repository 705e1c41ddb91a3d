// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package targetgroup holds what is known of the target group of one binding, and makes the calls that read and change it.
//
//	target.go      what is known of one target, and how an answer changes that
//	group.go       the Group: all that is known of a target group
//	snapshot.go    a copy of that, as the value that a pass judges on
//	instances.go   which instances have a target left in the group, for node guards
//	calls.go       how calls are started beside a pass, and whom their end requeues
//	read.go        reads the health of targets
//	settings.go    reads the settings of the group
//	tag.go         reads the tags by which its owner consents, and that name the owner
//	changes.go     what a pass wants done: Registrations, Deregistrations, what it has found out about targets; how far apart the
//	               deadlines of targets that stay may lie in one call
//	register.go    registers targets
//	deregister.go  deregisters targets, by their deadlines
//	sender.go      cuts either into calls of at most elbv2.MaxTargetsPerCall, and finds the targets that AWS refuses
//	zones.go       which Availability Zone to name for a target that is registered
//	metrics.go     how soon pods were deregistered, and how long before or after their deadlines
//
// Calls run beside the passes, at most one of each kind for a group: a target group that hangs delays no other. The answer goes into the
// group and requeues the binding. What becomes due meanwhile goes together in the next call. A deregistration may wait for others of its
// group, too: the budget may hold its call until the deadline presses (aws/budget/order.go).
//
// A failed call is tried again by a later pass, after the pause that package retry gives. The SDK does not repeat these calls.
//
// What is known is a cache, not a state: after a crash it is filled again from the cluster, from one reading of each group, and from the
// record of a shared one. A reading may leave a target out: what it does not show is forgotten when a second one does not show it either.
//
// Locks: Group.mu guards all of a group and is never held across a call. Subnets.mu may be taken while it is held. least.mu guards a
// metric, and is taken alone.
package targetgroup
