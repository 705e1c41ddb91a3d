// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import "slices"

func tooManyTargets(what, arn string, limit int) error {
	return Refuse("TooManyTargets", "The maximum number of targets (%d) has been reached on %s '%s'", limit, what, arn)
}

// quotas checks what a group and its load balancer would hold with more targets.
func (m *Machine) quotas(g *group, added []*target) error {
	targets := unique(append(g.registered(), added...))
	limit := m.opts.Quotas.TargetsPerGroup
	if g.TargetType == TypeLambda || g.TargetType == TypeALB {
		limit = 1
	}
	if len(targets) > limit {
		return tooManyTargets("target group", g.ARN, limit)
	}
	if g.balancer == nil {
		return nil
	}
	for _, other := range m.groupsOf(g.balancer) {
		if other != g {
			targets = append(targets, other.registered()...)
		}
	}
	return m.balancerQuota(g.balancer, targets)
}

func (m *Machine) balancerQuota(b *balancer, targets []*target) error {
	if err := m.registrationQuota(b, targets); err != nil {
		return err
	}
	if b.Type == Application {
		if limit := m.opts.Quotas.TargetsPerALB; len(targets) > limit {
			return tooManyTargets("load balancer", b.ARN, limit)
		}
		return nil
	}
	limit := m.opts.Quotas.TargetsPerNLBZone
	if len(targets) > limit && b.CrossZone {
		return tooManyTargets("load balancer", b.ARN, limit)
	}
	zones := map[string]int{}
	for _, t := range targets {
		zones[t.Zone]++
	}
	for zone, count := range zones {
		if count > limit {
			return tooManyTargets("Availability Zone "+zone+" of load balancer", b.ARN, limit)
		}
	}
	return nil
}

func (m *Machine) registrationQuota(b *balancer, targets []*target) error {
	times := map[string]int{}
	for _, t := range targets {
		times[t.ID]++
	}
	var over []string
	for id, count := range times {
		if count > m.opts.Quotas.RegistrationsPerTarget {
			over = append(over, id)
		}
	}
	if len(over) == 0 {
		return nil
	}
	slices.Sort(over)
	return Refuse("TooManyRegistrationsForTargetId",
		"The following targets are registered too many times with load balancer '%s': %v", b.ARN, over)
}
