// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"time"
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
func (m *Machine) CreateSecurityGroup(account string, spec SecurityGroupSpec) (SecurityGroup, error) {
	now := m.enter()
	defer m.leave()
	spec.VPC = cmp.Or(spec.VPC, m.opts.VPCs[0].ID)
	spec.Tags = maps.Clone(spec.Tags)
	if err := m.validateSecurityGroup(spec); err != nil {
		return SecurityGroup{}, err
	}
	g := SecurityGroup{SecurityGroupSpec: spec, ID: m.hexID("sg-"), Account: m.account(account)}
	m.putSecurityGroup(g, now)
	return g, nil
}

func (m *Machine) validateSecurityGroup(spec SecurityGroupSpec) error {
	if _, ok := m.vpc(spec.VPC); !ok {
		return Refuse("InvalidVpcID.NotFound", "The vpc ID '%s' does not exist", spec.VPC)
	}
	if spec.Name == "" {
		return Refuse("MissingParameter", "The request must contain the parameter GroupName")
	}
	for _, other := range m.ec2.groups.all() {
		if other.VPC == spec.VPC && other.Name == spec.Name {
			return Refuse("InvalidGroup.Duplicate", "The security group '%s' already exists for VPC '%s'", spec.Name, spec.VPC)
		}
	}
	if len(spec.Tags) > mostTags {
		return Refuse("TagLimitExceeded", "The maximum number of tags has been reached on the security group '%s'", spec.Name)
	}
	return CheckResourceTags(spec.Tags)
}

func (m *Machine) putSecurityGroup(g SecurityGroup, now time.Time) {
	m.ec2.groups.put(g.ID, version[SecurityGroup]{since: now, value: g}, m.oldest(now))
}

// DeleteSecurityGroup removes a security group that nothing names: no interface, load balancer, or rule of another group.
func (m *Machine) DeleteSecurityGroup(id string) error {
	now := m.enter()
	defer m.leave()
	g, err := m.securityGroup(id)
	if err != nil {
		return err
	}
	if m.named(id) {
		return Refuse("DependencyViolation", "resource %s has a dependent object", id)
	}
	m.ec2.groups.put(id, version[SecurityGroup]{since: now, value: g, gone: true}, m.oldest(now))
	delete(m.ec2.quotas, id)
	return nil
}

// named says whether anything depends on a security group.
func (m *Machine) named(id string) bool {
	for _, i := range m.ec2.interfaces.all() {
		if slices.Contains(i.Groups, id) {
			return true
		}
	}
	if m.lingering[id] > 0 {
		return true
	}
	for _, b := range m.balancers {
		if slices.Contains(b.SecurityGroups, id) {
			return true
		}
	}
	for _, g := range m.ec2.groups.all() {
		if g.ID != id && slices.ContainsFunc(g.Ingress, func(p Permission) bool { return p.Source.Group == id }) {
			return true
		}
	}
	return false
}

// SecurityGroup is a group as it is now, without any lag.
func (m *Machine) SecurityGroup(id string) (SecurityGroup, error) {
	m.enter()
	defer m.leave()
	return m.securityGroup(id)
}

func (m *Machine) securityGroup(id string) (SecurityGroup, error) {
	if !wellFormed("sg-", id) {
		return SecurityGroup{}, Refuse("InvalidGroupId.Malformed", "Invalid id: \"%s\" (expecting \"sg-...\")", id)
	}
	g, ok := m.ec2.groups.latest(id)
	if !ok {
		return g, securityGroupNotFound(id)
	}
	return g, nil
}

// DescribeSecurityGroups returns an account's groups ("" is the default one) with one of the ids, or all, as they were some
// time ago (Options.EC2Lag). An id that did not exist then is an error.
func (m *Machine) DescribeSecurityGroups(account string, ids ...string) ([]SecurityGroup, error) {
	now := m.enter()
	defer m.leave()
	seen := m.ec2.groups.at(m.lagged(now))
	seen = slices.DeleteFunc(seen, func(g SecurityGroup) bool { return g.Account != m.account(account) })
	for _, id := range ids {
		if !wellFormed("sg-", id) {
			return nil, Refuse("InvalidGroupId.Malformed", "Invalid id: \"%s\" (expecting \"sg-...\")", id)
		}
		if !slices.ContainsFunc(seen, func(g SecurityGroup) bool { return g.ID == id }) {
			return nil, securityGroupNotFound(id)
		}
	}
	return slices.DeleteFunc(seen, func(g SecurityGroup) bool { return len(ids) > 0 && !slices.Contains(ids, g.ID) }), nil
}

// TagSecurityGroup sets tags of a security group of the default account.
func (m *Machine) TagSecurityGroup(id string, tags map[string]string) error {
	return m.TagResources("", []string{id}, tags)
}

// UntagSecurityGroup removes tags of a security group of the default account; one that is not there is no error.
func (m *Machine) UntagSecurityGroup(id string, keys ...string) error {
	if len(keys) == 0 {
		return nil
	}
	var tags []TagFilter
	for _, key := range keys {
		tags = append(tags, TagFilter{Key: key})
	}
	return m.UntagResources("", []string{id}, tags...)
}

// SetRuleQuota changes how many inbound rules of either address family a security group may have; 0 is the quota of all.
// Rules that are there stay.
func (m *Machine) SetRuleQuota(id string, rules int) error {
	m.enter()
	defer m.leave()
	if _, err := m.securityGroup(id); err != nil {
		return err
	}
	m.ec2.quotas[id] = rules
	return nil
}

// PutPrefixList makes a prefix list known, or changes it.
func (m *Machine) PutPrefixList(list PrefixList) error {
	m.enter()
	defer m.leave()
	if !wellFormed("pl-", list.ID) {
		return Refuse("InvalidPrefixListID.Malformed", "Invalid id: \"%s\" (expecting \"pl-...\")", list.ID)
	}
	if len(list.Entries) > list.MaxEntries {
		return Refuse("PrefixListMaxEntriesExceeded", "The prefix list '%s' has more than %d entries", list.ID, list.MaxEntries)
	}
	m.ec2.prefixLists[list.ID] = list
	return nil
}
