// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package parts

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/targetgate/targetgate/balancers/stack"
)

// Spare is hashed at last into the names of what replaces another of the same name.
const Spare = "spare"

// FreeLoadBalancerName is the name of a load balancer whose names others have taken. Nobody can take it before who cannot read the
// member of the group that has this UID.
func FreeLoadBalancerName(cluster string, group stack.Group, scheme string, uid types.UID) string {
	return stack.Name(group.NameParts(), cluster, group.String(), scheme, Spare, string(uid))
}

// FreeSecurityGroupName is that of a security group, likewise.
func FreeSecurityGroupName(cluster string, group stack.Group, uid types.UID) string {
	return stack.Name(group.NameParts(), cluster, group.String(), Spare, string(uid))
}

// SecurityGroupName is the name of the security group that is made for the group's load balancer.
func SecurityGroupName(cluster string, group stack.Group) string {
	return stack.Name(group.NameParts(), cluster, group.String())
}
