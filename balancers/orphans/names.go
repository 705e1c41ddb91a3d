// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package orphans

import (
	"regexp"
	"slices"

	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/ingress/input"
	"github.com/targetgate/targetgate/balancers/ingress/membership"
	"github.com/targetgate/targetgate/balancers/stack"
)

// names are those that a controller gives the load balancers of a group, in front of one, too.
func names(cluster string, group membership.Group) (all []string) {
	for _, scheme := range []string{annotation.Internal, annotation.InternetFacing} {
		for _, name := range []string{
			input.LoadBalancerName(cluster, group, scheme), input.SpareLoadBalancerName(cluster, group, scheme),
		} {
			all = append(all, name, stack.FrontName(name))
		}
	}
	return all
}

// groupName is how the names of target groups are. What is hashed into them is not known any more.
var groupName = regexp.MustCompile(`^k8s-[A-Za-z0-9]*(-[A-Za-z0-9]*)?-[0-9a-f]{10}$`)

// IsNamed reports whether a load balancer has a name that a controller gives it, and not one that a user has chosen.
func IsNamed(cluster string, group membership.Group, balancer *stack.LoadBalancer) bool {
	return slices.Contains(names(cluster, group), balancer.Name)
}

// Foreign are the names of the load balancers of a stack that have another one.
func Foreign(cluster string, group membership.Group, seen *stack.Stack) (foreign []string) {
	for _, s := range seen.All() {
		for i := range s.LoadBalancers {
			if !IsNamed(cluster, group, &s.LoadBalancers[i]) {
				foreign = append(foreign, s.LoadBalancers[i].Name)
			}
		}
	}
	return foreign
}

// KeepNamed leaves out of a stack the target groups without a name, and the security groups without a name or description, that a
// controller gives them: tags alone do not make them ours.
func KeepNamed(cluster string, group membership.Group, seen *stack.Stack) {
	for _, s := range seen.All() {
		s.TargetGroups = slices.DeleteFunc(slices.Clone(s.TargetGroups), func(g stack.TargetGroup) bool { return !groupName.MatchString(g.Name) })
		s.SecurityGroups = slices.DeleteFunc(slices.Clone(s.SecurityGroups), func(g stack.SecurityGroup) bool {
			return !g.Shared && g.Name != input.SecurityGroupName(cluster, group) && g.Description != stack.ManagedDescription
		})
	}
}
