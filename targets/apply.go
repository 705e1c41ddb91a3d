// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/targetgate/targetgate/targets/elbv2"
)

// apply hands the plan to the group's lanes, deregistrations first, and says when a lane that backs off may try again
// (0: no need to come back for that, a call under way will wake the binding or nothing is due).
func (r *Registrar) apply(s session, p plan) time.Duration {
	now := r.Clock.Now()
	s.group.settle(p)
	s.group.mu.Lock()
	defer s.group.mu.Unlock()
	deregister := start(&s.group.deregistration, len(p.deregister) > 0, now, func() { r.deregister(s) })
	register := start(&s.group.registration, len(p.register) > 0, now, func() { r.register(s) })
	return soonest(deregister, register)
}

// start begins a call on the lane if one is due and may start. The caller holds the group's lock.
func start(l *lane, due bool, now time.Time, call func()) (retryIn time.Duration) {
	switch {
	case l.busy:
		return 0
	case !due:
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

// takeRegistrations yields the targets that are due now, and marks them as under way.
func (g *group) takeRegistrations() registrations {
	g.mu.Lock()
	defer g.mu.Unlock()
	return take(g.toRegister, func(target elbv2.Target, uid types.UID) bool {
		e := g.entry(target)
		done := e.presence == registered && e.owner == uid
		if done || e.registering || e.deregistering {
			return false
		}
		e.registering = true
		return true
	})
}

// takeDeregistrations yields the targets that are due now, and marks them as under way.
func (g *group) takeDeregistrations() departures {
	g.mu.Lock()
	defer g.mu.Unlock()
	return take(g.toDeregister, func(target elbv2.Target, _ time.Time) bool {
		e := g.entry(target)
		if e.deregistering || e.presence == draining {
			return false
		}
		e.deregistering, e.crossed = true, e.registering
		return true
	})
}

// take moves as many targets as fit in a call out of pending: those that begin still finds due, since the pass looked.
func take[M ~map[elbv2.Target]V, V any](pending M, begin func(elbv2.Target, V) bool) M {
	batch := M{}
	for target, value := range pending {
		if len(batch) == elbv2.MaxTargetsPerCall {
			break
		}
		delete(pending, target)
		if begin(target, value) {
			batch[target] = value
		}
	}
	return batch
}

// registrationDone takes the answer for a batch.
func (g *group) registrationDone(batch registrations, now time.Time, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.registration.end(now, err)
	for target, uid := range batch {
		e := g.entry(target)
		e.registering = false
		if err != nil {
			e.failed(now, uid, elbv2.Message(err))
			continue
		}
		e.own(uid, now)
		e.inherit(now, noticeTime(g.facts))
		if e.presence != registered {
			e.health = elbv2.Health{
				State:       elbv2.StateInitial,
				Reason:      elbv2.ReasonRegistrationInProgress,
				Description: elbv2.DescriptionRegistrationInProgress,
			}
		}
		e.answered(now, registered)
	}
}

// deregistrationDone takes the answer for a batch. A deregistration that crossed a registration proves nothing: the
// target counts as before and is deregistered once more when the registration has been answered.
func (g *group) deregistrationDone(batch departures, now time.Time, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.deregistration.end(now, err)
	for target := range batch {
		e := g.entry(target)
		e.deregistering = false
		if err == nil && !e.crossed {
			e.answered(now, draining)
			e.own("", time.Time{})
		}
		if err != nil {
			e.crossed = false // nothing is known to have been sent
		}
	}
}
