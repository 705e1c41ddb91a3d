// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"cmp"
	"slices"

	"github.com/targetgate/targetgate/balancers/stack"
)

// CreateSecurityGroup makes one without rules.
type CreateSecurityGroup struct{ Group stack.SecurityGroup }

func (c CreateSecurityGroup) Text() string { return "create security group " + c.Group.Name }
func (CreateSecurityGroup) Effect() Effect { return Makes }

func (c CreateSecurityGroup) created() (string, map[string]string) {
	return c.Group.Part(), c.Group.Tags
}

func (c CreateSecurityGroup) On(seen *stack.Stack, made Made) {
	group := stack.Copy(c.Group)
	group.ID, group.Name, group.Inbound = made.ID, cmp.Or(made.Name, group.Name), nil
	seen.SecurityGroups = append(seen.SecurityGroups, group)
}

// Authorize adds rules.
type Authorize struct {
	Group stack.Ref
	Rules []stack.Inbound
}

func (c Authorize) Text() string {
	return "let in " + inboundText(c.Rules) + " by security group " + refText(c.Group)
}
func (Authorize) Effect() Effect { return Makes }

func (c Authorize) On(seen *stack.Stack, _ Made) {
	if g := seen.SecurityGroup(c.Group.ID); g != nil {
		isThere := func(rule stack.Inbound) bool { return slices.Contains(g.Inbound, rule) }
		g.Inbound = slices.Concat(g.Inbound, slices.DeleteFunc(slices.Clone(c.Rules), isThere))
	}
}

// Revoke removes rules.
type Revoke struct {
	Group stack.Ref
	Rules []stack.Inbound
}

func (c Revoke) Text() string {
	return "no longer let in " + inboundText(c.Rules) + " by security group " + refText(c.Group)
}
func (Revoke) Effect() Effect { return Removes }

func (c Revoke) On(seen *stack.Stack, _ Made) {
	if g := seen.SecurityGroup(c.Group.ID); g != nil {
		isRevoked := func(rule stack.Inbound) bool { return slices.Contains(c.Rules, rule) }
		g.Inbound = slices.DeleteFunc(slices.Clone(g.Inbound), isRevoked)
	}
}

// DeleteSecurityGroup may be refused while network interfaces linger; then it is tried again later.
type DeleteSecurityGroup struct{ Group stack.Ref }

func (c DeleteSecurityGroup) Text() string    { return "delete security group " + refText(c.Group) }
func (DeleteSecurityGroup) Effect() Effect    { return Removes }
func (c DeleteSecurityGroup) deleted() string { return c.Group.ID }

func (c DeleteSecurityGroup) On(seen *stack.Stack, _ Made) {
	is := func(g stack.SecurityGroup) bool { return g.ID == c.Group.ID }
	seen.SecurityGroups = slices.DeleteFunc(slices.Clone(seen.SecurityGroups), is)
}
