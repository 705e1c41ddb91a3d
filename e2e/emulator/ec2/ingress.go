// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ec2

import (
	"cmp"
	"slices"

	"github.com/targetgate/targetgate/e2e/emulator/refusal"
)

// AuthorizeIngress adds inbound rules to a security group of an account ("" is the default one), all or none.
func (n *Network) AuthorizeIngress(account, id string, permissions []Permission) error {
	now := n.enter()
	defer n.leave()
	g, err := n.ownSecurityGroup(account, id)
	if err != nil {
		return err
	}
	added, err := canonicalPermissions(permissions)
	if err != nil {
		return err
	}
	for _, p := range added {
		if err := cmp.Or(n.validateSource(g, p.Source), g.duplicate(p.Rule)); err != nil {
			return err
		}
	}
	g.Ingress = slices.Concat(g.Ingress, added)
	limit := cmp.Or(n.quotas[id], n.opts.RulesPerSecurityGroup, defaultRulesPerGroup)
	if v4, v6 := n.countRules(g.Ingress); max(v4, v6) > limit {
		return refusal.New("RulesPerSecurityGroupLimitExceeded", "The maximum number of rules per security group has been reached.")
	}
	n.putSecurityGroup(g, now)
	n.noteRules(now, id, added, false)
	return nil
}

// ownSecurityGroup is the present version of an account's own group.
func (n *Network) ownSecurityGroup(account, id string) (SecurityGroup, error) {
	g, err := n.securityGroup(id)
	if err == nil && g.Account != n.region.Account(account) {
		return g, securityGroupNotFound(id)
	}
	return g, err
}

func (g SecurityGroup) duplicate(r Rule) error {
	if g.index(r) < 0 {
		return nil
	}
	return refusal.New("InvalidPermission.Duplicate", "the specified rule \"%s\" already exists", r)
}

// index is the place of a rule, -1 if it is not there.
func (g SecurityGroup) index(r Rule) int {
	return slices.IndexFunc(g.Ingress, func(p Permission) bool { return p.Rule == r })
}

// validateSource checks that a group may name a source.
func (n *Network) validateSource(g SecurityGroup, s Source) error {
	if s.PrefixList != "" {
		if !WellFormed("pl-", s.PrefixList) {
			return refusal.New("InvalidPrefixListID.Malformed", "Invalid id: \"%s\" (expecting \"pl-...\")", s.PrefixList)
		}
		if _, ok := n.prefixLists[s.PrefixList]; !ok {
			return refusal.New("InvalidPrefixListID.NotFound", "The prefix list ID '%s' does not exist", s.PrefixList)
		}
	}
	if s.Group == "" {
		return nil
	}
	source, err := n.securityGroup(s.Group)
	if err == nil && source.VPC != g.VPC {
		return invalidValue("You have specified two resources that belong to different networks.")
	}
	return err
}

// countRules counts rules against the quota of either family: a group counts for one in both, a prefix list for all that it
// may hold.
func (n *Network) countRules(rules []Permission) (v4, v6 int) {
	for _, r := range rules {
		switch {
		case r.Source.PrefixList != "":
			size := n.prefixLists[r.Source.PrefixList].MaxEntries
			v4, v6 = v4+size, v6+size
		case r.Source.Group != "":
			v4, v6 = v4+1, v6+1
		case r.Source.CIDR.Addr().Is4():
			v4++
		default:
			v6++
		}
	}
	return v4, v6
}

// RevokeIngress removes inbound rules from a security group of an account ("" is the default one), all or none, whatever
// their descriptions. It returns what was removed.
func (n *Network) RevokeIngress(account, id string, rules []Rule) ([]Permission, error) {
	now := n.enter()
	defer n.leave()
	g, err := n.ownSecurityGroup(account, id)
	if err != nil {
		return nil, err
	}
	permissions := make([]Permission, len(rules))
	for i, r := range rules {
		permissions[i].Rule = r
	}
	permissions, err = canonicalPermissions(permissions)
	if err != nil {
		return nil, err
	}
	removed := make([]Permission, len(rules))
	g.Ingress = slices.Clone(g.Ingress)
	for i, p := range permissions {
		at := g.index(p.Rule)
		if at < 0 {
			return nil, refusal.New("InvalidPermission.NotFound", "The specified rule does not exist in this security group.")
		}
		removed[i] = g.Ingress[at]
		g.Ingress = slices.Delete(g.Ingress, at, at+1)
	}
	n.putSecurityGroup(g, now)
	n.noteRules(now, id, removed, true)
	return removed, nil
}
