// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package faults

import (
	"fmt"
	"testing"
	"time"

	"github.com/targetgate/targetgate/e2e/emulator/wire"
	"github.com/targetgate/targetgate/e2e/suite"
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
			app := suite.NewApp("outage-" + name)
			app.PreStopSeconds = 80 // one of them is throttled, which halves the pace of all for a while; that is not scaled
			app.ExplicitGate = true // a machine that is busy may keep a review for longer than API servers wait
			bed.Deploy(t, app)
			bed.AwaitRolled(t, app)
			stop := bed.UnderLoad(t, app)
			tc.fault.TargetGroup = app.TargetGroup
			heal := bed.AWS.Inject(tc.fault)
			defer heal()
			suite.Must(t, bed.Roll(t.Context(), app, "2", nil))
			want := int(app.Replicas)
			if tc.effect {
				bed.DeletePod(t, bed.OldestPod(t, app))
				want--
			}
			suite.Throughout(t, outage, "the load balancer lost a target", func() error { return bed.WantKept(app, want) })
			heal()
			bed.AwaitRolled(t, app)
			stop()
			bed.AwaitConverged(t, app)
			bed.AssertOnlyLeaversDeregistered(t, app)
			assertGatesOpenedByHealth(t, app)
			bed.AssertFewEvents(t, app)
		})
	}
}

// A targetgate that cannot renew its lease for 10 s ends, by design, and is started again. The pods carry their gate
// from the start: admission may be down when the API server is back, as only one targetgate runs here. They sleep long:
// clients back off from an API server that is down, so each of the nodes, the controllers and targetgate is blind for some
// seconds longer than the others. Most of this test is waiting for them.
func TestRolloutSurvivesAPIServerOutage(t *testing.T) {
	app := suite.NewApp("apiserver")
	app.PreStopSeconds, app.ExplicitGate = suite.LongSleep, true
	bed.Deploy(t, app)
	bed.AwaitRolled(t, app)
	stop := bed.UnderLoad(t, app)
	stopKeeping := bed.Targetgate.Keep(t.Context())
	defer func() { suite.Must(t, stopKeeping()) }()
	tests := map[string]func(t *testing.T){
		"restarts": func(*testing.T) {},
		"is down": func(t *testing.T) {
			suite.Throughout(t, apiServerOutage, "the load balancer lost a target", func() error { return bed.WantServing(app, int(app.Replicas)) })
		},
	}
	for name, meanwhile := range tests {
		t.Run(name, func(t *testing.T) {
			old := suite.UIDs(bed.Pods(t, app))
			suite.Must(t, bed.Roll(t.Context(), app, name, nil))
			suite.Eventually(t, "the middle of the rollout", func() error {
				if n := len(bed.NewPods(t, app, old)); n < 2 {
					return fmt.Errorf("%d new pods", n)
				}
				return nil
			})
			end := bed.Excuse() // until it is ready, an API server that starts does not know its roles, and refuses everything
			bed.Cluster.StopAPIServer()
			meanwhile(t)
			suite.Must(t, bed.Cluster.StartAPIServer(t.Context()))
			end()
			suite.Must(t, bed.Bed.AwaitRolled(t.Context(), app, 4*time.Minute)) // the controllers' back-off, the longest of all
			bed.AwaitConverged(t, app)
		})
	}
	stop()
	bed.AssertOnlyLeaversDeregistered(t, app)
	assertGatesOpenedByHealth(t, app)
}
