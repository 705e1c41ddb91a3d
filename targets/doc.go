// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package targets makes the targets of a target group agree with the endpoints of a Service, and tells package
// readiness what the load balancer says of each pod.
//
// # One pass
//
// A pass over a TargetGroupBinding is an ordered list of small steps (pass.go). Each folder imports only those above it:
//
//	endpoints     Service port, EndpointSlices, pods, nodes -> what should be in the group
//	targetgroup   a snapshot of what is known of the group  -> what is there
//	plan          both                                      -> what to register and deregister; values only
//	targetgroup   starts the calls, beside the pass
//	networking    inbound rules for the pods and nodes of the group; made beside the pass (rules.go hands them over)
//	conditions    a snapshot after that                     -> what the gates say; written beside the pass
//	plan          the same snapshot                         -> what to read next; targetgroup starts the reading
//	status        all of it                                 -> the binding's status; written beside the pass
//
// ownership says which of several bindings acts, and which targets of a shared group are its own; consent what the group's owner and the
// cluster allow; scope which pods get gates; guards lets the guards of nodes go. Where the incumbent works on other bindings of the
// cluster, a pass begins in beside, which takes bindings and gives them back; handover is the command that gives all back. v1beta1, retry
// and writes stand at the bottom, events on these. Most events on bindings are in report, events on pods in conditions. A metric is in
// metrics.go of the package that knows the figure: calls in targetgroup, gates in conditions, bindings in report. explain answers users'
// questions with the same code.
//
// A pass never waits for AWS, nor for a write to the API server. Both are made beside it: of calls one of each kind for a group at a time,
// whose end requeues the binding; of writes one for each pod and each status, which requeue it when they fail. What must be written before
// a target may enter the group is its claim (claims): a registration waits for it, a deregistration does not.
//
// # Four trips of a pod
//
// On its way in a pod makes three trips through a pass, once the group has been read, and one on its way out:
//
//	register   an EndpointSlice names the pod -> pass: plan registers it -> RegisterTargets (targetgroup/register.go) -> requeue
//	poll       pass: its health is due (plan/reading.go) -> DescribeTargetHealth (targetgroup/read.go) -> requeue
//	open       pass: the target is healthy (conditions/planner.go) -> patch of the pod (conditions/writer.go) -> the gate is open
//	leave      the pod is deleted -> pass: plan gives it a deadline (plan/leaving.go), by which aws/budget lets the call go
//	           -> DeregisterTargets (targetgroup/deregister.go) -> requeue -> the target drains
//
// Until its deadline a pod that leaves is a target while too few others are healthy; each pass looks again. It has no deadline, and
// leaves at once, where nothing says how long it serves on, or that is too short.
//
// # Locks
//
// memories.mu guards which bindings are remembered. Below it, in this order: Group.mu of targetgroup, then Subnets there. The others, of
// claims, statuses, gates, orphans, guards, gauges, indexes and queues, are taken alone. No lock is held across a call to AWS or to the
// API server. What only the passes of a binding touch, which come one after the other, has none (memory).
//
// # Words
//
//	binding          a TargetGroupBinding
//	endpoint         a pod at an address and port, or a node at its node port, and what the cluster wants of it (its state)
//	target           an address or instance and a port in a target group, with its health
//	owner            of a target, the pod that it was registered for; of a target group, the binding that acts on it
//	gate             the readiness gate of a pod for one binding; open when its condition is True
//	pass             one reconciliation of a binding
//	snapshot         what is known of a group, as a value
//	plan             what a pass decides to do
//	registration     a call, or the wish, that a target be in the group; deregistration that it leave
//	deadline         by when a target must be deregistered, so that its load balancer has stopped sending when its pod gets SIGTERM
//	draining         a target after its deregistration, until AWS forgets it
//	unwanted         a target in the group that should go: its pod is not ready, or no longer selected
//	missing          a target that we have registered and no reading shows: someone else has removed it, or a reading leaves it out
//	unexplained      a target that no pod or node accounts for, and that we have not registered; foreign once it is deregistered for that
//	claim            what is written before a registration: finalizer, and record of a shared group
//	hold             what lack of consent keeps from happening
//	detached         of a pod at its gate: it cannot have a target
//	orphan           a pod at the gate of a binding that does not exist
//	guard            a pod that keeps its node until the targets of the node have drained
//	safety valve     keeps unready targets in the group while too few others are healthy
package targets
