// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ec2

import "time"

// use is how many load balancers have a security group, and until when one has it that was deleted.
type use struct {
	balancers int
	until     time.Time
}

// Use notes that a load balancer has security groups: they cannot be deleted until it has released them.
func (n *Network) Use(groups []string) {
	n.enter()
	defer n.leave()
	for _, id := range groups {
		u := n.uses[id]
		u.balancers++
		n.uses[id] = u
	}
}

// Release ends a Use at a time.
func (n *Network) Release(groups []string, at time.Time) {
	n.enter()
	defer n.leave()
	for _, id := range groups {
		u := n.uses[id]
		u.balancers--
		if at.After(u.until) {
			u.until = at
		}
		n.uses[id] = u
	}
}
