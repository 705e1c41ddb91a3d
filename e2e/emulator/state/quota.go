// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"cmp"
	"slices"
	"strings"

	"github.com/targetgate/targetgate/e2e/emulator/refusal"
)

// SetGroupQuotas changes the limits of one group. What is registered already stays.
func (m *Machine) SetGroupQuotas(groupARN string, q GroupQuotas) error {
	m.enter()
	defer m.leave()
	g, err := m.group(groupARN)
	if err != nil {
		return err
	}
	g.quotas = q
	return nil
}

func tooManyTargets(limit int, per string) error {
	return refusal.New("TooManyTargets", "You cannot have more than %d targets per %s", limit, per)
}

// quotas checks what a group and its load balancer would hold with more targets.
func (m *Machine) quotas(g *group, added []*target) error {
	if len(added) == 0 {
		return nil
	}
	targets := unique(append(g.registered(), added...))
	limit := cmp.Or(g.quotas.Targets, m.opts.Quotas.TargetsPerGroup)
	if g.TargetType == TypeLambda || g.TargetType == TypeALB {
		limit = 1
	}
	if len(targets) > limit {
		return tooManyTargets(limit, "target group")
	}
	if g.owner == nil {
		return nil
	}
	for _, other := range m.groupsOf(g.owner) {
		if other != g {
			targets = append(targets, other.registered()...)
		}
	}
	if err := m.registrationQuota(g.owner, g, added, targets); err != nil {
		return err
	}
	return m.balancerQuota(g.owner, targets)
}

func (m *Machine) balancerQuota(b *balancer, targets []*target) error {
	if b.Type == Application {
		if limit := m.opts.Quotas.TargetsPerALB; len(targets) > limit {
			return tooManyTargets(limit, "application load balancer")
		}
		return nil
	}
	limit, all, zones := m.opts.Quotas.TargetsPerNLBZone, 0, map[string]int{}
	for _, t := range targets {
		all += b.weight(t)
		zones[t.Zone] += b.weight(t)
	}
	if all > limit && b.crossesZones() {
		return tooManyTargets(limit, "network load balancer with cross-zone load balancing enabled")
	}
	for _, count := range zones {
		if count > limit {
			return tooManyTargets(limit, "Availability Zone per network load balancer")
		}
	}
	return nil
}

func (b *balancer) crossesZones() bool { return b.CrossZone || b.attributes[attrCrossZone] == "true" }

// weight is as how many targets of a Network Load Balancer one counts: an ALB as 50, or 100
// (https://docs.aws.amazon.com/elasticloadbalancing/latest/network/load-balancer-limits.html).
func (b *balancer) weight(t *target) int {
	switch {
	case !strings.HasPrefix(t.ID, "arn:"):
		return 1
	case b.crossesZones():
		return 100
	}
	return 50
}

// registrationQuota checks how often the ids added in a group would be registered among all targets of a load balancer.
func (m *Machine) registrationQuota(b *balancer, g *group, added, targets []*target) error {
	limit := cmp.Or(g.quotas.RegistrationsPerTarget, m.opts.Quotas.RegistrationsPerTarget)
	times := map[string]int{}
	for _, t := range targets {
		times[t.ID]++
	}
	var over []string
	for _, t := range added {
		if times[t.ID] > limit {
			over = append(over, t.ID)
		}
	}
	if len(over) == 0 {
		return nil
	}
	slices.Sort(over)
	return refusal.New("TooManyRegistrationsForTargetId",
		"The following targets have been registered the maximum number of times (%d) with load balancer '%s': '%s'",
		limit, b.ARN, strings.Join(slices.Compact(over), "', '"))
}
