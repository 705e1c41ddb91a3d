// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"slices"
	"time"

	"github.com/targetgate/targetgate/e2e/emulator/refusal"
	"github.com/targetgate/targetgate/e2e/emulator/region"
)

// obstacle is the health of a target that cannot be used as things are.
func (m *Machine) obstacle(g *group, t *target) (Health, bool) {
	switch {
	case g.TargetType == TypeInstance && !m.running(t.ID):
		return notRunning, true
	case m.reserved[t.ID]:
		return reserved, true
	case g.balancer == nil:
		return unattached, true
	case !g.balancer.enabled(t.Zone):
		return otherZone, true
	}
	return Health{}, false
}

func (m *Machine) running(instance string) bool {
	i, _ := m.ec2.Instance(instance)
	return i.Running
}

// start begins a new life of a target.
func (m *Machine) start(g *group, t *target, now time.Time) {
	t.life++
	t.hidden, t.broken = false, false
	if health, stuck := m.obstacle(g, t); stuck {
		t.view = unseen
		m.show(g, t, health, now)
		m.reroute(g, now)
		return
	}
	m.show(g, t, registering, now)
	m.schedule(now.Add(m.region.Draw(m.timing(g).Register)), effect, g, t)
}

// known is the moment at which the load balancer has taken a registration in.
func (m *Machine) known(g *group, t *target, at time.Time) {
	t.novel, t.passes, t.fails = true, 0, 0
	t.view = fresh
	if g.HealthCheck.Disabled {
		t.view = fit
		m.show(g, t, unchecked, at)
		m.reroute(g, at)
		return
	}
	m.show(g, t, checking, at)
	m.reroute(g, at)
	within := min(m.timing(g).FirstCheck, g.HealthCheck.interval())
	m.schedule(at.Add(m.region.Draw(region.Range{Max: within})), check, g, t)
}

// end deregisters a target. One that is not in use leaves at once.
func (m *Machine) end(g *group, t *target, now time.Time) {
	if t.draining() {
		return
	}
	t.life++
	if t.health.State == Unused {
		m.show(g, t, unregistered, now)
		m.remove(g, t)
		return
	}
	m.show(g, t, leaving, now)
	m.schedule(now.Add(m.region.Scaled(g.deregistrationDelay())), gone, g, t)
	if t.view != unseen {
		m.schedule(now.Add(m.region.Draw(m.timing(g).Stop)), stop, g, t)
	}
}

// expire is the end of the deregistration delay.
func (m *Machine) expire(g *group, t *target, at time.Time) {
	m.change(g, t, unregistered, at, g.cutsDeregistered())
	t.hidden = true
	m.forget(g, t)
}

// forget drops a target that is neither registered nor routed to.
func (m *Machine) forget(g *group, t *target) {
	if t.hidden && t.view == unseen {
		m.remove(g, t)
	}
}

func (m *Machine) remove(g *group, t *target) {
	t.life++
	delete(g.targets, t.Key)
	g.members = slices.DeleteFunc(g.members, func(other *target) bool { return other == t })
}

// reconsider starts or stops the use of targets after their group, load balancer, instance or address has changed.
func (m *Machine) reconsider(g *group, now time.Time) {
	for _, t := range slices.Clone(g.members) {
		if t.draining() {
			m.detach(g, t)
			continue
		}
		_, stuck := m.obstacle(g, t)
		if stuck || t.health.State == Unused {
			m.start(g, t, now)
		}
	}
	m.reroute(g, now)
}

// detach ends the traffic to a draining target whose group no load balancer has any more.
func (m *Machine) detach(g *group, t *target) {
	if g.balancer == nil {
		t.view = unseen
		m.forget(g, t)
	}
}

// SetReserved marks an address as in use by a load balancer, which makes it unusable as a target, or free again.
func (m *Machine) SetReserved(address string, inUse bool) {
	now := m.enter()
	defer m.leave()
	m.reserved[address] = inUse
	m.reconsiderAll(now)
}

func (m *Machine) reconsiderAll(now time.Time) {
	for _, g := range m.order {
		m.reconsider(g, now)
	}
}

// SetInternalError starts or ends a fault of the load balancer's own in checking a target. An ALB holds the target for
// unhealthy, an NLB shows it as unavailable and goes on as before.
func (m *Machine) SetInternalError(groupARN string, key Key, broken bool) error {
	now := m.enter()
	defer m.leave()
	g, err := m.group(groupARN)
	if err != nil {
		return err
	}
	t, ok := g.targets[key]
	if !ok || !t.checked() || t.broken == broken {
		return refusal.New("InvalidTarget", "Target %s has no health checks that could change", key)
	}
	t.broken = broken
	m.breakChecks(g, t, now)
	return nil
}

func (m *Machine) breakChecks(g *group, t *target, now time.Time) {
	if g.network() {
		shown := t.after
		if t.broken {
			t.after, shown = t.health, internalNLB
		}
		m.show(g, t, shown, now)
		return
	}
	t.novel, t.passes, t.fails = false, 0, 0
	if t.broken {
		t.view = unfit
		m.show(g, t, internalALB, now)
		m.reroute(g, now)
	}
}
