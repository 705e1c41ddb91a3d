// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package targets makes the targets of a target group agree with the endpoints of a Service, and tells package
// readiness what the load balancer says of each pod.
//
// # One pass
//
// A pass over a TargetGroupBinding is an ordered list of small steps. The work of each is in a folder:
//
//	endpoints     Service port, EndpointSlices, pods, nodes -> what should be in the group
//	targetgroup   a snapshot of what is known of the group  -> what is there
//	plan          both                                      -> what to register and deregister; values only
//	targetgroup   starts the calls, beside the pass
//	networking    inbound rules for the pods and nodes of the group; made beside the pass
//	claims        what must be written before a registration; written beside the pass
//	conditions    a snapshot after that                     -> what the gates say; written beside the pass
//	plan          the same snapshot                         -> what to read next; targetgroup starts the reading
//	status        all of it                                 -> the binding's status; written beside the pass
//
// ownership says which of several bindings acts, and which targets of a shared group are its own; consent what the group's owner and the
// cluster allow; scope says for which pods the API server asks the webhook; guards lets the guards of nodes go. Where the incumbent works
// on other bindings of the cluster, a pass begins in beside, which takes bindings and gives them back; handover is the command that gives
// all back. explain answers users' questions with the same code.
//
// v1beta1 is the API. retry says when a failed call or write is repeated, contest when what others have changed of our writes is put back.
// writes has the queue of writes to the API server, whose places namespaces share, and all their limits, and events is built on these two.
// queue has passes begin, namespace by namespace, for targets and balancers alike. Most events on bindings are made in report, those that
// a written status calls for in status, most events on pods in conditions. Metrics with a binding's name are in report, which begins them
// with the binding and ends them with it, and one in readiness. Those without are in the package that knows the figure: deregistrations in
// targetgroup, registrations and gates in conditions, inbound rules in networking, node guards in guards, failures in retry, changes by
// others in contest. fixture is for tests.
//
// A pass never waits for AWS, nor for a write to the API server. Both are made beside it: of calls one of each kind for a group at a time,
// whose end requeues the binding; of writes one for each pod and each status, which requeue it when they fail. What must be written before
// a target may enter the group is its claim (claims): a registration waits for it, a deregistration does not.
//
// Tests cite rules by number: see "What holds" in the README.md of the repository.
//
// # Files of this folder
//
//	controller.go  the Registrar, and Reconcile, in which each pass begins
//	memories.go    what is remembered of each binding
//	setup.go       adds the Registrar to the manager: indexes, watches, queue; starts its parts
//	watches.go     which bindings a change in the cluster requeues
//	changes.go     which changes requeue any
//	debounce.go    the queue: a pass that a watch asks for begins 250 ms after the last one or later, unless a pod leaves
//	pass.go        the pass over a binding that is managed
//	finalize.go    the pass over a binding that is being deleted
//	unmanaged.go   the pass over a binding that is left alone or does not exist; what becomes of its finalizer and of what is remembered
//	vanished.go    cleans up after a binding that was deleted without our finalizer, as after a tool has replaced it
//	strangers.go   what the cluster knows of targets that no endpoint of their binding explains
//	others.go      the other bindings of the same group, and so which targets may be deregistered
//	record.go      when the record of a shared group is read, and whether it is believed
//	rules.go       hands spec.networking, pods and nodes to networking, and asks what became of the rules
//	guards.go      tells guards which instances are still in target groups
//	beside.go      gives beside what is remembered of bindings
//
// # Imports
//
// Each folder imports only folders of the lines above its own. All may import aws and readiness, which import none of them:
//
//	v1beta1, consent, queue, retry, writes
//	contest
//	endpoints, ownership, scope, events
//	targetgroup, handover
//	plan, networking
//	conditions
//	report, guards
//	claims, status
//	beside
//	targets itself; beside it explain: neither imports the other
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
// Until its deadline a pod that leaves is a target while too few others are healthy; each pass looks again. Where nothing says how long
// it serves on, or where that time is too short, it is deregistered at once: its deadline is the zero time.
//
// # Locks
//
// memories.mu guards which bindings are remembered. Under it Group.mu of targetgroup is taken, and under that the lock of Subnets. The
// folders have others: each folder's doc.go lists its own. These are taken alone, with three exceptions: beside takes that of a new group
// under its own, networking fills queues under its lock, and a queue that is made of others takes theirs. No lock is held across a call to
// AWS or to the API server. What only the passes of a binding touch, which come one after the other, has none (memory).
//
// # Words
//
//	binding          a TargetGroupBinding
//	incumbent        aws-load-balancer-controller
//	registrar        the controller of bindings that is in this folder
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
//	unwanted         a target in the group that should go: its pod is not ready, or no longer selected; or it is a node to be replaced
//	missing          a target that we have registered and no reading shows: someone else has removed it, or a reading leaves it out
//	unexplained      a target that no pod or node accounts for, and that we have not registered; foreign once it is somebody else's
//	claim            what is written before a registration: finalizer, and record of a shared group
//	hold             what lack of consent keeps from happening
//	detached         of a pod at its gate: it cannot have a target
//	orphan           a pod at the gate of a binding that does not exist
//	guard            a pod that keeps its node until the targets of the node have drained
//	unready kept     targets that stay in the group although they are not ready, while too few others are healthy
package targets
