// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ec2

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/targetgate/targetgate/e2e/emulator/refusal"
	"github.com/targetgate/targetgate/e2e/emulator/tag"
)

// SecurityGroup is a security group as DescribeSecurityGroups shows it. Its maps and slices must not be written to.
type SecurityGroup struct {
	SecurityGroupSpec
	ID      string
	Account string
	// Ingress are the inbound rules, in order of their creation. Outbound, everything is allowed.
	Ingress []Permission
}

// SecurityGroupSpec asks for a security group. The VPC is the first one when empty.
type SecurityGroupSpec struct {
	Name, Description string
	VPC               string
	Tags              map[string]string
}

// PrefixList is a managed prefix list that rules may name as their source.
type PrefixList struct {
	ID      string
	Entries []netip.Prefix
	// MaxEntries is how many rules it counts for.
	MaxEntries int
}

// CreateSecurityGroup makes a security group for an account ("" is the default one), without inbound rules.
func (n *Network) CreateSecurityGroup(account string, spec SecurityGroupSpec) (SecurityGroup, error) {
	now := n.enter()
	defer n.leave()
	spec.VPC = cmp.Or(spec.VPC, n.opts.VPCs[0].ID)
	spec.Tags = maps.Clone(spec.Tags)
	if err := n.validateSecurityGroup(spec); err != nil {
		return SecurityGroup{}, err
	}
	g := SecurityGroup{SecurityGroupSpec: spec, ID: n.newID("sg-"), Account: n.region.Account(account)}
	n.putSecurityGroup(g, now)
	return g, nil
}

func (n *Network) validateSecurityGroup(spec SecurityGroupSpec) error {
	if _, ok := n.VPC(spec.VPC); !ok {
		return vpcNotFound(spec.VPC)
	}
	if spec.Name == "" {
		return refusal.New("MissingParameter", "The request must contain the parameter GroupName")
	}
	for _, other := range n.groups.All() {
		if other.VPC == spec.VPC && other.Name == spec.Name {
			return refusal.New("InvalidGroup.Duplicate", "The security group '%s' already exists for VPC '%s'", spec.Name, spec.VPC)
		}
	}
	if len(spec.Tags) > tag.Most {
		return refusal.New("TagLimitExceeded", "The maximum number of tags has been reached on the security group '%s'", spec.Name)
	}
	return CheckTags(spec.Tags)
}

func (n *Network) putSecurityGroup(g SecurityGroup, now time.Time) {
	n.groups.Put(g.ID, g, now, n.oldest(now))
}

// DeleteSecurityGroup removes a security group that nothing names: no interface, load balancer, or rule of another group.
func (n *Network) DeleteSecurityGroup(id string) error {
	now := n.enter()
	defer n.leave()
	if _, err := n.securityGroup(id); err != nil {
		return err
	}
	if n.named(id, now) {
		return refusal.New("DependencyViolation", "resource %s has a dependent object", id)
	}
	n.groups.End(id, now, n.oldest(now))
	delete(n.quotas, id)
	delete(n.uses, id)
	return nil
}

// named reports whether anything depends on a security group.
func (n *Network) named(id string, now time.Time) bool {
	if u := n.uses[id]; u.balancers > 0 || now.Before(u.until) {
		return true
	}
	return slices.ContainsFunc(n.interfaces.All(), func(i Interface) bool { return slices.Contains(i.Groups, id) }) ||
		slices.ContainsFunc(n.groups.All(), func(g SecurityGroup) bool {
			return g.ID != id && slices.ContainsFunc(g.Ingress, func(p Permission) bool { return p.Source.Group == id })
		})
}

// SecurityGroup is a group as it is now, without any lag.
func (n *Network) SecurityGroup(id string) (SecurityGroup, error) {
	n.enter()
	defer n.leave()
	return n.securityGroup(id)
}

func securityGroupNotFound(id string) error {
	return refusal.New("InvalidGroup.NotFound", "The security group '%s' does not exist", id)
}

func (n *Network) securityGroup(id string) (SecurityGroup, error) {
	if !WellFormed("sg-", id) {
		return SecurityGroup{}, refusal.New("InvalidGroupId.Malformed", "Invalid id: \"%s\" (expecting \"sg-...\")", id)
	}
	g, ok := n.groups.Latest(id)
	if !ok {
		return g, securityGroupNotFound(id)
	}
	return g, nil
}

// DescribeSecurityGroups returns an account's groups ("" is the default one) with one of the ids, or all, as they were some
// time ago (Options.Lag). An id that did not exist then is an error.
func (n *Network) DescribeSecurityGroups(account string, ids ...string) ([]SecurityGroup, error) {
	now := n.enter()
	defer n.leave()
	seen := n.groups.At(n.lagged(now))
	seen = slices.DeleteFunc(seen, func(g SecurityGroup) bool { return g.Account != n.region.Account(account) })
	for _, id := range ids {
		if !WellFormed("sg-", id) {
			return nil, refusal.New("InvalidGroupId.Malformed", "Invalid id: \"%s\" (expecting \"sg-...\")", id)
		}
		if !slices.ContainsFunc(seen, func(g SecurityGroup) bool { return g.ID == id }) {
			return nil, securityGroupNotFound(id)
		}
	}
	return slices.DeleteFunc(seen, func(g SecurityGroup) bool { return len(ids) > 0 && !slices.Contains(ids, g.ID) }), nil
}

// TagSecurityGroup sets tags of a security group of the default account.
func (n *Network) TagSecurityGroup(id string, tags map[string]string) error {
	return n.TagResources("", []string{id}, tags)
}

// UntagSecurityGroup removes tags of a security group of the default account; one that is not there is no error.
func (n *Network) UntagSecurityGroup(id string, keys ...string) error {
	if len(keys) == 0 {
		return nil
	}
	var tags []TagFilter
	for _, key := range keys {
		tags = append(tags, TagFilter{Key: key})
	}
	return n.UntagResources("", []string{id}, tags...)
}

// SetRuleQuota changes how many inbound rules of either address family a security group may have; 0 is the quota of all.
// Rules that are there stay.
func (n *Network) SetRuleQuota(id string, rules int) error {
	n.enter()
	defer n.leave()
	if _, err := n.securityGroup(id); err != nil {
		return err
	}
	n.quotas[id] = rules
	return nil
}

// PutPrefixList makes a prefix list known, or changes it.
func (n *Network) PutPrefixList(list PrefixList) error {
	n.enter()
	defer n.leave()
	if !WellFormed("pl-", list.ID) {
		return refusal.New("InvalidPrefixListID.Malformed", "Invalid id: \"%s\" (expecting \"pl-...\")", list.ID)
	}
	if len(list.Entries) > list.MaxEntries {
		return refusal.New("PrefixListMaxEntriesExceeded", "The prefix list '%s' has more than %d entries", list.ID, list.MaxEntries)
	}
	n.prefixLists[list.ID] = list
	return nil
}
