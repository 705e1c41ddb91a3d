// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/targetgate/targetgate/aws/budget"
	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/endpoints"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

const (
	// pollWaiting is the pause between looks at a target that may turn healthy at any moment while somebody waits for it.
	// Readings are one attempt each: the next one comes soon enough.
	pollWaiting = time.Second
	// pollShort is that pause while registrations and deregistrations are short. Gates that open together let a Deployment
	// take pods away together, which then leave and are replaced in one call each.
	pollShort = 1600 * time.Millisecond
	// pollSlowest is what that pause grows to with a target that is never healthy.
	pollSlowest = 10 * time.Second
	// pollGrowth is how much longer than the pause a target has been waited for by then: it is found late by so small a
	// share of its time.
	pollGrowth = 60
	// pollUnsettled is the pause when nothing can turn healthy yet, and when nobody waits but the group is not settled: a
	// target is initial, or a reading has to confirm that nobody explains it.
	pollUnsettled = 5 * time.Second

	// pollTwoWay is the pause when the gates of pods that become unhealthy are closed again.
	pollTwoWay = 15 * time.Second
	// pollValve is the pause while unready targets stay because too few others are healthy: they go once others are again.
	pollValve = 15 * time.Second

	// firstCheckALB and firstCheckNLB are how long after a registration the load balancer makes its first health check, at
	// the soonest. Users measure 1 to 3 s and 90 to 180 s; for the latter there is no need to be exact.
	firstCheckALB = time.Second
	firstCheckNLB = time.Minute
)

// look is when to read the group next, what that is charged to, and for which targets: nil is the whole group.
type look struct {
	at      time.Time
	class   budget.Class
	watched []elbv2.Target
}

// nextLook reads the whole group when the group is not settled or drift is due, and the targets that somebody waits for
// when one of them is due.
func (r *Registrar) nextLook(s session, awaited map[elbv2.Target]entry, entries map[elbv2.Target]entry, complete bool) look {
	urgent := s.group.readingClass()
	if !complete {
		return look{class: urgent}
	}
	whole := look{at: s.group.nextWhole(r.wholePause(entries, awaited, s.group.currentValve().engaged)), class: budget.ClassOther}
	if len(awaited) == 0 {
		return whole
	}
	soonest := look{class: urgent}
	facts, _ := s.group.currentFacts()
	pause := pollWaiting
	if s.client.Short() {
		pause = pollShort
	}
	for _, e := range awaited {
		if due := e.dueAt(facts, pause); soonest.at.IsZero() || due.Before(soonest.at) {
			soonest.at = due
		}
	}
	if !s.group.mustAskForAll() && len(awaited) <= elbv2.MaxNames && len(awaited) < len(entries) && whole.at.After(soonest.at) {
		soonest.watched = slices.Collect(maps.Keys(awaited))
	}
	return soonest
}

// readingClass is the class of a reading that somebody waits for: not an urgent one while readings fail again and again.
func (g *group) readingClass() budget.Class {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.reading.hopeless() {
		return budget.ClassOther
	}
	return budget.ClassWaitingHealth
}

// nextWhole is when to read the whole group next, with that pause: sooner when the last reading may show targets that are
// gone already.
func (g *group) nextWhole(pause time.Duration) time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.readAt.Before(g.newTill) {
		pause = min(pause, pollUnsettled)
	}
	return g.readAt.Add(pause)
}

// wholePause is the pause between readings of the whole group. That for drift is shortened by up to a fifth at random, so
// that many groups do not read in step.
func (r *Registrar) wholePause(entries, awaited map[elbv2.Target]entry, valve bool) time.Duration {
	for target, e := range entries {
		_, watched := awaited[target]
		initial := e.presence == registered && e.health.State == elbv2.StateInitial && !watched
		undecided := e.lingering == endpoints.NotReady && e.readAt.Before(e.lingeringSince)
		if initial || undecided || !e.suspectedAt.IsZero() || !e.failedAt.IsZero() {
			return pollUnsettled
		}
	}
	pause := jitter(r.DriftInterval)
	if r.Policy.TwoWay {
		pause = min(pause, pollTwoWay)
	}
	if valve {
		pause = min(pause, pollValve)
	}
	return pause
}

// dueAt is when to look at a target again that somebody waits for, not sooner than after that pause.
func (e entry) dueAt(facts *v1beta1.TargetGroupFacts, pause time.Duration) time.Time {
	looked := later(e.readAt, e.ownedAt)
	earliest := e.earliestHealthy(facts)
	if next := looked.Add(pause); next.Before(earliest) {
		return sooner(earliest, looked.Add(pollUnsettled))
	}
	waited := looked.Sub(later(earliest, e.since))
	return looked.Add(min(max(waited/pollGrowth, pause), pollSlowest))
}

// earliestHealthy is the first moment at which the load balancer can find the target healthy, by its settings: a new one
// after one check, an unhealthy one after as many passes in a row as its threshold says.
func (e entry) earliestHealthy(facts *v1beta1.TargetGroupFacts) time.Time {
	switch {
	case facts == nil:
		return time.Time{}
	case e.health.State == elbv2.StateUnhealthy:
		check := facts.HealthCheck
		return e.since.Add(time.Duration((check.HealthyThreshold-1)*check.IntervalSeconds) * time.Second)
	case e.ownedAt.IsZero():
		return time.Time{}
	case facts.Protocol == "HTTP" || facts.Protocol == "HTTPS":
		return e.ownedAt.Add(firstCheckALB)
	default:
		return e.ownedAt.Add(firstCheckNLB)
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func sooner(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// awaited are the registered targets for whose health somebody waits: a pod at its gate that was not opened just now, or
// pods that are to be replaced since handover.
func awaited(listed map[elbv2.Target]endpoints.Endpoint, entries map[elbv2.Target]entry, gate corev1.PodConditionType,
	handover time.Time, opened map[types.UID]bool,
) map[elbv2.Target]entry {
	out := map[elbv2.Target]entry{}
	for target, ep := range listed {
		e := entries[target]
		if ep.State == endpoints.Terminating || e.presence != registered || e.owner != ep.UID {
			continue
		}
		atGate := ep.AtGate(gate) && !opened[ep.UID]
		replacing := !handover.IsZero() && ep.State == endpoints.Desired && !e.healthySince(ep.UID, handover)
		if atGate || replacing {
			out[target] = e
		}
	}
	return out
}

// expectedWait is how long a pod may wait at its gate without a word: the time that a healthy one takes by the health check
// settings. An unused target is not checked at all, so it is only given time to come into use.
func expectedWait(facts *v1beta1.TargetGroupFacts, state elbv2.State) time.Duration {
	const (
		start  = 10 * time.Second // until the first check
		rounds = 2                // of checks, in case the first one comes too soon for the pod
	)
	switch {
	case state == elbv2.StateUnused:
		return start
	case facts == nil || facts.Protocol != "HTTP" && facts.Protocol != "HTTPS":
		return 5 * time.Minute // what AWS says of NLBs
	}
	check := facts.HealthCheck
	return start + rounds*time.Duration(check.IntervalSeconds+check.TimeoutSeconds)*time.Second
}

func (g *group) mustAskForAll() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.refusesNames
}
