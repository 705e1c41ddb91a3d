// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package orphans

import (
	"regexp"
	"slices"
	"strings"

	"github.com/targetgate/targetgate/balancers/parts"
	"github.com/targetgate/targetgate/balancers/stack"
)

// groupName is how the names of target groups are. What is hashed into them is not known any more.
var groupName = regexp.MustCompile(`^k8s-[A-Za-z0-9]*(-[A-Za-z0-9]*)?-[0-9a-f]{10}$`)

// IsNamed reports whether a load balancer has a name that a controller gives those of the group, and not one that a user has chosen: none
// that a user chooses may begin as these do. What is hashed into one that was made because others had its name is not known any more.
func IsNamed(group stack.Group, balancer *stack.LoadBalancer) bool {
	like := stack.Name(group.NameParts())
	readable := strings.LastIndex(like, "-") + 1
	if balancer.Network {
		like = stack.FrontName(like)
	}
	blank := func(name string) string { return name[:readable] + strings.Map(blankHex, name[readable:]) }
	return len(balancer.Name) == len(like) && blank(balancer.Name) == blank(like)
}

// blankHex is the same for all digits of a hash.
func blankHex(r rune) rune {
	if strings.ContainsRune("0123456789abcdef", r) {
		return '0'
	}
	return r
}

// Foreign are the names of the load balancers of a stack that have another one.
func Foreign(group stack.Group, seen *stack.Stack) (foreign []string) {
	for _, s := range seen.All() {
		for i := range s.LoadBalancers {
			if !IsNamed(group, &s.LoadBalancers[i]) {
				foreign = append(foreign, s.LoadBalancers[i].Name)
			}
		}
	}
	return foreign
}

// KeepNamed leaves out of a stack the target groups without a name, and the security groups without a name or description, that a
// controller gives them: tags alone do not make them ours.
func KeepNamed(cluster string, group stack.Group, seen *stack.Stack) {
	for _, s := range seen.All() {
		s.TargetGroups = slices.DeleteFunc(slices.Clone(s.TargetGroups), func(g stack.TargetGroup) bool { return !groupName.MatchString(g.Name) })
		s.SecurityGroups = slices.DeleteFunc(slices.Clone(s.SecurityGroups), func(g stack.SecurityGroup) bool {
			return !g.Shared && g.Name != parts.SecurityGroupName(cluster, group) && g.Description != stack.ManagedDescription
		})
	}
}
