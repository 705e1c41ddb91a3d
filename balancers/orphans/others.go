// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package orphans

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/targetgate/targetgate/balancers/parts"
	"github.com/targetgate/targetgate/balancers/stack"
)

// Members tell of a group that has some which load balancers are its own, beside those that a controller has named.
type Members struct {
	// Serve reports whether clients of a member come to the load balancer, or came a short time ago.
	Serve func(*stack.LoadBalancer) bool
	// Given are the names that members give the load balancer.
	Given []string
	// Leave says that all is to be deleted, so that nothing is taken over for them.
	Leave bool
}

// LeaveOthers leaves out of a stack what has the group's tags and is not its own: tags alone make nothing ours to change or delete. A load
// balancer is the group's by its name, or as it serves members; the only one of a group is, too: it is taken over. A target group is its
// own by its name, and a security group by its name or description, or as a load balancer of the group has it. Of several security groups
// that can stand for one, that comes first which a load balancer has, then the one with the right name. It returns what was left out, or
// counts for nothing, in words.
func LeaveOthers(cluster string, group stack.Group, seen *stack.Stack, members Members) (left []string) {
	for _, s := range seen.All() {
		left = append(left, leaveBalancers(group, s, members)...)
		s.TargetGroups = slices.DeleteFunc(slices.Clone(s.TargetGroups), func(g stack.TargetGroup) bool {
			if groupName.MatchString(g.Name) {
				return false
			}
			left = append(left, "target group "+g.Name)
			return true
		})
	}
	return append(left, leaveSecurityGroups(cluster, group, seen)...)
}

func leaveBalancers(group stack.Group, s *stack.Stack, members Members) (left []string) {
	isOwn := func(b stack.LoadBalancer) bool {
		given := func(name string) bool { return b.Name == name || b.Network && b.Name == stack.FrontName(name) }
		return IsNamed(group, &b) || slices.ContainsFunc(members.Given, given) || members.Serve(&b)
	}
	if len(s.LoadBalancers) == 1 && !members.Leave {
		return nil
	}
	all := s.LoadBalancers
	s.LoadBalancers = slices.DeleteFunc(slices.Clone(all), func(b stack.LoadBalancer) bool { return !isOwn(b) })
	for _, b := range all {
		if !isOwn(b) {
			left = append(left, "load balancer "+b.Name)
		}
	}
	return left
}

// security compares the security groups that are seen of a group.
type security struct {
	own, shared string // names
	balancers   []stack.LoadBalancer
}

func (s security) isAttached(g stack.SecurityGroup) bool {
	return slices.ContainsFunc(s.balancers, func(b stack.LoadBalancer) bool {
		return slices.ContainsFunc(b.SecurityGroups, func(ref stack.Ref) bool { return ref.ID == g.ID })
	})
}

func (s security) isNamed(g stack.SecurityGroup) bool {
	return g.Shared && g.Name == s.shared || !g.Shared && g.Name == s.own
}

// rank is lower for what comes before others.
func (s security) rank(g stack.SecurityGroup) int {
	rank := 3
	if s.isAttached(g) {
		rank -= 2
	}
	if s.isNamed(g) {
		rank--
	}
	return rank
}

func leaveSecurityGroups(cluster string, group stack.Group, seen *stack.Stack) (left []string) {
	s := security{parts.SecurityGroupName(cluster, group), stack.BackendSecurityGroupName(cluster), seen.LoadBalancers}
	seen.SecurityGroups = slices.DeleteFunc(slices.Clone(seen.SecurityGroups), func(g stack.SecurityGroup) bool {
		isOthers := !g.Shared && !s.isNamed(g) && g.Description != stack.ManagedDescription && !s.isAttached(g)
		if isOthers {
			left = append(left, fmt.Sprintf("security group %s (%s)", g.ID, g.Name))
		}
		return isOthers
	})
	slices.SortStableFunc(seen.SecurityGroups, func(a, b stack.SecurityGroup) int { return cmp.Compare(s.rank(a), s.rank(b)) })
	first := ""
	for _, g := range seen.SecurityGroups {
		switch {
		case !g.Shared:
		case first == "":
			first = g.ID
		default:
			left = append(left, fmt.Sprintf("security group %s (%s), beside %s that load balancers share,", g.ID, g.Name, first))
		}
	}
	return left
}
