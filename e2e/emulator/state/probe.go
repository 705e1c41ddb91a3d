// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"strconv"
	"time"
)

// Probe is one health check to make now.
type Probe struct {
	Group  string
	Target Target
	// Protocol is HTTP, HTTPS or TCP; Path is for the first two.
	Protocol string
	Port     int
	Path     string
	// Timeout is scaled already.
	Timeout time.Duration

	due  time.Time
	g    *group
	t    *target
	life int
}

// Result is how a Probe went: the zero value is a TCP connection that was made.
type Result struct {
	// Code is the HTTP status that was answered, 0 if none was.
	Code int
	// TimedOut and Failed (refused, reset, malformed) say why there was no answer.
	TimedOut bool
	Failed   bool
}

func (g *group) probe(m *Machine, t *target, due time.Time) Probe {
	port, err := strconv.Atoi(g.HealthCheck.Port)
	if err != nil { // traffic-port
		port = t.Port
	}
	return Probe{
		Group:    g.ARN,
		Target:   t.Target,
		Protocol: g.HealthCheck.Protocol,
		Port:     port,
		Path:     g.HealthCheck.Path,
		Timeout:  m.region.Scaled(g.HealthCheck.timeout()),
		due:      due, g: g, t: t, life: t.life,
	}
}

// Report takes in how a health check went and plans the next one. A check that began before the target was
// deregistered or registered anew counts for nothing.
func (m *Machine) Report(p Probe, r Result) {
	now := m.enter()
	defer m.leave()
	if p.life != p.t.life {
		return
	}
	next := p.due.Add(m.region.Scaled(p.g.HealthCheck.interval()))
	if next.Before(now) {
		next = now
	}
	m.schedule(next, check, p.g, p.t)
	switch {
	case p.t.broken:
	case p.g.passes(r):
		m.passed(p.g, p.t, now)
	default:
		m.failed(p.g, p.t, r, now)
	}
}

func (g *group) passes(r Result) bool {
	if r.TimedOut || r.Failed {
		return false
	}
	return g.HealthCheck.Protocol == ProtocolTCP || matches(g.HealthCheck.Matcher, r.Code)
}

func (m *Machine) passed(g *group, t *target, now time.Time) {
	t.fails = 0
	t.passes++
	if t.view == fit || t.passes < m.passesNeeded(g, t) {
		return
	}
	t.novel = false
	t.view = fit
	m.show(g, t, healthy, now)
	m.reroute(g, now)
}

func (m *Machine) passesNeeded(g *group, t *target) int {
	if first := m.timing(g).FirstPasses; t.novel && first > 0 {
		return first
	}
	return g.HealthCheck.HealthyThreshold
}

func (m *Machine) failed(g *group, t *target, r Result, now time.Time) {
	t.passes = 0
	t.fails++
	if t.fails < g.HealthCheck.UnhealthyThreshold {
		return
	}
	verdict := g.verdict(r)
	wasFit := t.view == fit
	t.novel = false
	t.view = unfit
	grace := g.unhealthyDraining()
	switch {
	case t.health == windingDown:
		t.after = verdict
	case wasFit && grace > 0:
		t.after = verdict
		t.settles = now.Add(m.region.Scaled(grace))
		m.show(g, t, windingDown, now)
		m.schedule(t.settles, settled, g, t)
	default:
		m.change(g, t, verdict, now, wasFit && g.cutsUnhealthy())
	}
	m.reroute(g, now)
}

// verdict names the failure; an NLB gives the same reason for all.
func (g *group) verdict(r Result) Health {
	switch {
	case g.network() || r.Failed:
		return failedChecks
	case r.TimedOut:
		return timedOut
	}
	return mismatch(r.Code)
}

// settle ends unhealthy.draining, unless the target has recovered meanwhile.
func (m *Machine) settle(g *group, t *target, at time.Time) {
	if t.health == windingDown && !at.Before(t.settles) {
		m.show(g, t, t.after, at)
	}
}
