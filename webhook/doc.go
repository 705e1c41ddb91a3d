// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package webhook decides at admission what later steps rely on.
//
// Pods: which TargetGroupBindings cover this pod? Each covering binding adds its readiness gate, so that the pod is not
// Ready before the load balancer has accepted it; and the pod is given time to leave (see below). The answer comes from
// memory, makes no network call, and patches only what it adds.
//
// Bindings: what the user left out is filled in from the target group, once, at creation; what contradicts another
// object or AWS is refused with all faults at once and the path of each. What the object alone can tell is refused by
// the CRD itself.
//
// Nobody's object costs more than what it takes to read it. How much a piece of it holds is found out before it is decoded
// (json_size.go, binding_size.go), a refusal names at most 50 faults, and a growth test of hostile objects holds all of it to be
// linear. The reviews of bindings share as much memory as those of pods, so all reviews together take 72 MiB at most. It
// is given back before AWS is asked; at most 8 reviews of a namespace ask AWS at a time (turns.go).
//
// Bindings of namespaces that are not watched are another installation's, and admitted as they are.
//
// The metrics count what is asked: whoever reaches the port and knows its paths can raise them, and with them alerts.
//
// Trouble of our own is never a refusal. It is answered as an HTTP 5xx, so that the failurePolicy of the webhook
// configuration decides: Ignore for pods, whose missing gate is seen afterwards, Fail for bindings.
//
// # Pods are let through
//
// Creating pods must not wait for us, whatever happens in the cluster.
//
//   - API servers ask only where a gate may be needed: in labelled namespaces, for pods with labels, not for mirrors of static
//     pods (matchConditions), and give up after 3 s. A pod that has no label until a webhook after ours adds
//     one is not seen.
//   - Of each namespace the bindings and Services are compiled into a matcher when its first pod comes, and again after
//     a change that matters (index.go, match.go). A review costs the same with 1 and with 1,000 bindings.
//   - Of a review only the fields that are read are decoded (pod_view.go), and the patch names only what it adds: fields
//     that we do not know survive (pod_patch.go).
//   - Reviews of pods have bounds of memory, time and work of their own, so that bindings never cost a pod its gate
//     (intake.go). Up to 64 KiB they share 8 MiB and wait up to 100 ms for it; larger ones share 28 MiB and are decoded one at a
//     time; the largest has 7 MiB. One that finds no room gets a 503, and so an ungated pod instead of a late one.
//   - A pod may come a moment before the binding or Service that it depends on is in our cache: a binding names a Service
//     that is not there, or a Service younger than 10 s selects the pod and no binding names it. Such a pod waits up to 200 ms;
//     all pods of the namespace share the one wait, and there is no other until something changes. Then the pod is
//     admitted, with a warning if a Service selects it, and counted (targetgate_webhook_pod_waits_total).
//
// What is not decided here: whether a pod is registered or healthy. That is package targets, and this package does not
// know it.
//
// # Time to leave
//
// A load balancer goes on sending to a target for a while after its deregistration, and the kubelet tells a pod to stop
// the moment it is deleted. What lies in between is lost, unless the pod waits. So a pod with a gate gets a preStop sleep
// in every regular container that has no preStop of its own, and a grace period that is as much longer, so that the
// containers have as long as before for ending after SIGTERM. It is part of the pod: it works while targetgate is
// down, and kubectl shows it.
//
// How long: --termination-delay-alb or --termination-delay-nlb by the protocols of the target groups, the longest of
// several; the pod's annotation targetgate.dev/termination-delay overrides both, and "0" asks for none.
//
//   - A container with a preStop of its own is left alone; its author knows better. A warning says when that cannot be long enough:
//     a sleep shorter than the load balancer needs, or another preStop beside a grace period that was shorter than that.
//   - Asked a second time about the same pod, because another webhook has changed it meanwhile (reinvocationPolicy
//     IfNeeded), we give new containers the same sleep and leave the grace period as it is. The annotation
//     targetgate.dev/termination-protection, which says what was given, tells the two apart. It counts only beside a
//     container that sleeps so long, and a grace period that allows it: it may have been copied from another pod.
//   - Init containers have ended long before. Native sidecars (restartPolicy Always) need no sleep: the kubelet sends
//     them SIGTERM when the regular containers have ended. A preStop of their own, as Istio's proxy has it, runs at the pod's
//     deletion all the same: one that makes the sidecar refuse connections has to wait as long as the sleep.
//   - The pods of a Job are pods: a preStop does not run when a container ends by itself, only when it is stopped.
//   - A container that fails a liveness or startup probe is stopped, too, and sleeps before it is started again. So that this
//     takes no longer than it did, its probes get the grace period that the pod had before us as their own, unless they have one:
//     it ends the sleep.
//   - Whatever gives pods less time than the sleep (kubectl drain --grace-period, a Spot interruption with its 120 s) ends it
//     early, and the kubelet then leaves 2 s for ending after SIGTERM. A pod that selects Spot nodes is warned of a sleep above
//     110 s. The default of 130 s stays: a shorter one would lose requests behind Network Load Balancers on all other nodes.
//   - The annotation is left out where it would exceed what a pod's annotations may have together. Asked about such a pod a
//     second time, with a new container, we make its grace period longer once more.
//   - Pods without a gate are not touched.
//
// preStop.sleep needs Kubernetes 1.30. An API server before 1.29 drops the field that it does not know, finds a preStop
// without a handler, and refuses the pod. So the server's version is read at the start, and below 1.30 the pods are left
// as they are; a line in the log and a warning at admission say so. (One of 1.29, or one whose feature gate was switched off,
// drops sleep and preStop and takes the pod; so does no harm while an upgrade to 1.30 is under way. A kubelet before 1.30
// does not sleep.)
package webhook
