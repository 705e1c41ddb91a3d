// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/endpoints"
	"github.com/targetgate/targetgate/targets/targetgroup"
)

// replacing is how long a Deployment has to take an old pod away when a new one is Ready.
const replacing = 500 * time.Millisecond

// Coalesce is for how long it is worth while for the plan's deregistrations to wait for more pods to leave: some have been
// registered and their gates may open at any moment, or gates have opened just now. It is 0 when none will, and when one of the
// targets that go cannot serve meanwhile. It is asked for when calls queue for AWS's budget.
func (p *Plan) Coalesce(in Input, gate corev1.PodConditionType, sinceOpened func(within time.Duration) (left time.Duration)) time.Duration {
	for target := range p.Deregister {
		if !in.Endpoints[target].ServesOn(in.Now.Add(endpoints.EnoughLife)) {
			return 0
		}
	}
	for _, t := range Awaited(in.Endpoints, in.Group.Targets, gate, time.Time{}, nil) {
		if opensSoon(t, in) {
			return targetgroup.CoalesceWindow
		}
	}
	return sinceOpened(replacing)
}

// opensSoon reports whether the load balancer may find the target healthy for the first time at any moment, and has not had
// more time for that than its settings explain.
func opensSoon(t targetgroup.Target, in Input) bool {
	facts := in.Group.Settings
	initial := t.Health.State == elbv2.StateInitial && !earliestHealthy(t, facts).After(in.Now.Add(targetgroup.CoalesceWindow))
	return initial && in.Now.Sub(t.OwnedAt) < ExpectedWait(facts, t.Health.State)
}
