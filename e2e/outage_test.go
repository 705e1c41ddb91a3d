// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/targetgate/targetgate/e2e/emulator/state"
	"github.com/targetgate/targetgate/e2e/emulator/wire"
	"github.com/targetgate/targetgate/e2e/testbed"
)

// How long something is broken, in targetgate's own time, which is not scaled. AWS is for so long that pauses between
// attempts reach their caps; the API server for longer than a lease lasts.
const (
	outage          = time.Minute
	apiServerOutage = 15 * time.Second
)

// Rule 10: each app has an AWS in trouble of its own, and its rollout under way meanwhile. Where calls have no effect
// no pod may have to leave: nothing could keep the load balancer from sending to it. Where they have, one does.
func TestRolloutSurvivesAWSOutage(t *testing.T) {
	tests := map[string]struct {
		fault  wire.Fault
		effect bool // of calls, in spite of the fault
	}{
		"errors":    {fault: wire.Fault{Code: "InternalFailure"}},
		"throttled": {fault: wire.Fault{Code: "Throttling", Message: "Rate exceeded"}},
		"dropped":   {fault: wire.Fault{Drop: true}, effect: true},
		"truncated": {fault: wire.Fault{Truncate: true}, effect: true},
		"partial":   {fault: wire.Fault{Operation: "DescribeTargetHealth", Omit: 1}, effect: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // they spend their time waiting
			app := newApp("outage-" + name)
			app.PreStopSeconds = 80 // one of them is throttled, which halves the pace of all for a while; that is not scaled
			deploy(t, app)
			awaitRolled(t, app)
			stop := underLoad(t, app)
			tc.fault.TargetGroup = app.TargetGroup
			heal := bed.AWS.Inject(tc.fault)
			defer heal()
			must(t, bed.Roll(t.Context(), app, "2", nil))
			want := int(app.Replicas)
			if tc.effect {
				deletePod(t, oldestPod(t, app))
				want--
			}
			throughout(t, outage, "the load balancer lost a target", func() error { return serving(app, want) })
			heal()
			awaitRolled(t, app)
			stop()
			awaitConverged(t, app)
			assertOnlyLeaversDeregistered(t, app)
			assertGatesOpenedByHealth(t, app)
			assertFewEvents(t, app)
		})
	}
}

// serving is an error when fewer targets than that are healthy.
func serving(app *testbed.App, want int) error {
	lines, err := bed.AWS.State().Describe(app.TargetGroup, nil)
	if err != nil {
		return err
	}
	healthy := 0
	for _, line := range lines {
		if line.State == state.Healthy {
			healthy++
		}
	}
	if healthy < want {
		return fmt.Errorf("%d targets are healthy, want %d", healthy, want)
	}
	return nil
}

// A targetgate that cannot renew its lease for 10 s ends, by design, and is started again. The pods carry their gate
// from the start: admission may be down when the API server is back, as only one targetgate runs here. They sleep 10 s
// here: clients back off from an API server that is down, so each of the nodes, the controllers and targetgate is blind
// for some seconds longer than the others, and that time is not scaled. Most of this test is waiting for them.
func TestRolloutSurvivesAPIServerOutage(t *testing.T) {
	app := newApp("apiserver")
	app.PreStopSeconds, app.ExplicitGate = 100, true
	deploy(t, app)
	awaitRolled(t, app)
	stop := underLoad(t, app)
	stopKeeping := bed.Targetgate.Keep(t.Context())
	defer func() { must(t, stopKeeping()) }()
	tests := map[string]func(t *testing.T){
		"restarts": func(*testing.T) {},
		"is down": func(t *testing.T) {
			throughout(t, apiServerOutage, "the load balancer lost a target", func() error { return serving(app, int(app.Replicas)) })
		},
	}
	for name, meanwhile := range tests {
		t.Run(name, func(t *testing.T) {
			old := uids(pods(t, app))
			must(t, bed.Roll(t.Context(), app, name, nil))
			eventually(t, "the middle of the rollout", func() error {
				if n := len(newPods(t, app, old)); n < 2 {
					return fmt.Errorf("%d new pods", n)
				}
				return nil
			})
			end := bed.Excuse() // until it is ready, an API server that starts does not know its roles, and refuses everything
			bed.Cluster.StopAPIServer()
			meanwhile(t)
			must(t, bed.Cluster.StartAPIServer(t.Context()))
			end()
			must(t, bed.AwaitRolled(t.Context(), app, 4*time.Minute)) // the controllers' back-off, the longest of all
			awaitConverged(t, app)
		})
	}
	stop()
	assertOnlyLeaversDeregistered(t, app)
	assertGatesOpenedByHealth(t, app)
}
