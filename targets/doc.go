// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package targets makes the targets of a target group agree with the endpoints of a Service, and tells package
// readiness what the load balancer says of each pod.
//
// One pass over a TargetGroupBinding is an ordered list of small steps:
//
//	resolve   Service port, EndpointSlices, pods, nodes -> endpoints: what should be there (package endpoints)
//	observe   the group's memory                        -> entries: what is there; starts a reading when one is due
//	plan      endpoints x entries                       -> what to register, what to deregister (pure; removal.go says when
//	                                                       targets of pods go that still live)
//	apply     hands both to the group's lanes
//	report    health -> pod conditions, the binding's status, when to look again
//
// A pass never waits for AWS. Each group has lanes of its own, for readings of its targets and of its settings, for
// registrations and for deregistrations; a lane has at most one call under way, the answer goes into the group's memory and wakes the
// binding for another pass. So a deregistration waits for nothing but the budget and its own predecessor, what becomes
// due while a call is under way goes together in the next one, and a target group that hangs delays no other.
//
// Conditions, statuses and events are written beside the passes, too, some at a time, as an API server may be slow (report.go,
// status_lane.go, line.go, event_queue.go), and so are the claims that must be written before a registration (claims.go): the
// finalizer, and the record of a group that clusters share. A registration waits for its claim, a departure for none.
//
// AWS takes all targets of a call or none, so a refused call is cut in halves until the offender stands alone (batches.go).
// A target group that several clusters share holds targets of others; those of ours are recorded (multi_cluster.go).
//
// A pod makes three trips through a pass on its way in:
//
//	register   an EndpointSlice names the pod -> pass: the plan registers it -> call (apply.go) -> the answer wakes the binding
//	poll       pass: a target waits, and its health is due to be read (poll.go) -> call (observe.go) -> the answer wakes the binding
//	open       pass: the target is healthy (gates.go) -> write beside the pass (report.go) -> the gate is open
//
// Locks, in the order in which they may be taken: Registrar.mu (which groups there are), group.mu (the memory of one), subnets.mu
// (what is known of zones). Those of orphans, of lines and of package endpoints are taken alone. No lock is held across a call to
// AWS or to the API server.
//
// The memory is a cache, not a state: after a crash it is filled again from the cluster and from one reading of each
// group. Until that reading nothing is registered, and nothing is deregistered but the targets of pods that leave.
package targets
