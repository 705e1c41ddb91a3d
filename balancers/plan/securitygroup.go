// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"

	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

// securityGroupSteps are the steps to security groups.
type securityGroupSteps struct {
	*view
	*draft
}

// prepare creates what is missing, and lets in whom it shall.
func (s securityGroupSteps) prepare() {
	for _, group := range s.wanted.SecurityGroups {
		part := s.partOf(&group)
		ref := s.securityGroup(stack.Ref{Part: part})
		var has []stack.Inbound
		if seen := s.seenSecurityGroup(part); seen != nil {
			has = seen.Inbound
		} else {
			s.do("it does not exist", steps.CreateSecurityGroup{Group: group})
		}
		if missing := without(group.Inbound, has); len(missing) > 0 {
			s.do("a member is to be reached", steps.Authorize{Group: ref, Rules: missing})
		}
	}
}

// revoke removes rules that are not wanted. What may be for a held member stays.
func (s securityGroupSteps) revoke() {
	for _, group := range s.wanted.SecurityGroups {
		seen := s.seenSecurityGroup(s.partOf(&group))
		if seen == nil || group.Shared {
			continue
		}
		surplus := without(seen.Inbound, group.Inbound)
		surplus = slices.DeleteFunc(surplus, func(rule stack.Inbound) bool { return s.held.keepsPort(rule.From) })
		if len(surplus) > 0 {
			s.do("no member wants it", steps.Revoke{Group: stack.Ref{ID: seen.ID, Part: s.partOf(seen)}, Rules: surplus})
		}
	}
}

// without are the rules that are not in others.
func without(rules, others []stack.Inbound) []stack.Inbound {
	var list []stack.Inbound
	for _, rule := range rules {
		if !slices.Contains(others, rule) {
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
		part := s.partOf(&group)
		isWanted := slices.ContainsFunc(s.wanted.SecurityGroups, func(g stack.SecurityGroup) bool { return s.partOf(&g) == part })
		if group.Shared || isWanted && s.seenSecurityGroup(part).ID == group.ID {
			continue
		}
		s.do("no load balancer needs it", steps.DeleteSecurityGroup{Group: stack.Ref{ID: group.ID, Part: part}})
	}
}
