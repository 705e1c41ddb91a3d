// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package guards keeps a node until its targets have drained. Where a binding is of type instance, the target is the node: the load
// balancer sends to its node port until the target has drained, whichever pods run there, and then the instance may end.
//
// # A departure
//
// A guard is a pod of the chart's DaemonSet nodeGuard (guard.go says which pods are).
//
//	taint    Karpenter or the cluster autoscaler taints the node. The registrar deregisters its targets: after the autoscaler's taint at
//	         once, after Karpenter's when others are healthy or have had time for that
//	delete   Karpenter deletes the Node once the nodes that replace it are ready: its targets are deregistered now, if they were not before
//	evict    it evicts the guard, whose process (process.go, `targetgate guard`) gets SIGTERM and reads its own pod every 2 s
//	answer   the Answerer, in targetgate (answerer.go), writes the condition MayLeave of the guard's pod, beside the passes (answer.go):
//	         False while a target group has the node, registered or draining; True when none has
//	leave    the process ends when the condition is True, and after its longest wait in any case; the node goes
//
// A guard that is deleted although its node does not leave, as in an update of the chart, is told so and leaves after some 3 s. A guard
// that nobody answers, because targetgate is down, stays for its longest wait: 6 minutes by default, which is AWS's default deregistration
// delay plus one minute. An idle guard is a process that sleeps: it has no watch and makes no call. Nor does the Answerer while no node
// leaves and no guard is deleted.
//
// The Answerer learns of guards and nodes from the registrar's watches (follow.go). How many guards wait is a metric (metrics.go).
//
// # Who waits for a guard
//
// What follows is from the sources of Karpenter 1 and cluster autoscaler 1.32.
//
// Karpenter evicts all pods that do not tolerate its taint karpenter.sh/disrupted:NoSchedule, also those of DaemonSets, and waits for
// them: first ordinary ones, then those of DaemonSets, then those of priority system-cluster-critical or system-node-critical. So a
// guard must not tolerate the taint; and it has no such priority, so that critical pods that serve the node port outlive it. The kubelet
// keeps the same order when the instance itself is shut down (shutdownGracePeriod).
//
// The cluster autoscaler evicts the pods of DaemonSets, but waits for them only with --drain-priority-config, and only on nodes with
// other pods. On empty nodes, and without that flag, a guard keeps nothing; there --node-delete-delay-after-taint is a fixed wait.
//
// kubectl drain leaves the pods of DaemonSets alone, and the node with them: it is no longer scheduled to, but serves.
//
// # Why a pod that asks
//
//	a native preStop sleep  needs no targetgate, but always takes the longest time: on each node without a target, and in each update
//	a finalizer             on the Node or NodeClaim does not keep the instance: both are removed after it
//	a readiness gate        says when a pod may be sent to, and no eviction looks at it
//	a disruption budget     is one for all nodes, and only puts off the eviction, also of pods that must move
//	an annotation           delay-deletion.cluster-autoscaler.kubernetes.io/ has the cluster autoscaler wait, also on empty nodes; but only
//	                        that one, and it takes the right to patch Nodes, with which one can taint and relabel all of them
//	a lifecycle hook        of an Auto Scaling group waits for a fixed time, and Karpenter's instances are in none
//
// The condition is written with the permission that gates need anyway. The guard needs none but to read pods of its own namespace.
//
// Locks: Answerer.mu guards what is known of the guards. It is taken alone, and never held across a read of the cache, a write or a call
// to Left.
package guards
