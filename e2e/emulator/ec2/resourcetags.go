// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ec2

import (
	"maps"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/targetgate/targetgate/e2e/emulator/refusal"
	"github.com/targetgate/targetgate/e2e/emulator/tag"
)

// TagFilter is a tag to remove: one with that key, and, if Value is given, with that value.
type TagFilter struct {
	Key   string
	Value *string
}

// CheckTags refuses tags that EC2 does, which allows more characters than load balancers do.
func CheckTags(tags map[string]string) error {
	for key, value := range tags {
		switch {
		case key == "" || utf8.RuneCountInString(key) > tag.LongestKey:
			return invalidValue("Tag key '%s' must have between 1 and %d characters.", key, tag.LongestKey)
		case utf8.RuneCountInString(value) > tag.LongestValue:
			return invalidValue("Tag value exceeds the maximum length of %d characters.", tag.LongestValue)
		case strings.HasPrefix(strings.ToLower(key), "aws:"):
			return invalidValue("Tag keys starting with 'aws:' are reserved for internal use")
		}
	}
	return nil
}

// TagResources sets tags of security groups and subnets, of all or of none of them.
func (n *Network) TagResources(account string, ids []string, tags map[string]string) error {
	if err := CheckTags(tags); err != nil {
		return err
	}
	return n.changeResourceTags(account, ids, func(now map[string]string) { maps.Copy(now, tags) })
}

// UntagResources removes tags of security groups and subnets, all of them if none is named. One that is not there is no error.
func (n *Network) UntagResources(account string, ids []string, tags ...TagFilter) error {
	return n.changeResourceTags(account, ids, func(now map[string]string) {
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

func (n *Network) changeResourceTags(account string, ids []string, change func(map[string]string)) error {
	now := n.enter()
	defer n.leave()
	changed := map[string]map[string]string{}
	for _, id := range ids {
		present, err := n.resourceTags(account, id)
		if err != nil {
			return err
		}
		tags := map[string]string{}
		maps.Copy(tags, present)
		change(tags)
		if len(tags) > tag.Most {
			return refusal.New("TagLimitExceeded", "The maximum number of tags has been reached on resource '%s'", id)
		}
		changed[id] = tags
	}
	for id, tags := range changed {
		n.putResourceTags(id, tags, now)
	}
	return nil
}

// ResourceTags are the tags of a security group or a subnet as they are now, none of what is not there.
func (n *Network) ResourceTags(account, id string) map[string]string {
	n.enter()
	defer n.leave()
	tags, _ := n.resourceTags(account, id) // what is not there has no tags
	return maps.Clone(tags)
}

func (n *Network) resourceTags(account, id string) (map[string]string, error) {
	if strings.HasPrefix(id, "subnet-") {
		vpc, _, ok := n.Subnet(id)
		owner, _ := n.VPC(vpc) // is there: it has the subnet
		if !ok || n.region.Account(owner.Account) != n.region.Account(account) {
			return nil, refusal.New("InvalidSubnetID.NotFound", "The subnet ID '%s' does not exist", id)
		}
		tags, _ := n.subnetTags.Latest(id)
		return tags, nil
	}
	if !strings.HasPrefix(id, "sg-") {
		return nil, refusal.New("InvalidID", "The ID '%s' is not valid", id)
	}
	g, err := n.securityGroup(id)
	if err == nil && g.Account != n.region.Account(account) {
		err = securityGroupNotFound(id)
	}
	return g.Tags, err
}

func (n *Network) putResourceTags(id string, tags map[string]string, now time.Time) {
	if g, ok := n.groups.Latest(id); ok {
		g.Tags = tags
		n.putSecurityGroup(g, now)
		return
	}
	n.subnetTags.Put(id, tags, now, n.oldest(now))
}
