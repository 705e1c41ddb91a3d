// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/targetgate/targetgate/aws/awserr"
	"github.com/targetgate/targetgate/aws/budget"
	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// startDeregistrations hands the plan's deregistrations to the group's lane. It says when to come back for those that have to wait, or
// that it is worth while to wait for. 0 is never: a call under way will wake the binding, or nothing is due.
func (r *Registrar) startDeregistrations(s session, p plan, worthWhile time.Duration) time.Duration {
	now := r.Clock.Now()
	s.group.mu.Lock()
	defer s.group.mu.Unlock()
	aside := s.group.settleDepartures(p, now)
	if s.group.hasFreshDepartures() {
		s.group.deregistration.retryAt = time.Time{}
	}
	if hold := s.group.gather(worthWhile, now); hold > 0 {
		return soonest(aside, hold)
	}
	class, due := s.group.departureClass(), len(s.group.toDeregister) > 0
	return soonest(aside, r.send(&s.group.deregistration, class, due, func(ctx context.Context, class budget.Class) {
		r.deregister(ctx, s, class)
	}))
}

// startRegistrations is startDeregistrations for the registrations: of targets that are claimed.
func (r *Registrar) startRegistrations(s session, binding *v1beta1.TargetGroupBinding, p plan) time.Duration {
	now := r.Clock.Now()
	s.group.mu.Lock()
	defer s.group.mu.Unlock()
	aside := s.group.settleRegistrations(p, s.group.claimed(binding), now)
	class, due := s.group.registrationClass(), len(s.group.toRegister) > 0
	return soonest(aside, r.send(&s.group.registration, class, due, func(ctx context.Context, class budget.Class) {
		r.register(ctx, s, class)
	}))
}

// hasFreshDepartures reports whether a target has to go that had not when the failed call began: it is not made to wait
// for the back-off. The caller holds the lock.
func (g *group) hasFreshDepartures() bool {
	for target := range g.toDeregister {
		if _, old := g.unanswered[target]; !old {
			return true
		}
	}
	return false
}

// start begins a call on the lane if one is due and may start. The caller holds the group's lock.
func start(l *lane, due bool, now time.Time, call func()) (retryIn time.Duration, began bool) {
	switch {
	case l.busy || !due:
		return 0, false
	case !l.ready(now):
		return l.retryAt.Sub(now), false
	default:
		l.begin()
		go call()
		return 0, true
	}
}

