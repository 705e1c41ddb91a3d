// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1beta1 holds the TargetGroupBinding API of group elbv2.k8s.aws, field for field what
// aws-load-balancer-controller serves, so that existing manifests keep their meaning, plus a status that says
// what the load balancer thinks of the targets.
//
// A TargetGroupBinding ties one port of one Service to one existing ELBv2 target group. Rules that need no other
// object are in the CRD itself (CEL), so they hold even when our webhooks are down; rules that need other objects
// or AWS are in package webhook.
//
// +kubebuilder:object:generate=true
// +groupName=elbv2.k8s.aws
package v1beta1
