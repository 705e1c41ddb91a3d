// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targetgroup

import (
	"context"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/targetgate/targetgate/aws/awserr"
	"github.com/targetgate/targetgate/aws/budget"
	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/retry"
)

// Register starts a call for the changes' registrations, of targets that are claimed. Those to adopt need no call.
func (c *Calls) Register(changes Changes, claimed func(elbv2.Target) bool) time.Duration {
	now := c.Clock.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	isolated := c.planRegistrations(changes, claimed, now)
	urgency := budget.Urgency{Class: c.registrationClass(), Deadline: changes.RegisterBy}
	return retry.Soonest(isolated, c.registration.send(c, urgency, c.register, now))
}

// planRegistrations takes what has to be registered now, and the owners of what is there already.
func (g *Group) planRegistrations(changes Changes, claimed func(elbv2.Target) bool, now time.Time) (wait time.Duration) {
	for id, uid := range changes.Adopt {
		if t, ok := g.seen.targets[id]; ok && t.Owner == changes.AdoptFrom[id] && claimed(id) {
			t.own(uid, time.Time{})
			t.AdoptedAt = now
		}
	}
	underWay := func(id elbv2.Target) bool { t, known := g.seen.targets[id]; return known && t.Registering }
	s := &g.registration
	wait = s.plan(changes.Register, changes.Generation, underWay, now)
	g.zones.ofNodes = changes.NodeZones
	due := len(s.pending)
	maps.DeleteFunc(s.pending, func(id elbv2.Target, _ types.UID) bool { return !claimed(id) })
	s.waiting = due > len(s.pending)
	return wait
}

// registrationClass is ClassRegister unless AWS has refused each of the registrations that are due again and again.
func (g *Group) registrationClass() budget.Class {
	for id := range g.registration.pending {
		if !g.registration.hopelessFor(id) {
			return budget.ClassRegister
		}
	}
	return budget.ClassOther
}

func (c *Calls) register(ctx context.Context, urgency budget.Urgency) {
	var batch Registrations
	var zones map[elbv2.Target]string
	err := c.Client.Register(ctx, urgency, c.arn, func() map[elbv2.Target]string {
		batch, zones = c.takeRegistrations(ctx, c.Client.Abroad())
		return zones
	})
	if c.gaveWay(ctx) {
		c.cancel(&c.registration.Slot)
	} else {
		c.registerDone(batch, zones, c.Clock.Now(), err)
	}
	if err == nil && len(batch) > 0 {
		c.log().Info("Registered targets", "targets", names(batch))
	}
}

// cancel takes the end of a call that was never sent.
func (g *Group) cancel(s *retry.Slot) {
	g.mu.Lock()
	defer g.mu.Unlock()
	s.Cancel()
}

// names are those of the targets, in order. A call has 200 of them at most.
func names[V any](targets map[elbv2.Target]V) []string {
	out := make([]string, 0, len(targets))
	for id := range targets {
		out = append(out, id.String())
	}
	slices.Sort(out)
	return out
}

// takeRegistrations yields the targets of one call and the zones to name for them, and marks them as under way: none when the
// call has given way.
func (g *Group) takeRegistrations(ctx context.Context, abroad bool) (Registrations, map[elbv2.Target]string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.registration.queued = queuedCall{}
	if g.retired || ctx.Err() != nil {
		return nil, nil
	}
	g.zones.abroad = abroad
	named := map[elbv2.Target]string{}
	batch := g.registration.take(func(id elbv2.Target, uid types.UID) bool {
		t := g.seen.target(id)
		done := t.Presence == Registered && t.Owner == uid
		if done || t.UnderWay() {
			return false
		}
		t.Registering = true
		named[id] = g.zones.of(id)
		return true
	})
	return batch, named
}

// registerDone takes the answer for a batch. A refusal had no effect; any other error may have had one.
func (g *Group) registerDone(batch Registrations, zones map[elbv2.Target]string, now time.Time, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	noEffect := awserr.HadNoEffect(err)
	learnt := g.zones.learn(zones, now, err)
	for id, uid := range batch {
		t := g.seen.target(id)
		t.Registering = false
		switch {
		case err == nil:
			t.registered(uid, zones[id], now, DetectionTime(g.settings.last))
		case !noEffect:
			t.failed(now, uid, awserr.Message(err))
		case len(batch) == 1 && !learnt:
			t.Refusal = awserr.Message(err)
		}
	}
	s := &g.registration
	switch {
	case err == nil:
		s.accepted(batch)
	case learnt:
		err = nil // the next call does as AWS says
	default:
		err = s.refused(batch, now, err)
	}
	s.End(now, err)
	g.seen.vanish(err)
}

// registered notes that the target is registered for that pod. One that was there already keeps its zone.
func (t *Target) registered(uid types.UID, zone string, now time.Time, detection time.Duration) {
	t.own(uid, now)
	t.inherit(now, detection)
	if t.Presence != Registered {
		t.Health = elbv2.Health{
			State:       elbv2.StateInitial,
			Reason:      elbv2.ReasonRegistrationInProgress,
			Description: elbv2.DescriptionRegistrationInProgress,
		}
		t.Since, t.Zone = now, zone
	}
	t.answered(now, Registered)
}