// soonest is the shorter of two pauses, of which 0 means none.
func soonest(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

func (r *Registrar) register(ctx context.Context, s session, class budget.Class) {
	var batch registrations
	var zones map[elbv2.Target]string
	err := s.client.Register(ctx, class, s.group.arn, func() map[elbv2.Target]string {
		batch, zones = s.group.takeRegistrations(ctx, s.client.Abroad())
		return zones
	})
	if r.gaveWay(ctx) {
		s.group.cancelled(&s.group.registration.lane)
	} else {
		s.group.registrationDone(batch, zones, r.Clock.Now(), err)
	}
	if err == nil && len(batch) > 0 {
		r.log(s).Info("Registered targets", "targets", targetNames(batch))
	}
	r.wake(s.key)
}

func (r *Registrar) deregister(ctx context.Context, s session, class budget.Class) {
	var batch departures
	err := s.client.Deregister(ctx, class, s.group.arn, func() (zones map[elbv2.Target]string) {
		batch, zones = s.group.takeDeregistrations(ctx)
		return zones
	})
	now := r.Clock.Now()
	if r.gaveWay(ctx) {
		s.group.cancelled(&s.group.deregistration.lane)
	} else {
		s.group.deregistrationDone(batch, now, err)
	}
	if err == nil {
		observeDepartures(batch, now)
		r.logDepartures(s, batch)
	}
	r.wake(s.key)
}

// log is for what is done about one target group.
func (r *Registrar) log(s session) logr.Logger {
	return ctrl.LoggerFrom(r.lanes).WithValues("binding", klog.KRef(s.key.Namespace, s.key.Name), "targetGroup", s.group.arn)
}

// logDepartures tells of the targets that were deregistered, with one line for each reason.
func (r *Registrar) logDepartures(s session, batch departures) {
	byReason := map[string]departures{}
	for target, d := range batch {
		if byReason[d.why] == nil {
			byReason[d.why] = departures{}
		}
		byReason[d.why][target] = d
	}
	for why, targets := range byReason {
		r.log(s).Info("Deregistered targets", "reason", why, "targets", targetNames(targets))
	}
}

// targetNames are those of the targets, in order. A call has 200 of them at most.
func targetNames[V any](targets map[elbv2.Target]V) []string {
	out := make([]string, 0, len(targets))
	for target := range targets {
		out = append(out, target.String())
	}
	slices.Sort(out)
	return out
}

// gaveWay reports whether the call with that context was cancelled before it was sent, for a more urgent one.
func (r *Registrar) gaveWay(ctx context.Context) bool {
	return ctx.Err() != nil && r.lanes.Err() == nil
}

// cancelled takes the end of a call of the lane that was never sent.
func (g *group) cancelled(l *lane) {
	g.mu.Lock()
	defer g.mu.Unlock()
	l.cancelled()
}

// takeRegistrations yields the targets of one call and the zones to name for them, and marks them as under way: none when the
// call has given way.
func (g *group) takeRegistrations(ctx context.Context, abroad bool) (registrations, map[elbv2.Target]string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.registration.queued, g.registration.sentFor = queued{}, g.registration.planned
	if g.retired || ctx.Err() != nil {
		return nil, nil
	}
	g.abroad = abroad
	named := map[elbv2.Target]string{}
	batch := take(&g.registration.batches, g.toRegister, func(target elbv2.Target, uid types.UID) bool {
		e := g.entry(target)
		done := e.presence == registered && e.owner == uid
		if done || e.registering || e.deregistering {
			return false
		}
		e.registering = true
		named[target] = g.zoneFor(target)
		return true
	})
	return batch, named
}

// takeDeregistrations is takeRegistrations for what has to go.
func (g *group) takeDeregistrations(ctx context.Context) (departures, map[elbv2.Target]string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.deregistration.queued, g.deregistration.sentFor = queued{}, g.deregistration.planned
	if g.retired || ctx.Err() != nil {
		return nil, nil
	}
	g.unanswered = maps.Clone(g.toDeregister)
	named := map[elbv2.Target]string{}
	batch := take(&g.deregistration.batches, g.toDeregister, func(target elbv2.Target, _ departure) bool {
		e := g.entry(target)
		if e.deregistering || e.presence == draining {
			return false
		}
		e.deregistering, e.crossed = true, e.registering
		named[target] = e.zone
		return true
	})
	return batch, named
}

// registrationDone takes the answer for a batch. A refusal had no effect; any other error may have had one.
func (g *group) registrationDone(batch registrations, zones map[elbv2.Target]string, now time.Time, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	noEffect := awserr.HadNoEffect(err)
	learnt := g.learnZone(zones, now, err)
	for target, uid := range batch {
		e := g.entry(target)
		e.registering = false
		switch {
		case err == nil:
			g.registered(e, uid, zones[target], now)
		case !noEffect:
			e.failed(now, uid, awserr.Message(err))
		case len(batch) == 1 && !learnt:
			e.refusal = awserr.Message(err)
		}
	}
	switch {
	case err == nil:
		accepted(&g.registration.batches, batch)
		g.registration.answeredWell()
	case learnt:
		err = nil // the next call does as AWS says
	default:
		err = refused(&g.registration.batches, batch, now, err)
	}
	g.registration.end(now, err)
	g.vanish(err)
}

// registered notes that the target is registered for that pod. One that was there already keeps its zone.
func (g *group) registered(e *entry, uid types.UID, zone string, now time.Time) {
	e.own(uid, now)
	e.inherit(now, noticeTime(g.facts))
	if e.presence != registered {
		e.health = elbv2.Health{
			State:       elbv2.StateInitial,
			Reason:      elbv2.ReasonRegistrationInProgress,
			Description: elbv2.DescriptionRegistrationInProgress,
		}
		e.since, e.zone = now, zone
	}
	e.answered(now, registered)
}

// deregistrationDone takes the answer for a batch. A deregistration that crossed a registration proves nothing: the
// target counts as before and is deregistered once more when the registration has been answered.
func (g *group) deregistrationDone(batch departures, now time.Time, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for target := range batch {
		e := g.entry(target)
		e.deregistering = false
		if err == nil && !e.crossed {
			e.answered(now, draining)
			e.own("", time.Time{})
		}
		if err != nil {
			e.crossed = false // nothing is known to have been sent
			e.askedOut = !awserr.HadNoEffect(err)
		}
	}
	switch {
	case err == nil:
		accepted(&g.deregistration.batches, batch)
		g.deregistration.answeredWell()
		g.unanswered = nil
	case len(batch) == 0: // nothing was sent
		g.unanswered = maps.Clone(g.toDeregister)
	default:
		err = refused(&g.deregistration.batches, batch, now, err)
	}
	g.deregistration.end(now, err)
	g.vanish(err)
}
