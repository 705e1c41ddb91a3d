// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"slices"
	"time"

	"github.com/targetgate/targetgate/e2e/emulator/refusal"
	"github.com/targetgate/targetgate/e2e/emulator/region"
)

// use works out anew which groups a load balancer has. Those that its listeners and rules name are its own: no other may have them. It
// sends to those of the rules in force, too, and so goes on checking their targets.
func (m *Machine) use(b *balancer, now time.Time) {
	named, forced := map[string]bool{}, map[string]bool{}
	for _, l := range m.listenersOf(b) {
		collect(named, l.rules)
		collect(forced, l.force)
	}
	for _, g := range m.order {
		switch {
		case named[g.ARN]:
			g.owner = b
		case g.owner == b:
			g.owner = nil
		}
		switch {
		case g.owner == b && g.balancer != b:
			g.balancer = b
		case g.balancer == b && g.owner == nil && !forced[g.ARN]:
			g.balancer = nil
		default:
			continue
		}
		m.reconsider(g, now)
	}
}

func collect(groups map[string]bool, rules []ListenerRule) {
	for _, r := range rules {
		for _, arn := range r.Action.TargetGroups() {
			groups[arn] = true
		}
	}
}

// changedRules plans the batch with which changed rules reach the data plane: all changes of a load balancer up to then, at once.
// Batches come at fixed times, whenever the changes were made.
func (m *Machine) changedRules(b *balancer, now time.Time) {
	m.use(b, now)
	interval := m.region.Scaled(m.opts.Delays.RuleBatch)
	if interval <= 0 {
		m.enforce(b, now)
		return
	}
	if b.batched {
		return
	}
	if b.phase.IsZero() {
		b.phase = now.Add(-m.region.Draw(region.Range{Max: m.opts.Delays.RuleBatch}))
	}
	b.batched = true
	passed := now.Sub(b.phase) / interval
	m.later(b.phase.Add((passed+1)*interval), func(at time.Time) {
		b.batched = false
		if m.balancers[b.ARN] == b {
			m.enforce(b, at)
		}
	})
}

// enforce has the data plane follow the rules that are shown.
func (m *Machine) enforce(b *balancer, at time.Time) {
	for _, l := range m.listenersOf(b) {
		l.force = slices.Clone(l.rules)
	}
	m.use(b, at)
}

// attachable checks the quotas of a load balancer that would get the groups, beside those that it has.
func (m *Machine) attachable(b *balancer, groups []*group) error {
	all := m.groupsOf(b)
	var added []*group
	for _, g := range groups {
		switch g.owner {
		case b:
		case nil:
			added = append(added, g)
		default:
			return refusal.New("TargetGroupAssociationLimit",
				"The following target groups cannot be associated with more than one load balancer: %s", g.ARN)
		}
	}
	if len(added) == 0 {
		return nil
	}
	all = append(all, added...)
	if b.Type == Application && len(all) > m.opts.Quotas.GroupsPerALB {
		return refusal.New("TooManyUniqueTargetGroupsPerLoadBalancer",
			"The maximum number of target groups has been reached on load balancer '%s'", b.ARN)
	}
	var targets []*target
	for _, g := range all {
		targets = append(targets, g.registered()...)
	}
	for _, g := range added {
		if err := m.registrationQuota(b, g, g.registered(), targets); err != nil {
			return err
		}
	}
	return m.balancerQuota(b, targets)
}

// groupsOf are the groups that a load balancer's listeners and rules name.
func (m *Machine) groupsOf(b *balancer) []*group {
	var groups []*group
	for _, g := range m.order {
		if g.owner == b {
			groups = append(groups, g)
		}
	}
	return groups
}

// release frees the groups of a load balancer that was deleted, after a while.
func (m *Machine) release(b *balancer, now time.Time) {
	free := func(at time.Time) {
		for _, g := range m.order {
			if g.owner == b {
				g.owner = nil
			}
			if g.balancer == b {
				g.balancer = nil
				m.reconsider(g, at)
			}
		}
	}
	if wait := m.region.Draw(m.opts.Delays.Release); wait > 0 {
		m.later(now.Add(wait), free)
		return
	}
	free(now)
}

// Uses reports whether a listener or one of its rules sends to a group, or did until the next batch.
func (m *Machine) Uses(listenerARN, groupARN string) bool {
	m.enter()
	defer m.leave()
	l := m.listener(listenerARN)
	if l == nil {
		return false
	}
	groups := map[string]bool{}
	collect(groups, l.rules)
	collect(groups, l.force)
	return groups[groupARN]
}
