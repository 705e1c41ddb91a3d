// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package explain says of a pod, a binding or a namespace why pods get no traffic or are not Ready: the chain from the
// Service to the readiness gate, link by link, with the first broken one and what to do.
//
//	explain.go        which bindings a question about a pod, a binding or a namespace concerns; the Explainer, which answers it
//
// What is read:
//
//	binding_state.go  all that is read of one binding, from the cluster and, if asked, from AWS; its chain of links
//	desired.go        the part that the registrar's own code finds out: endpoints, and why a binding is left alone (clusterReader)
//	api_reader.go     reads from the API server for that code, which reads a cache elsewhere
//
// The links of a binding, by their names in the report:
//
//	binding.go        binding, service, slice
//	controller.go     targetgate: whether it runs, and has seen the binding
//	group.go          target group, security groups
//	registrar.go      registrar: whether targetgate or the incumbent registers the targets
//	incumbent.go      incumbent: what the incumbent's finalizer and checkpoint show of its work
//
// The links of each of its pods or nodes:
//
//	pod.go            slice, pod, gate
//	target.go         target, health; node, and nodes for one pod behind them
//	advice.go         what to do about the reasons that AWS gives
//
// What comes out:
//
//	report.go         the report: chains of links, which link is the cause, and each endpoint with its target
//	text.go           prints it; endpoints without a fault are only counted, unless all are asked for
//
// What is an endpoint, and which binding is left alone, the registrar's own code decides (clusterReader); what a gate
// says is read from the pod's condition, where the registrar wrote it; so is what AWS says, unless AWS itself is asked.
// Nothing is written anywhere.
package explain
