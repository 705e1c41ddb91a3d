// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ec2

import "time"

// RuleChange is one inbound rule that was added to a security group, or removed from it.
type RuleChange struct {
	Time    time.Time
	Group   string
	Rule    Rule
	Removed bool
}

// RuleChanges returns what calls have done to the inbound rules of all security groups, from position since on, oldest first. It never
// lags. The rules of a security group that is deleted are not in it.
func (n *Network) RuleChanges(since int) []RuleChange { return n.changes.Since(since) }

func (n *Network) noteRules(now time.Time, group string, permissions []Permission, removed bool) {
	for _, p := range permissions {
		n.changes.Append(RuleChange{Time: now, Group: group, Rule: p.Rule, Removed: removed})
	}
}
