// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targetgroup

import (
	"context"
	"maps"
	"time"

	"github.com/targetgate/targetgate/aws/budget"
	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/endpoints"
	"github.com/targetgate/targetgate/targets/retry"
)

// departures sends deregistrations, and keeps what came of the last call.
type departures struct {
	sender[Deregistration]
	unanswered Deregistrations // of the last call, if that failed
	late       []elbv2.Target  // deregistered after their deadlines; until TakeLate
}

// Deregister starts a call for the changes' deregistrations. It may wait for as long as their deadlines allow (package budget).
func (c *Calls) Deregister(changes Changes) time.Duration {
	now := c.Clock.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	isolated := c.planDeregistrations(changes, now)
	isNew, wait := c.deregistration.hasNew(now)
	if isNew {
		c.deregistration.RetryAt = time.Time{}
	}
	return retry.Soonest(retry.Soonest(isolated, wait), c.deregistration.send(c, c.deregistration.urgency(now), c.deregister, now))
}

// planDeregistrations takes what has to go now, and what needs no call: which targets are unexplained, and which unwanted.
func (g *Group) planDeregistrations(changes Changes, now time.Time) (wait time.Duration) {
	for id, t := range g.seen.targets {
		if t.Deregistering {
			continue // what led to that still holds
		}
		_, t.Shared = changes.Shared[id]
		_, unexplained := changes.Unexplained[id]
		t.explain(!unexplained)
		t.unwant(changes.Unwanted[id], now)
		t.serve(t.Unwanted == endpoints.Undetermined && t.Presence == Registered && serves(t.Health.State, changes.Nodes), now)
	}
	underWay := func(id elbv2.Target) bool { t, known := g.seen.targets[id]; return known && t.Deregistering }
	return g.deregistration.plan(changes.Deregister, changes.Generation, underWay, now)
}

// serves reports whether a target in that state takes its part. Of nodes it is enough that the first checks are over: see plan.
func serves(s elbv2.State, nodes bool) bool {
	return s == elbv2.StateHealthy || nodes && s != "" && s != elbv2.StateInitial
}

// hasNew reports whether a target has to go that had not when the failed call began: it does not wait for the back-off. One
// that stays while that call is repeated has not yet, and would have it repeated without a pause; wait is until it has, 0 for never.
func (s *departures) hasNew(now time.Time) (some bool, wait time.Duration) {
	repeats := false
	for id := range s.pending {
		_, old := s.unanswered[id]
		repeats = repeats || old
	}
	for id, d := range s.pending {
		if _, old := s.unanswered[id]; old {
			continue
		}
		if repeats && d.staysPast(now) {
			wait = retry.Soonest(wait, d.Deadline.Sub(now.Add(together)))
		} else {
			some = true
		}
	}
	return some, wait
}

// urgency is that of the most urgent of the deregistrations that are due: in one call they all go. When they take more calls,
// the first one goes so much sooner that the last one is in time.
func (s *departures) urgency(now time.Time) budget.Urgency {
	due, waits := s.due(now)
	out := budget.Urgency{Class: s.class(due), Deadline: firstDeadline(s.pending), Waits: waits}
	if more := (len(s.pending) - 1) / elbv2.MaxTargetsPerCall; more > 0 && !out.Deadline.IsZero() {
		out.Deadline = out.Deadline.Add(-time.Duration(more) * budget.CallTime)
	}
	return out
}

// due are the deregistrations that a call is made for: those of targets that do not stay, or not for long any more. When all stay it is
// made for all of them, and waits.
func (s *departures) due(now time.Time) (due Deregistrations, waits bool) {
	due, waits = Deregistrations{}, true
	for id, d := range s.pending {
		waits = waits && d.Stays
		if !d.staysPast(now) {
			due[id] = d
		}
	}
	if waits {
		return s.pending, true
	}
	return due, false
}

// firstDeadline is the earliest, zero when one of them should go at once.
func firstDeadline(deregistrations Deregistrations) (first time.Time) {
	some := false
	for _, d := range deregistrations {
		if !some || d.Deadline.Before(first) {
			first, some = d.Deadline, true
		}
	}
	return first
}

