// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/elbv2"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

const (
	// pollWaiting is the pause between readings of a group in which a pod waits for its health checks. They are one
	// attempt each: the next one comes soon enough.
	pollWaiting = time.Second
	// pollUnsettled is the pause when nobody waits but the picture is not final: a target is initial, or a reading has to
	// confirm that nobody explains it.
	pollUnsettled = 5 * time.Second
	// defaultNotice is how long a load balancer may need to notice that a target has become another, while its health
	// check settings are not known.
	defaultNotice = 5 * time.Minute
)

// urgency is how soon a group must be read again, and what that reading is charged to.
type urgency struct {
	pause time.Duration
	class elbv2.Class
}

// urgencyOf shortens the pause between readings for which nobody waits by up to a fifth at random, so that many groups
// do not read in step.
func (r *Registrar) urgencyOf(waiting, unsettled bool) urgency {
	switch {
	case waiting:
		return urgency{pollWaiting, elbv2.ClassWaitingHealth}
	case unsettled:
		return urgency{pollUnsettled, elbv2.ClassOther}
	default:
		return urgency{jitter(r.DriftInterval), elbv2.ClassOther}
	}
}

// observe starts a reading of the group if one is due, and says when to come back for the next one. A pause of 0 says
// that a reading is under way, whose end wakes the binding.
func (r *Registrar) observe(s session, u urgency) time.Duration {
	now := r.Clock.Now()
	s.group.mu.Lock()
	defer s.group.mu.Unlock()
	if s.group.reading.busy {
		return 0
	}
	due := s.group.readAt.Add(u.pause)
	if due.Before(s.group.reading.retryAt) {
		due = s.group.reading.retryAt
	}
	if now.Before(due) {
		return due.Sub(now)
	}
	s.group.reading.begin()
	go r.read(s, u.class)
	return 0
}

// read fills the group's memory.
func (r *Registrar) read(s session, class elbv2.Class) {
	var started time.Time
	health, err := s.client.Health(r.lanes, class, s.group.arn, func() { started = r.Clock.Now() })
	s.group.readingDone(started, r.Clock.Now(), health, err)
	r.wake(s.key)
}

// inspect has the facts about the group read if they are due, in a lane of their own: no pod waits for them, and no
// reading of health waits behind them. It says when to come back after a failure.
func (r *Registrar) inspect(s session) time.Duration {
	now := r.Clock.Now()
	s.group.mu.Lock()
	defer s.group.mu.Unlock()
	due := s.group.facts == nil || now.Sub(s.group.factsAt) >= r.DriftInterval
	return start(&s.group.inspection, due, now, func() {
		facts, err := r.readFacts(s)
		s.group.inspectionDone(r.Clock.Now(), facts, err)
		r.wake(s.key)
	})
}

func (r *Registrar) readFacts(s session) (*v1beta1.TargetGroupFacts, error) {
	tg, err := s.client.GroupByARN(r.lanes, elbv2.ClassOther, s.group.arn)
	if err != nil {
		return nil, err
	}
	delay, err := s.client.DeregistrationDelay(r.lanes, s.group.arn)
	if err != nil {
		return nil, err
	}
	return &v1beta1.TargetGroupFacts{
		Protocol:      v1beta1.Protocol(tg.Protocol),
		LoadBalancers: int32(tg.LoadBalancers),
		HealthCheck: v1beta1.HealthCheckFacts{
			IntervalSeconds:  int32(tg.HealthCheck.Interval.Seconds()),
			TimeoutSeconds:   int32(tg.HealthCheck.Timeout.Seconds()),
			HealthyThreshold: int32(tg.HealthCheck.HealthyThreshold), UnhealthyThreshold: int32(tg.HealthCheck.UnhealthyThreshold),
		},
		DeregistrationDelaySeconds: int32(delay.Seconds()),
	}, nil
}

// readingDone takes what a reading showed that was started at started; a failed one shows nothing.
func (g *group) readingDone(started, now time.Time, health map[elbv2.Target]elbv2.Health, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.reading.end(now, err)
	if err != nil {
		return
	}
	g.readAt = started
	for target := range health {
		g.entry(target)
	}
	for target, e := range g.entries {
		h, shown := health[target]
		if e.outweighs(started, shown, h) {
			continue
		}
		if e.presence == registered && e.owner != "" && (!shown || h.State == elbv2.StateDraining) {
			g.lost = append(g.lost, target)
		}
		if !shown {
			delete(g.entries, target)
			continue
		}
		e.read(started, h)
	}
}

// takeLost are the targets that the readings since the last call have found lost.
func (g *group) takeLost() []elbv2.Target {
	g.mu.Lock()
	defer g.mu.Unlock()
	lost := g.lost
	g.lost = nil
	return lost
}

// awaited reports whether somebody waits for the next change of health: a pod at its gate, or pods that are to be
// replaced.
func awaited(endpoints map[elbv2.Target]endpoint, entries map[elbv2.Target]entry, gate corev1.PodConditionType) bool {
	for target, ep := range endpoints {
		e := entries[target]
		if ep.standing == replaced && e.presence == registered {
			return true
		}
		if ep.pod == nil || ep.standing == leaving || e.presence != registered || e.owner != ep.uid {
			continue
		}
		if readiness.Has(ep.pod, gate) && !readiness.IsOpen(ep.pod, gate) && !e.opened {
			return true
		}
	}
	return false
}

// unsettled reports whether a target's first health checks are not over, nobody explains it, or nobody knows whether it
// is there.
func unsettled(entries map[elbv2.Target]entry) bool {
	for _, e := range entries {
		initial := e.presence == registered && e.health.State == elbv2.StateInitial
		if initial || !e.suspectedAt.IsZero() || !e.failedAt.IsZero() {
			return true
		}
	}
	return false
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

// inspectionDone takes the facts that were read, nil after a failure.
func (g *group) inspectionDone(now time.Time, facts *v1beta1.TargetGroupFacts, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inspection.end(now, err)
	if err == nil {
		g.facts, g.factsAt = facts, now
	}
}
