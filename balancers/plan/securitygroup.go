// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"
	"strings"

	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

// securityGroupSteps are the steps to security groups.
type securityGroupSteps struct {
	*view
	*draft
}

// prepare creates what is missing, and lets in whom it shall. Where that has no room beside the others, those go first.
func (s securityGroupSteps) prepare() {
	for _, group := range s.wanted.SecurityGroups {
		part := group.Part()
		ref := s.securityGroup(stack.Ref{Part: part})
		var has []stack.Inbound
		if seen := s.seenSecurityGroup(part); seen != nil {
			has = seen.Inbound
		} else {
			s.do("it does not exist", steps.CreateSecurityGroup{Group: group})
		}
		if isFull(group.Inbound, has) {
			s.revokeSurplus(&group)
		}
		if missing := without(group.Inbound, has); len(missing) > 0 {
			s.do("a member is to be reached", steps.Authorize{Group: ref, Rules: missing})
		}
	}
}

// revoke removes rules that are not wanted.
func (s securityGroupSteps) revoke() {
	for _, group := range s.wanted.SecurityGroups {
		if seen := s.seenSecurityGroup(group.Part()); seen != nil && !isFull(group.Inbound, seen.Inbound) {
			s.revokeSurplus(&group)
		}
	}
}

// revokeSurplus leaves what may be for a held member.
func (s securityGroupSteps) revokeSurplus(group *stack.SecurityGroup) {
	seen := s.seenSecurityGroup(group.Part())
	if group.Shared {
		return
	}
	surplus := without(seen.Inbound, group.Inbound)
	surplus = slices.DeleteFunc(surplus, func(rule stack.Inbound) bool { return s.held.keepsPort(rule.From) })
	if len(surplus) > 0 {
		s.do("no member wants it", steps.Revoke{Group: stack.Ref{ID: seen.ID, Part: seen.Part()}, Rules: surplus})
	}
}

// mostInbound is AWS's default quota: how many inbound rules a security group has of IPv4, and as many of IPv6.
const mostInbound = 60

// isFull reports whether a security group with the rules that it has takes what is wanted only once the others have gone.
func isFull(wanted, has []stack.Inbound) bool {
	all := slices.Concat(has, without(wanted, has))
	for _, ipv6 := range []bool{false, true} {
		if count(all, ipv6) > mostInbound && count(wanted, ipv6) <= mostInbound {
			return true
		}
	}
	return false
}

func count(rules []stack.Inbound, ipv6 bool) (n int) {
	for _, rule := range rules {
		if strings.Contains(rule.Source, ":") == ipv6 {
			n++
		}
	}
	return n
}

// without are the rules that are not in others.
func without(rules, others []stack.Inbound) []stack.Inbound {
	known := make(map[stack.Inbound]bool, len(others))
	for _, rule := range others {
		known[rule] = true
	}
	var list []stack.Inbound
	for _, rule := range rules {
		if !known[rule] {
			list = append(list, rule)
		}
	}
	return list
}

// delete deletes those of the stack that are not wanted. Shared ones are others' to delete.
func (s securityGroupSteps) delete() {
	if s.held.any {
		return
	}
	for _, group := range s.seen.SecurityGroups {
		part := group.Part()
		isWanted := slices.ContainsFunc(s.wanted.SecurityGroups, func(g stack.SecurityGroup) bool { return g.Part() == part })
		if group.Shared || isWanted && s.seenSecurityGroup(part).ID == group.ID {
			continue
		}
		s.do("no load balancer needs it", steps.DeleteSecurityGroup{Group: stack.Ref{ID: group.ID, Part: part}})
	}
}