// class is that of the call for these: ClassDeregister unless AWS has refused each of them again and again. One that has not been tried yet
// is always urgent.
func (s *departures) class(due Deregistrations) budget.Class {
	for id := range due {
		_, tried := s.unanswered[id]
		if !s.hopelessAlone(id) && (!tried || !s.Hopeless()) {
			return budget.ClassDeregister
		}
	}
	return budget.ClassOther
}

func (c *Calls) deregister(ctx context.Context, urgency budget.Urgency) {
	var batch Deregistrations
	err := c.Client.Deregister(ctx, urgency, c.arn, func() (zones map[elbv2.Target]string) {
		batch, zones = c.takeDeregistrations(ctx, c.Clock.Now())
		return zones
	})
	now := c.Clock.Now()
	if c.gaveWay(ctx) {
		c.cancel(&c.deregistration.Slot)
	} else {
		c.deregisterDone(batch, now, err)
	}
	if err == nil {
		observeDeregistered(batch, now)
		c.logDeregistered(batch)
		if late, by := lateOf(batch, now); len(late) > 0 {
			c.log().Info("Deregistered targets after their deadline, requests to their pods may fail", "targets", late,
				"late", by.Round(time.Millisecond).String())
		}
	}
}

// lateOf are the targets whose deadlines have passed, and how long ago the first of these was.
func lateOf(batch Deregistrations, now time.Time) (late []elbv2.Target, by time.Duration) {
	for id, d := range batch {
		if !d.Deadline.IsZero() && now.After(d.Deadline) {
			late, by = append(late, id), max(by, now.Sub(d.Deadline))
		}
	}
	return late, by
}

// logDeregistered tells of the targets that were deregistered, with one line for each reason.
func (c *Calls) logDeregistered(batch Deregistrations) {
	byReason := map[string]Deregistrations{}
	for id, d := range batch {
		if byReason[d.Why] == nil {
			byReason[d.Why] = Deregistrations{}
		}
		byReason[d.Why][id] = d
	}
	for why, targets := range byReason {
		c.log().Info("Deregistered targets", "reason", why, "targets", names(targets))
	}
}

// takeDeregistrations is takeRegistrations for what has to go.
func (g *Group) takeDeregistrations(ctx context.Context, now time.Time) (Deregistrations, map[elbv2.Target]string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := &g.deregistration
	s.queued = queuedCall{}
	if g.retired || ctx.Err() != nil {
		return nil, nil
	}
	latest := now // of those that stay; the others stay till the next call
	if _, waits := s.due(now); waits {
		latest = firstDeadline(s.pending) // the call is made for that one, when calls are short maybe before it is due
	}
	maps.DeleteFunc(s.pending, func(_ elbv2.Target, d Deregistration) bool { return d.staysPast(latest) })
	s.unanswered = maps.Clone(s.pending)
	named := map[elbv2.Target]string{}
	batch := s.take(func(id elbv2.Target, _ Deregistration) bool {
		t := g.seen.target(id)
		if t.Deregistering || t.isOut() {
			return false
		}
		t.Deregistering, t.Crossed = true, t.Registering
		named[id] = t.Zone
		return true
	})
	return batch, named
}

// deregisterDone takes the answer for a batch. A deregistration that crossed a registration proves nothing: the
// target counts as before and is deregistered once more when the registration has been answered.
func (g *Group) deregisterDone(batch Deregistrations, now time.Time, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := &g.deregistration
	for id := range batch {
		t := g.seen.target(id)
		t.Deregistering = false
		switch {
		case err != nil:
			t.notDeregistered(now, err, !g.seen.readAt.IsZero())
		case !t.Crossed:
			t.answered(now, Draining)
			t.own("", time.Time{})
		}
	}
	switch {
	case err == nil:
		s.accepted(batch)
		s.unanswered = nil
		late, _ := lateOf(batch, now)
		s.late = append(s.late, late...)
	case len(batch) == 0: // nothing was sent
		s.unanswered = maps.Clone(s.pending)
	default:
		err = s.refused(batch, now, err)
	}
	s.End(now, err)
	g.seen.vanish(err)
}
