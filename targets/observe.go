// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"maps"
	"slices"
	"time"

	"k8s.io/utils/ptr"

	"github.com/targetgate/targetgate/aws/awserr"
	"github.com/targetgate/targetgate/aws/budget"
	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// defaultNotice is how long a load balancer may need to notice that a target has become another, while its health check
// settings are not known.
const defaultNotice = 5 * time.Minute

// observe starts a reading of the group if one is due, and says when to come back for the next one. A pause of 0 says
// that a reading is under way, whose end wakes the binding.
func (r *Registrar) observe(s session, l look) time.Duration {
	now := r.Clock.Now()
	s.group.mu.Lock()
	defer s.group.mu.Unlock()
	if !s.group.reading.busy || s.group.watched != nil { // a reading of the whole group stays one
		s.group.watched = l.watched
	}
	if s.group.reading.busy {
		s.group.queued.giveWay(l.class) // it stands in the line for nobody, and somebody waits now
		return 0
	}
	due := l.at
	if due.Before(s.group.reading.retryAt) {
		due = s.group.reading.retryAt
	}
	if now.Before(due) {
		return due.Sub(now)
	}
	ctx, cancel := context.WithCancel(r.lanes)
	s.group.reading.begin()
	s.group.queued = queued{class: l.class, cancel: cancel}
	go func() {
		defer cancel()
		r.read(ctx, s, l.class)
	}()
	return 0
}

// read fills the group's memory.
func (r *Registrar) read(ctx context.Context, s session, class budget.Class) {
	var asked []elbv2.Target
	var started time.Time
	health, err := s.client.Health(ctx, class, s.group.arn, func() []elbv2.Target {
		asked, started = s.group.asked(), r.Clock.Now()
		return asked
	})
	if r.gaveWay(ctx) {
		s.group.readingCancelled()
	} else {
		s.group.readingDone(asked, started, r.Clock.Now(), health, err)
	}
	r.wake(s.key)
}

// asked are the targets to ask for now that the budget has granted the call, nil for the whole group.
func (g *group) asked() []elbv2.Target {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.queued = queued{}
	return g.watched
}

// readingCancelled takes the end of a reading that was never sent.
func (g *group) readingCancelled() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.queued = queued{}
	g.reading.cancelled()
}

// inspect has the facts about the group read if they are due, in a lane of their own: no pod waits for them, and no
// reading of health waits behind them. It says when to come back after a failure. Whether a load balancer is attached
// must be known from after the moment at which a target says that there is none.
func (r *Registrar) inspect(s session, awaited map[elbv2.Target]entry) time.Duration {
	now := r.Clock.Now()
	s.group.mu.Lock()
	defer s.group.mu.Unlock()
	due := s.group.facts == nil || now.Sub(s.group.factsAt) >= r.DriftInterval
	for _, e := range awaited {
		due = due || notInUse(e.health) && s.group.factsAt.Before(e.since)
	}
	retryIn, _ := start(&s.group.inspection, due, now, func() {
		started := r.Clock.Now()
		facts, err := r.readFacts(s)
		s.group.inspectionDone(started, r.Clock.Now(), facts, err)
		r.wake(s.key)
	})
	return retryIn
}

func (r *Registrar) readFacts(s session) (*v1beta1.TargetGroupFacts, error) {
	tg, err := s.client.GroupByARN(r.lanes, budget.ClassOther, s.group.arn)
	if err != nil {
		return nil, err
	}
	facts := factsOf(tg)
	facts.DeregistrationDelaySeconds, err = r.readDelay(s)
	return facts, err
}

// readDelay reads how long targets drain, nil where we may not: nothing that is done depends on it, and the incumbent's guide
// gives the role of another account no right to it. It does not ask twice.
func (r *Registrar) readDelay(s session) (*int32, error) {
	if s.group.delayDenial() != nil {
		return nil, nil
	}
	delay, err := s.client.DeregistrationDelay(r.lanes, budget.ClassOther, s.group.arn)
	switch {
	case awserr.IsPermission(err) && awserr.IsDefinite(err):
		s.group.denyDelay(err)
		return nil, nil
	case err != nil:
		return nil, err
	}
	return ptr.To(int32(delay.Seconds())), nil
}

func (g *group) denyDelay(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.delayDenied = err
}

// delayDenial is AWS's word that we may not read the deregistration delay, nil when there is none.
func (g *group) delayDenial() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.delayDenied
}

func factsOf(tg elbv2.TargetGroup) *v1beta1.TargetGroupFacts {
	return &v1beta1.TargetGroupFacts{
		Protocol:      v1beta1.Protocol(tg.Protocol),
		LoadBalancers: int32(tg.LoadBalancers),
		HealthCheck: v1beta1.HealthCheckFacts{
			IntervalSeconds:  int32(tg.HealthCheck.Interval.Seconds()),
			TimeoutSeconds:   int32(tg.HealthCheck.Timeout.Seconds()),
			HealthyThreshold: int32(tg.HealthCheck.HealthyThreshold), UnhealthyThreshold: int32(tg.HealthCheck.UnhealthyThreshold),
		},
	}
}

// readingDone takes what a reading showed that was started at started: of the targets it asked for, or of the whole
// group when that is nil. A failed one shows nothing.
func (g *group) readingDone(asked []elbv2.Target, started, now time.Time, health map[elbv2.Target]elbv2.Health, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.reading.end(now, err)
	g.queued = queued{}
	if err != nil {
		g.refusesNames = g.refusesNames || asked != nil && awserr.IsInvalid(err)
		if asked == nil && elbv2.IsRejected(err) {
			g.invalid = err
		}
		g.vanish(err)
		return
	}
	g.gone, g.invalid = nil, nil
	for target := range health {
		g.entry(target)
	}
	if asked == nil {
		g.readAt = started
		asked = slices.Collect(maps.Keys(g.entries))
	}
	for _, target := range asked {
		h, shown := health[target]
		g.readTarget(target, started, h, shown)
	}
}

// readTarget takes what a reading showed of one target.
func (g *group) readTarget(target elbv2.Target, started time.Time, h elbv2.Health, shown bool) {
	e, known := g.entries[target]
	if !known || e.outweighs(started, shown, h) {
		return
	}
	if e.presence == registered && e.owner != "" && !e.askedOut && (!shown || h.State == elbv2.StateDraining) {
		g.lost = append(g.lost, target)
	}
	if !shown {
		delete(g.entries, target)
		return
	}
	e.read(started, h)
}

// takeLost are the targets that the readings since the last call have found lost.
func (g *group) takeLost() []elbv2.Target {
	g.mu.Lock()
	defer g.mu.Unlock()
	lost := g.lost
	g.lost = nil
	return lost
}

// noticeTime is how long the load balancer needs to find out that a healthy target has become another, by its health
// check settings; a long time while they are not known.
func noticeTime(facts *v1beta1.TargetGroupFacts) time.Duration {
	if facts == nil || facts.HealthCheck.UnhealthyThreshold == 0 {
		return defaultNotice
	}
	check := facts.HealthCheck
	return time.Duration(check.UnhealthyThreshold*check.IntervalSeconds+check.TimeoutSeconds) * time.Second
}

// inspectionDone takes the facts that were read from started on, nil after a failure.
func (g *group) inspectionDone(started, now time.Time, facts *v1beta1.TargetGroupFacts, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inspection.end(now, err)
	if err == nil {
		g.facts, g.factsAt = facts, started
	}
}
