// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"regexp"
	"time"

	"github.com/targetgate/targetgate/e2e/emulator/record"
)

// ec2 is what the machine knows of security groups, prefix lists, network interfaces, and what changes in subnets.
type ec2 struct {
	groups      histories[SecurityGroup]
	interfaces  histories[Interface]
	subnetTags  histories[map[string]string]
	free        map[string]int // addresses of a subnet, where they are not all
	prefixLists map[string]PrefixList
	quotas      map[string]int // inbound rules of a group, where they are not those of all
	changes     *record.Log[RuleChange]
}

func newEC2(vpcs []VPC) ec2 {
	return ec2{
		groups: histories[SecurityGroup]{}, interfaces: histories[Interface]{},
		subnetTags: firstTags(vpcs), free: map[string]int{},
		prefixLists: map[string]PrefixList{}, quotas: map[string]int{},
		changes: record.New[RuleChange](0),
	}
}

// oldest is the earliest time that a reader may be shown at now.
func (m *Machine) oldest(now time.Time) time.Time { return now.Add(-m.Scaled(m.opts.EC2Lag.Max)) }

// lagged draws the time that a reader is shown at now.
func (m *Machine) lagged(now time.Time) time.Time { return now.Add(-m.draw(*m.opts.EC2Lag)) }

// hexID makes an id as EC2 does: a prefix and 17 hexadecimal digits.
func (m *Machine) hexID(prefix string) string { return prefix + "0" + m.id() }

var ec2ID = regexp.MustCompile(`^(i|eni|sg|pl|subnet)-([0-9a-f]{8}|[0-9a-f]{17})$`)

// wellFormed says whether an id is one of a kind, such as sg-.
func wellFormed(prefix, id string) bool {
	return len(id) > len(prefix) && id[:len(prefix)] == prefix && ec2ID.MatchString(id)
}

func securityGroupNotFound(id string) error {
	return Refuse("InvalidGroup.NotFound", "The security group '%s' does not exist", id)
}

func invalidValue(format string, args ...any) error {
	return Refuse("InvalidParameterValue", format, args...)
}
