// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"slices"
	"strings"
)

// ClusterTag is the key of the tag with the cluster's name. It is on all that a controller makes.
const ClusterTag = "elbv2.k8s.aws/cluster"

// SharedResourceTag is the key of the tag that says which part of a cluster a thing is that belongs to no stack.
const SharedResourceTag = "elbv2.k8s.aws/resource"

// The values of the resource tags of security groups: that of a stack, and the one that all stacks of a cluster share.
const (
	SecurityGroupPart = "ManagedLBSecurityGroup"
	SharedPart        = "backend-sg"
)

// OrphanTag is the key of the tag of a load balancer that no object asks for: since when, as in RFC 3339, as far as targetgate has seen.
const OrphanTag = "targetgate.dev/without-ingress-since"

// Part is the security group's resource tag.
func (g *SecurityGroup) Part() string {
	if g.Shared {
		return SharedPart
	}
	return SecurityGroupPart
}

// ManagedDescription is the description of the security group of a stack.
const ManagedDescription = "[k8s] Managed SecurityGroup for LoadBalancer"

// SharedDescription is that of the one that all stacks of a cluster share.
const SharedDescription = "[k8s] Shared Backend SecurityGroup for LoadBalancer"

// Kind is the kind of object that asks for a load balancer: the prefix of its tags.
type Kind string

// Ingresses are the only kind yet.
const Ingresses Kind = "ingress.k8s.aws"

// StackTag is the key of the tag that says which stack a thing belongs to.
func (k Kind) StackTag() string { return string(k) + "/stack" }

// ResourceTag is the key of the tag that says which part of its stack a thing is.
func (k Kind) ResourceTag() string { return string(k) + "/resource" }

// Tracks reports whether parts are found again by the tag of that key: users may not set it.
func (k Kind) Tracks(key string) bool {
	return slices.Contains([]string{ClusterTag, k.StackTag(), k.ResourceTag()}, key)
}

// Tags are the tags by which a part of a stack is found again. No other tag may have one of their keys.
func Tags(cluster string, kind Kind, stack, resource string) map[string]string {
	return map[string]string{ClusterTag: cluster, kind.StackTag(): stack, kind.ResourceTag(): resource}
}

// reserved are the beginnings of keys by which controllers of load balancers, and Kubernetes itself, tell whose something is.
var reserved = []string{
	"elbv2.k8s.aws/", "ingress.k8s.aws/", "service.k8s.aws/", "gateway.k8s.aws/", "gateway.k8s.aws.alb/", "gateway.k8s.aws.nlb/",
	"kubernetes.io/cluster/", "targetgate.dev/",
}

// consentTag is that of a target group whose owner lets others bind it: anybody may set it on their own.
const consentTag = "targetgate.dev/bind"

// ReservedBy is the beginning of the key that keeps users from setting a tag with it, "" for none.
func ReservedBy(key string) string {
	i := slices.IndexFunc(reserved, func(prefix string) bool { return strings.HasPrefix(key, prefix) })
	if i < 0 || key == consentTag {
		return ""
	}
	return reserved[i]
}
