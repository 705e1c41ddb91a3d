// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package stack

import "cmp"

// ClusterTag is the key of the tag with the cluster's name. It is on all that a controller makes.
const ClusterTag = "elbv2.k8s.aws/cluster"

// SharedResourceTag is the key of the tag that says which part of a cluster a thing is that belongs to no stack.
const SharedResourceTag = "elbv2.k8s.aws/resource"

// The values of the resource tags of security groups: that of a stack, and the one that all stacks of a cluster share.
const (
	SecurityGroupPart = "ManagedLBSecurityGroup"
	SharedPart        = "backend-sg"
)

// Kind is the kind of object that asks for a load balancer: the prefix of its tags.
type Kind string

// Ingresses are the only kind yet.
const Ingresses Kind = "ingress.k8s.aws"

// StackTag is the key of the tag that says which stack a thing belongs to.
func (k Kind) StackTag() string { return string(k) + "/stack" }

// ResourceTag is the key of the tag that says which part of its stack a thing is.
func (k Kind) ResourceTag() string { return string(k) + "/resource" }

// PartOf is which part of a stack has these tags, or of what all stacks of a cluster share; "" for none.
func (k Kind) PartOf(tags map[string]string) string {
	return cmp.Or(tags[k.ResourceTag()], tags[SharedResourceTag])
}

// Tags are the tags by which a part of a stack is found again. No other tag may have one of their keys.
func Tags(cluster string, kind Kind, stack, resource string) map[string]string {
	return map[string]string{ClusterTag: cluster, kind.StackTag(): stack, kind.ResourceTag(): resource}
}
