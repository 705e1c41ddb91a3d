// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/targetgate/targetgate/e2e/emulator/refusal"
)

// Register adds targets to a group, all or none; a target that is registered stays as it is. The effect comes later.
func (m *Machine) Register(groupARN string, targets []Target) error {
	now := m.enter()
	defer m.leave()
	g, err := m.group(groupARN)
	if err != nil {
		return err
	}
	var added []*target
	for _, wanted := range targets {
		t, err := m.admit(g, wanted)
		if err != nil {
			return err
		}
		if t != nil {
			added = append(added, t)
		}
	}
	added = unique(added)
	if err := m.quotas(g, added); err != nil {
		return err
	}
	for _, t := range added {
		m.linger(g, t.Key, now)
		m.join(g, t, now)
	}
	return nil
}

// unique drops repetitions within one call.
func unique(targets []*target) []*target {
	seen := map[Key]bool{}
	var kept []*target
	for _, t := range targets {
		if !seen[t.Key] {
			seen[t.Key] = true
			kept = append(kept, t)
		}
	}
	return kept
}

// admit checks one target of a call; nil is one that is registered already.
func (m *Machine) admit(g *group, wanted Target) (*target, error) {
	wanted.Port = g.portOr(wanted.Port)
	resolved, err := m.resolve(g, wanted)
	if err != nil {
		return nil, err
	}
	present, ok := g.targets[wanted.Key]
	switch {
	case !ok:
		return &target{Target: resolved, health: unregistered}, nil
	case present.health.State == Draining && m.opts.RejectWhileDraining:
		return nil, refusal.New("InvalidTarget", "The following targets are being deregistered: '%s'", wanted.Key)
	case present.draining():
		return present, nil
	}
	return nil, nil
}

func (m *Machine) join(g *group, t *target, now time.Time) {
	if _, ok := g.targets[t.Key]; !ok {
		g.targets[t.Key] = t
		g.members = append(g.members, t)
	}
	m.start(g, t, now)
}

func (g *group) portOr(port int) int {
	if port == 0 {
		return g.Port
	}
	return port
}

// resolve fills in a target's zone and address, by the rules of the group's target type.
func (m *Machine) resolve(g *group, t Target) (Target, error) {
	if g.TargetType != TypeLambda {
		if err := refusal.Within("targets.member.port", t.Port, 1, 65535); err != nil {
			return t, err
		}
	}
	switch g.TargetType {
	case TypeInstance:
		return m.resolveInstance(t)
	case TypeIP:
		return m.resolveIP(g, t)
	case TypeALB:
		return m.resolveALB(g, t)
	}
	return resolveLambda(t)
}

func (m *Machine) resolveInstance(t Target) (Target, error) {
	if !strings.HasPrefix(t.ID, "i-") {
		return t, refusal.Invalid("Instance ID '%s' is not valid", t.ID)
	}
	instance, ok := m.ec2.Instance(t.ID)
	if !ok || !instance.Running {
		return t, refusal.New("InvalidTarget", "The following targets are not in a running state and cannot be registered: '%s'", t.ID)
	}
	t.Zone, t.Address = instance.Zone, instance.Address
	return t, nil
}

var targetRanges = []netip.Prefix{
	netip.MustParsePrefix("10.0.0.0/8"),
	netip.MustParsePrefix("172.16.0.0/12"),
	netip.MustParsePrefix("192.168.0.0/16"),
	netip.MustParsePrefix("100.64.0.0/10"),
}

