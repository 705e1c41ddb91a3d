// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1beta1 holds the TargetGroupBinding API of group elbv2.k8s.aws, field for field what
// aws-load-balancer-controller serves, so that existing manifests keep their meaning, plus a status that says
// what the load balancer thinks of the targets.
//
// A TargetGroupBinding ties one port of one Service to one existing ELBv2 target group. Rules that need no other
// object are in the CRD itself (CEL), so they hold even when our webhooks are down; rules that need other objects
// or AWS are in package webhook, which also repeats those of the CRD: a cluster may still have the incumbent's.
//
// An update is refused for a fault that it makes, and not for one that it finds: objects of the incumbent's may break
// rules that it has not. Of a field the API server sees to that; rules over several fields ask for oldSelf
// (optionalOldSelf: Kubernetes 1.30 and later). No rule is about assumeRoleExternalId, as the API server's messages show
// the value, and some take it for a secret.
//
//	targetgroupbinding_types.go  TargetGroupBinding and its spec, with the rules of the CRD
//	status_types.go              its status
//	names.go                     names of finalizers, annotations and conditions, and the conditions' reasons
//	annotations.go               what annotations of bindings and their Services mean
//	limits.go                    how much a spec may hold
//	port.go                      which port of a Service a binding means, by number and protocol
//	reading.go                   what the fields mean, for all who read a binding
//	groupversion.go              API group and version
//
// +kubebuilder:object:generate=true
// +groupName=elbv2.k8s.aws
package v1beta1
