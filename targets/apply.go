// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"maps"
	"slices"
	"time"

	"github.com/targetgate/targetgate/targets/elbv2"
)

// apply hands the plan to the group's lanes, deregistrations first, and says when a lane that backs off may try again
// (0: no need to come back for that, a call under way will wake the binding or nothing is due).
func (r *Registrar) apply(s session, p plan) time.Duration {
	now := r.Clock.Now()
	s.group.settle(p)
	s.group.mu.Lock()
	defer s.group.mu.Unlock()
	deregister := start(&s.group.deregistration, len(p.deregister), now, func() { r.deregister(s) })
	register := start(&s.group.registration, len(p.register), now, func() { r.register(s) })
	return soonest(deregister, register)
}

// start begins a call on the lane if one is due and may start. The caller holds the group's lock.
func start(l *lane, due int, now time.Time, call func()) (retryIn time.Duration) {
	switch {
	case l.busy:
		return 0
	case due == 0:
		l.clear()
		return 0
	case !l.ready(now):
		return l.retryAt.Sub(now)
	default:
		l.begin()
		go call()
		return 0
	}
}

// soonest is the shorter of two pauses, of which 0 means none.
func soonest(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

func (r *Registrar) register(s session) {
	var batch registrations
	err := s.client.Register(r.lanes, s.group.arn, func() []elbv2.Target {
		batch = s.group.takeRegistrations()
		return slices.Collect(maps.Keys(batch))
	})
	now := r.Clock.Now()
	s.group.registrationDone(batch, now, err)
	r.wake(s.key)
}

func (r *Registrar) deregister(s session) {
	var batch departures
	err := s.client.Deregister(r.lanes, s.group.arn, func() []elbv2.Target {
		batch = s.group.takeDeregistrations()
		return slices.Collect(maps.Keys(batch))
	})
	now := r.Clock.Now()
	s.group.deregistrationDone(batch, now, err)
	if err == nil {
		observeDepartures(batch, now)
	}
	r.wake(s.key)
}
