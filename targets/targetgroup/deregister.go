// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targetgroup

import (
	"context"
	"maps"
	"time"

	"github.com/targetgate/targetgate/aws/awserr"
	"github.com/targetgate/targetgate/aws/budget"
	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/endpoints"
	"github.com/targetgate/targetgate/targets/retry"
)

// CoalesceWindow is how long a deregistration waits for others of its group while calls queue for AWS's budget. A pod
// must have three times as much of its life left for its target to wait. It spans three readings of a group, with the gates that these
// open. The budget itself waits some moments more, whatever is to come (budget.Budget).
const CoalesceWindow = endpoints.EnoughLife / 3

// Deregister starts a call for the changes' deregistrations, after a wait of at most coalesce for others, if that is worth while.
func (c *Calls) Deregister(changes Changes, coalesce time.Duration) time.Duration {
	now := c.Clock.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	isolated := c.planDeregistrations(changes, now)
	if c.hasNewDeregistrations() {
		c.deregistration.RetryAt = time.Time{}
	}
	if wait := c.coalesce(coalesce, now); wait > 0 {
		return retry.Soonest(isolated, wait)
	}
	return retry.Soonest(isolated, c.deregistration.send(c, c.deregistrationClass(), c.deregister, now))
}

// planDeregistrations takes what has to go now, and what needs no call: which targets are unexplained, and which unwanted.
func (g *Group) planDeregistrations(changes Changes, now time.Time) (wait time.Duration) {
	for id, t := range g.seen.targets {
		if t.Deregistering {
			continue // what led to that still holds
		}
		if _, shared := changes.Shared[id]; shared || !t.Registering { // for which of the pods is known when that is answered
			t.Shared = shared
		}
		_, unexplained := changes.Unexplained[id]
		t.explain(!unexplained)
		t.unwant(changes.Unwanted[id], now)
	}
	underWay := func(id elbv2.Target) bool { t, known := g.seen.targets[id]; return known && t.Deregistering }
	return g.deregistration.plan(changes.Deregister, changes.Generation, underWay, now)
}

// hasNewDeregistrations reports whether a target has to go that had not when the failed call began: it does not wait for the
// back-off.
func (g *Group) hasNewDeregistrations() bool {
	for id := range g.deregistration.pending {
		if _, old := g.unanswered[id]; !old {
			return true
		}
	}
	return false
}

// coalesce is how much longer the deregistrations wait for others. A wave of new pods takes as many old ones away, one by one as
// the load balancer finds them healthy; in calls of their own these would delay the next wave's registrations. A target
// whose deregistration failed before does not wait.
func (g *Group) coalesce(longest time.Duration, now time.Time) time.Duration {
	s := &g.deregistration
	if longest == 0 || len(s.pending) == 0 || s.Busy || s.Failures > 0 {
		g.coalescingSince = time.Time{}
		return 0
	}
	if g.coalescingSince.IsZero() {
		g.coalescingSince = now
	}
	return max(0, min(longest, CoalesceWindow-now.Sub(g.coalescingSince)))
}

// deregistrationClass is ClassDeregister unless AWS has refused each of the deregistrations that are due again and again. One that
// has not been tried yet is always urgent.
func (g *Group) deregistrationClass() budget.Class {
	for id := range g.deregistration.pending {
		_, tried := g.unanswered[id]
		if !g.deregistration.hopelessAlone(id) && (!tried || !g.deregistration.Hopeless()) {
			return budget.ClassDeregister
		}
	}
	return budget.ClassOther
}

func (c *Calls) deregister(ctx context.Context, class budget.Class) {
	var batch Deregistrations
	err := c.Client.Deregister(ctx, class, c.arn, func() (zones map[elbv2.Target]string) {
		batch, zones = c.takeDeregistrations(ctx)
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
	}
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
func (g *Group) takeDeregistrations(ctx context.Context) (Deregistrations, map[elbv2.Target]string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := &g.deregistration
	s.queued = queuedCall{}
	if g.retired || ctx.Err() != nil {
		return nil, nil
	}
	g.unanswered = maps.Clone(s.pending)
	named := map[elbv2.Target]string{}
	batch := s.take(func(id elbv2.Target, _ Deregistration) bool {
		t := g.seen.target(id)
		if t.Deregistering || t.Presence == Draining {
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
		if err == nil && !t.Crossed {
			t.answered(now, Draining)
			t.own("", time.Time{})
		}
		if err != nil {
			t.Crossed = false // nothing is known to have been sent
			t.AskedOut = !awserr.HadNoEffect(err)
		}
	}
	switch {
	case err == nil:
		s.accepted(batch)
		g.unanswered = nil
	case len(batch) == 0: // nothing was sent
		g.unanswered = maps.Clone(s.pending)
	default:
		err = s.refused(batch, now, err)
	}
	s.End(now, err)
	g.seen.vanish(err)
}
