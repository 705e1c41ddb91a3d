// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package explain says of a pod, a binding or a namespace why pods get no traffic or are not Ready: the chain from the
// Service to the readiness gate, link by link, with the first broken one and what to do.
//
//	explain.go        which bindings a pod, a name or a namespace is about
//	binding_state.go  all that is read of one binding: the API server and, if asked, the load balancer
//	binding.go        its links: binding, service, slice; controller.go: targetgate; group.go: target group
//	registrar.go      who registers its targets, beside aws-load-balancer-controller; incumbent.go: that controller's marks on it
//	pod.go            the links of each of its pods: slice, pod, gate; target.go: target, health
//	advice.go         what to do about AWS's reasons
//	report.go         what comes out: chains of links; text.go prints it
//
// What is an endpoint, and which binding is left alone, the registrar's own code decides (Surveyor); what a gate
// says is read from the pod's condition, where the registrar wrote it; so is what AWS says, unless AWS itself is asked.
// Nothing is written anywhere.
package explain
