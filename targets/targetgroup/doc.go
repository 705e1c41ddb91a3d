// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package targetgroup holds what is known of the target group of one binding, and makes the calls that read and change it.
//
//	target.go                     what is known of one target, and how an answer changes that
//	group.go, snapshot.go         all that is known, and the value that a pass judges on
//	calls.go                      how calls are started beside a pass, and whom their end requeues
//	read.go, settings.go, tag.go  the readings: health of targets, settings of the group, consent of its owner
//	register.go, deregister.go    the changes, which sender.go cuts into calls (of elbv2.MaxTargetsPerCall) and zones.go gives
//	                              Availability Zones
//	metrics.go                    what is counted of calls, and of the time that was left for deregistrations
//
// A group has at most one call of each kind under way. An answer goes into the group and requeues the binding. So a deregistration
// waits for the budget, for its own predecessor and, as long as its deadline allows, for others of the group. What becomes due while a call
// is under way goes together in the next one, and a target group that hangs delays no other.
//
// A failed call is tried again by a later pass, after the pause that package retry gives. The SDK does not repeat these calls.
//
// What is known is a cache, not a state: after a crash it is filled again from the cluster and from one reading of each group.
//
// Locks: Group.mu guards all of a group and is never held across a call. Subnets.mu may be taken while it is held.
package targetgroup
