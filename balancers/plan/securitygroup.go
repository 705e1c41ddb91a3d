// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"slices"

	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

// sharedTag is the key of the resource tag of the security group that load balancers share.
const sharedTag = "elbv2.k8s.aws/resource"

func (p *planner) partOf(group *stack.SecurityGroup) string {
	return cmp.Or(group.Tags[p.wanted.ID.Kind.ResourceTag()], group.Tags[sharedTag])
}

// seenSecurityGroup is the first of its part, nil for none.
func (p *planner) seenSecurityGroup(part string) *stack.SecurityGroup {
	for i := range p.seen.SecurityGroups {
		if group := &p.seen.SecurityGroups[i]; p.partOf(group) == part {
			return group
		}
	}
	return nil
}

// securityGroup gives one that is wanted the ID of the one that is seen.
func (p *planner) securityGroup(ref stack.Ref) stack.Ref {
	if ref.ID == "" && ref.Part != "" {
		if seen := p.seenSecurityGroup(ref.Part); seen != nil {
			return stack.Ref{ID: seen.ID, Part: ref.Part}
		}
	}
	return ref
}

// prepareSecurityGroups creates what is missing, and lets in whom it shall.
func (p *planner) prepareSecurityGroups() {
	for _, group := range p.wanted.SecurityGroups {
		part := p.partOf(&group)
		ref := p.securityGroup(stack.Ref{Part: part})
		var has []stack.Inbound
		if seen := p.seenSecurityGroup(part); seen != nil {
			has = seen.Inbound
		} else {
			p.do("it does not exist", steps.CreateSecurityGroup{Group: group})
		}
		if missing := without(group.Inbound, has); len(missing) > 0 {
			p.do("a member is to be reached", steps.Authorize{Group: ref, Rules: missing})
		}
	}
}

// revoke removes rules that are not wanted. What may be for a held member stays.
func (p *planner) revoke() {
	for _, group := range p.wanted.SecurityGroups {
		seen := p.seenSecurityGroup(p.partOf(&group))
		if seen == nil || group.Shared {
			continue
		}
		surplus := without(seen.Inbound, group.Inbound)
		surplus = slices.DeleteFunc(surplus, func(rule stack.Inbound) bool { return p.keepsPort(rule.From) })
		if len(surplus) > 0 {
			p.do("no member wants it", steps.Revoke{Group: stack.Ref{ID: seen.ID, Part: p.partOf(seen)}, Rules: surplus})
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

// deleteSecurityGroups deletes those of the stack that are not wanted. Shared ones are others' to delete.
func (p *planner) deleteSecurityGroups() {
	if p.anyHeld {
		return
	}
	for _, group := range p.seen.SecurityGroups {
		part := p.partOf(&group)
		isWanted := slices.ContainsFunc(p.wanted.SecurityGroups, func(g stack.SecurityGroup) bool { return p.partOf(&g) == part })
		if group.Shared || isWanted && p.seenSecurityGroup(part).ID == group.ID {
			continue
		}
		p.do("no load balancer needs it", steps.DeleteSecurityGroup{Group: stack.Ref{ID: group.ID, Part: part}})
	}
}