func (m *Machine) resolveIP(g *group, t Target) (Target, error) {
	addr, err := netip.ParseAddr(t.ID)
	if err != nil || addr.Is4() != (g.AddressType == IPv4) {
		family := map[string]string{IPv4: "IPv4", IPv6: "IPv6"}[g.AddressType]
		return t, refusal.Invalid("The IP address '%s' is not a valid %s address", t.ID, family)
	}
	t.Address = t.ID
	vpc, _ := m.ec2.VPC(g.VPC)
	if detected, ok := vpc.ZoneOf(addr); ok {
		if t.Zone != "" && t.Zone != detected {
			return t, refusal.Invalid("The IP address '%s' is within the VPC, and cannot have its Availability Zone overridden to '%s' from '%s'",
				t.ID, t.Zone, detected)
		}
		t.Zone = detected
		return t, nil
	}
	if !allowed(addr) {
		return t, refusal.New("InvalidTarget", "The IP address '%s' is not within an allowed range", t.ID)
	}
	return t, m.outside(g, t)
}

// allowed reports whether an address that is in no subnet of the VPC may be a target.
func allowed(addr netip.Addr) bool {
	for _, r := range targetRanges {
		if r.Contains(addr) {
			return true
		}
	}
	return false
}

// outside checks the zone of an address that is in no subnet: an ALB takes only all, and with cross-zone load balancing
// off only a zone.
func (m *Machine) outside(g *group, t Target) error {
	zone := strings.HasPrefix(t.Zone, m.region.Name())
	switch {
	case g.zonal() && !zone:
		return refusal.Invalid("When cross-zone load balancing is disabled on this target group, "+
			"you must specify an Availability Zone for IP target '%s' since it is outside of the VPC", t.ID)
	case t.Zone == "":
		return refusal.Invalid("The Availability Zone is required for IP address '%s' because it is not in the VPC: "+
			"you must specify an Availability Zone", t.ID)
	case t.Zone == "all" || zone && (g.network() || g.zonal()):
		return nil
	case g.network():
		return refusal.Invalid("You must specify a valid Availability Zone or select 'all' for all enabled Availability zones, "+
			"since the IP address '%s' is outside the VPC", t.ID)
	}
	return refusal.Invalid("The Availability Zone for IP address '%s' must be 'all' for Application Load Balancer target groups, "+
		"when not within the VPC", t.ID)
}

func resolveLambda(t Target) (Target, error) {
	if !strings.HasPrefix(t.ID, "arn:aws:lambda:") {
		return t, refusal.Invalid("'%s' is not a valid Lambda function ARN", t.ID)
	}
	t.Address = t.ID
	return t, nil
}

// Deregister takes targets out of a group; those that are not registered are ignored. The effect comes later.
func (m *Machine) Deregister(groupARN string, targets []Target) error {
	now := m.enter()
	defer m.leave()
	g, err := m.group(groupARN)
	if err != nil {
		return err
	}
	for _, wanted := range targets {
		wanted.Port = g.portOr(wanted.Port)
		if t, ok := g.targets[wanted.Key]; ok && !t.draining() {
			m.linger(g, t.Key, now)
			m.end(g, t, now)
		}
	}
	return nil
}

// TargetHealth is one line of DescribeTargetHealth.
type TargetHealth struct {
	Target
	CheckPort string
	Health
}

// Describe returns the health of the targets asked for, or of all in order of registration. A target that is not there
// is unused/Target.NotRegistered.
func (m *Machine) Describe(groupARN string, asked []Target) ([]TargetHealth, error) {
	now := m.enter()
	defer m.leave()
	g, err := m.group(groupARN)
	if err != nil {
		return nil, err
	}
	g.fade(now)
	if len(asked) == 0 {
		return g.list(), nil
	}
	lines := make([]TargetHealth, len(asked))
	for i, wanted := range asked {
		wanted.Port = g.portOr(wanted.Port)
		lines[i] = TargetHealth{Target: wanted, Health: unregistered}
		if line, listed := g.shown(wanted.Key); listed {
			lines[i] = line
		}
	}
	return lines, nil
}

func (g *group) line(t *target) TargetHealth {
	port := g.HealthCheck.Port
	if port == "traffic-port" {
		port = fmt.Sprint(t.Port)
	}
	return TargetHealth{Target: t.Target, CheckPort: port, Health: t.health}
}
