// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pods adds readiness gates and a termination delay to pods at admission. The answer comes from memory, makes no network
// call, and patches only what it adds. Whether a pod is registered or healthy it does not know: package targets decides that.
//
//	pods.go             paths and options; makes the handlers
//	handler.go          reads a review and answers it
//	view.go             the fields of a review that are decoded
//	mutator.go          decides what a pod gets
//	namespace_index.go  the compiled namespaces; how long a pod waits for a change in its namespace
//	match.go            the matcher: which bindings and Services of a namespace cover a pod
//	termination.go      how the containers of a pod wait: sleep and grace period
//	warnings.go         warnings about the termination delay, and about an annotation with a wrong value
//	patch.go            the JSON patch
//	metrics.go          counters of added gates and of waits
//
// # Pods are not held up
//
// Creating pods must not wait for us, whatever happens in the cluster.
//
//   - API servers call the webhook only for pods that may need a gate: in labelled namespaces, with labels, and not mirrors of
//     static pods (matchConditions). They give up after 3 s. A pod that gets its first label from a later webhook is missed.
//   - The bindings and Services of a namespace are compiled into a matcher when its first pod comes, and again after a relevant
//     change. In between, a review costs the same with 1 and with 1,000 bindings.
//   - Only the fields of a review that are used are decoded, and the patch contains only what it adds: fields that we do not
//     know survive.
//   - Pod reviews have their own limits of memory, time and work, so that bindings never cost a pod its gate (package review).
//     Reviews of up to 64 KiB share 8 MiB and wait up to 100 ms for it. Larger ones share 28 MiB and are decoded one at a
//     time; the largest has 7 MiB. A review that finds no memory gets a 503: the pod is created without a gate, but not late.
//   - A pod may come a moment before its binding or Service is in our cache: a binding names a missing Service, or a Service
//     younger than 10 s selects the pod and no binding names it. Such a pod waits up to 200 ms. All pods of the namespace share
//     this one wait, and there is no further wait until something changes. Then the pod is admitted, with a warning if a
//     Service selects it, and counted (targetgate_webhook_pod_waits_total).
//
// # Termination delay
//
// A load balancer keeps sending to a target for a while after its deregistration, but the kubelet stops a pod as soon as it
// is deleted. Requests in between are lost unless the pod waits. So a pod with a gate gets a preStop sleep in every regular
// container without a preStop, and a grace period that is longer by the same time, so that the containers have as long as
// before to shut down after SIGTERM. The sleep is part of the pod: it works while targetgate is down, and kubectl shows it.
//
// How long: --termination-delay-alb or --termination-delay-nlb, by the protocols of the target groups, the longest of
// several. The pod's annotation targetgate.dev/termination-delay overrides both; "0" means none.
//
//   - A container with its own preStop keeps it; its author knows better. A warning says if that cannot be long enough: a sleep
//     shorter than the load balancer needs, or another preStop with a grace period that was shorter than that.
//   - If another webhook changes the pod, the API server calls us again (reinvocationPolicy IfNeeded). Then new containers get
//     the same sleep, and the grace period stays. The annotation targetgate.dev/termination-protection, which records the
//     sleep, tells the two calls apart. It counts only if a container sleeps that long and the grace period allows it, because
//     it may have been copied from another pod.
//   - Init containers have ended long before. Native sidecars (restartPolicy Always) need no sleep: the kubelet sends them
//     SIGTERM when the regular containers have ended. Their own preStop, as in Istio's proxy, still runs at the pod's
//     deletion: one that makes the sidecar refuse connections must wait as long as the sleep. So the warning above is for such a
//     preStop, too, unless it is a sleep, and package targets deregisters the pod's target at once.
//   - The pods of a Job are pods: a preStop does not run when a container ends by itself, only when it is stopped.
//   - A container that fails a liveness or startup probe is stopped, too, and the kubelet runs its preStop within the probe's own
//     terminationGracePeriodSeconds or, without one, within the pod's, which we lengthen. So the probes of all containers, with a preStop
//     of their own or not, and of native sidecars get the pod's original grace period, at least 1 s, unless they have one. The sleep
//     takes as much of it as it needs, SIGTERM follows, and the rest is the app's, at least 2 s. So a container that ignores SIGTERM is
//     killed at most 2 s later than without us, and one that heeds it restarts later by the sleep or the original grace period,
//     whichever is shorter. The field does not count when the pod is deleted.
//   - Anything that gives pods less time than the sleep cuts it short, and the kubelet then leaves 2 s to shut down after SIGTERM.
//     targets/README.md lists what does. What the pod itself shows gets a warning: its own sleep takes the whole grace
//     period, or it selects Spot nodes, which are gone 120 s after their notice, and sleeps for more than 110 s. The default of
//     210 s stays: a shorter one would lose requests behind Network Load Balancers on all other nodes.
//   - Deletions and evictions are not reviewed. A shorter grace period is known only then, but each deletion would wait for us, up to
//     the timeout while we are down. A review of an eviction, as by kubectl drain, does not have the pod, and the deletion that
//     follows has no review. Most callers are controllers, which nobody watches for warnings. So package targets tells of it.
//   - The annotation is left out if it would exceed the size limit of a pod's annotations. If we are called again for such a
//     pod, with a new container, we extend its grace period once more.
//   - Pods without a gate are not changed, except those reviewed at ProtectPath: in namespaces with the label targetgate.dev/protect
//     the incumbent registers pods and adds gates, and we add the delay alone, 15 s longer, as it deregisters later (--beside).
//
// preStop.sleep needs Kubernetes 1.30. An API server before 1.29 drops the unknown field, finds a preStop without a handler,
// and rejects the pod. So we read the server's version at start-up, and below 1.30 leave the pods as they are; a log line and
// a warning at admission say so. (A server of 1.29, or one whose feature gate is disabled, drops sleep and preStop and accepts
// the pod; that does no harm during an upgrade to 1.30. A kubelet before 1.30 does not sleep: package
// targets deregisters the targets of its pods at once.)
//
// # Locks
//
// bindingIndex.mu guards which namespaces are compiled, namespaceIndex.mu how long the pods of one wait. Each is taken alone, and
// neither is held across a wait or a reading of the cache.
package pods
