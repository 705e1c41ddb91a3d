// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"time"

	"github.com/targetgate/targetgate/targets/elbv2"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

const (
	// pollWaiting is the pause between readings of a group in which a pod waits for its health checks.
	pollWaiting = time.Second
	// pollUnsettled is the pause when nobody waits but the picture is not final: a target is initial, or a reading has to
	// confirm that nobody explains it.
	pollUnsettled = 5 * time.Second
	// driftInterval is the pause between readings of a group in which nobody waits, shortened by up to a fifth at
	// random so that many groups do not read in step. It is also how old facts about a group may be.
	driftInterval = 5 * time.Minute
)

// urgency is how soon a group must be read again, and what that reading is charged to.
type urgency struct {
	pause time.Duration
	class elbv2.Class
}

func urgencyOf(waiting bool, unsettled bool) urgency {
	switch {
	case waiting:
		return urgency{pollWaiting, elbv2.ClassWaitingHealth}
	case unsettled:
		return urgency{pollUnsettled, elbv2.ClassOther}
	default:
		return urgency{jitter(driftInterval), elbv2.ClassOther}
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

// read fills the group's memory. The facts change rarely and are read behind the health that pods may wait for.
func (r *Registrar) read(s session, class elbv2.Class) {
	started := r.Clock.Now()
	health, err := s.client.Health(r.lanes, class, s.group.arn)
	s.group.remember(started, health, err)
	if err == nil && s.group.factsDue(started) {
		r.wake(s.key)
		err = r.readFacts(s)
	}
	s.group.readingDone(r.Clock.Now(), err)
	r.wake(s.key)
}

func (r *Registrar) readFacts(s session) error {
	tg, err := s.client.GroupByARN(r.lanes, s.group.arn)
	if err != nil {
		return err
	}
	delay, err := s.client.DeregistrationDelay(r.lanes, s.group.arn)
	if err != nil {
		return err
	}
	s.group.setFacts(&v1beta1.TargetGroupFacts{
		Protocol:      v1beta1.Protocol(tg.Protocol),
		LoadBalancers: int32(tg.LoadBalancers),
		HealthCheck: v1beta1.HealthCheckFacts{
			IntervalSeconds:  int32(tg.HealthCheck.Interval.Seconds()),
			TimeoutSeconds:   int32(tg.HealthCheck.Timeout.Seconds()),
			HealthyThreshold: int32(tg.HealthCheck.HealthyThreshold),
		},
		DeregistrationDelaySeconds: int32(delay.Seconds()),
	}, r.Clock.Now())
	return nil
}
