// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/endpoints"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

const (
	// gathering is how long a deregistration waits for others of its group, while calls stand in line for AWS's budget. It
	// spans three readings of a group (pollShort), with the gates that these open. The budget gathers for some moments more,
	// whatever is to come (budget.Budget).
	gathering = 3200 * time.Millisecond

	// replacing is how long a Deployment has to take an old pod away when a new one is Ready.
	replacing = 500 * time.Millisecond
)

// gather is how much longer the deregistrations wait for others, if that is worth while. A wave of new pods takes as many
// old ones away, one by one as the load balancer finds them healthy; in calls of their own these would keep the next
// wave's registrations in the line. What has failed before waits for nobody. The caller holds the lock.
func (g *group) gather(worthWhile time.Duration, now time.Time) time.Duration {
	if worthWhile == 0 || len(g.toDeregister) == 0 || g.deregistration.busy || g.deregistration.failures > 0 {
		g.gatheringSince = time.Time{}
		return 0
	}
	if g.gatheringSince.IsZero() {
		g.gatheringSince = now
	}
	return max(0, min(worthWhile, gathering-now.Sub(g.gatheringSince)))
}

// worthGathering is for how long it is worth while to wait for more pods to leave: some have been registered and their
// gates may open at any moment, or gates have opened just now. It is 0 when none will, when calls stand in no line, and
// when one of the targets that go cannot serve meanwhile.
func (r *Registrar) worthGathering(s session, gate corev1.PodConditionType, res endpoints.Resolution, p plan,
	entries map[elbv2.Target]entry,
) time.Duration {
	now := r.Clock.Now()
	if len(p.deregister) == 0 || !s.client.Queued() {
		return 0
	}
	for target := range p.deregister {
		if !res.Endpoints[target].ServesOn(now.Add(endpoints.EnoughLife)) {
			return 0
		}
	}
	facts, _ := s.group.currentFacts()
	for _, e := range awaited(res.Endpoints, entries, gate, time.Time{}, nil) {
		if e.opensSoon(facts, now) {
			return gathering
		}
	}
	return s.group.openedWithin(replacing, now)
}

// opensSoon reports whether the load balancer may find the target healthy for the first time at any moment, and has not had
// more time for that than its settings explain.
func (e entry) opensSoon(facts *v1beta1.TargetGroupFacts, now time.Time) bool {
	initial := e.health.State == elbv2.StateInitial && !e.earliestHealthy(facts).After(now.Add(gathering))
	return initial && now.Sub(e.ownedAt) < expectedWait(facts, e.health.State)
}
