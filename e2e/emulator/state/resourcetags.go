// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"maps"
	"strings"
	"time"
	"unicode/utf8"
)

// TagFilter is a tag to remove: one with that key, and, if Value is given, with that value.
type TagFilter struct {
	Key   string
	Value *string
}

// CheckResourceTags refuses tags that EC2 does, which allows more characters than load balancers do.
func CheckResourceTags(tags map[string]string) error {
	for key, value := range tags {
		switch {
		case key == "" || utf8.RuneCountInString(key) > longestKey:
			return invalidValue("Tag key '%s' must have between 1 and %d characters.", key, longestKey)
		case utf8.RuneCountInString(value) > longestValue:
			return invalidValue("Tag value exceeds the maximum length of %d characters.", longestValue)
		case strings.HasPrefix(strings.ToLower(key), "aws:"):
			return invalidValue("Tag keys starting with 'aws:' are reserved for internal use")
		}
	}
	return nil
}

// TagResources sets tags of security groups and subnets, of all or of none of them.
func (m *Machine) TagResources(account string, ids []string, tags map[string]string) error {
	if err := CheckResourceTags(tags); err != nil {
		return err
	}
	return m.changeResourceTags(account, ids, func(now map[string]string) { maps.Copy(now, tags) })
}

// UntagResources removes tags of security groups and subnets, all of them if none is named. One that is not there is no error.
func (m *Machine) UntagResources(account string, ids []string, tags ...TagFilter) error {
	return m.changeResourceTags(account, ids, func(now map[string]string) {
		if len(tags) == 0 {
			clear(now)
		}
		for _, t := range tags {
			if value, ok := now[t.Key]; ok && (t.Value == nil || *t.Value == value) {
				delete(now, t.Key)
			}
		}
	})
}

func (m *Machine) changeResourceTags(account string, ids []string, change func(map[string]string)) error {
	now := m.enter()
	defer m.leave()
	changed := map[string]map[string]string{}
	for _, id := range ids {
		present, err := m.resourceTags(account, id)
		if err != nil {
			return err
		}
		tags := map[string]string{}
		maps.Copy(tags, present)
		change(tags)
		if len(tags) > mostTags {
			return Refuse("TagLimitExceeded", "The maximum number of tags has been reached on resource '%s'", id)
		}
		changed[id] = tags
	}
	for id, tags := range changed {
		m.putResourceTags(id, tags, now)
	}
	return nil
}

// ResourceTags are the tags of a security group or a subnet as they are now, none of what is not there.
func (m *Machine) ResourceTags(account, id string) map[string]string {
	m.enter()
	defer m.leave()
	tags, _ := m.resourceTags(account, id) // what is not there has no tags
	return maps.Clone(tags)
}

func (m *Machine) resourceTags(account, id string) (map[string]string, error) {
	if strings.HasPrefix(id, "subnet-") {
		vpc, _, ok := m.subnet(id)
		owner, _ := m.vpc(vpc) // is there: it has the subnet
		if !ok || m.account(owner.Account) != m.account(account) {
			return nil, Refuse("InvalidSubnetID.NotFound", "The subnet ID '%s' does not exist", id)
		}
		tags, _ := m.ec2.subnetTags.latest(id)
		return tags, nil
	}
	if !strings.HasPrefix(id, "sg-") {
		return nil, Refuse("InvalidID", "The ID '%s' is not valid", id)
	}
	g, err := m.securityGroup(id)
	if err == nil && g.Account != m.account(account) {
		err = securityGroupNotFound(id)
	}
	return g.Tags, err
}

func (m *Machine) putResourceTags(id string, tags map[string]string, now time.Time) {
	if g, ok := m.ec2.groups.latest(id); ok {
		g.Tags = tags
		m.putSecurityGroup(g, now)
		return
	}
	m.ec2.subnetTags.put(id, version[map[string]string]{since: now, value: tags}, m.oldest(now))
}
