// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package realtime

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/targetgate/targetgate/e2e/emulator/state"
	"github.com/targetgate/targetgate/e2e/emulator/wire"
	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/e2e/testbed"
)

// Rules 5 and 9: AWS's own limits are the bottleneck, and those who leave come first. The preStop sleep is 6 s longer
// than the load balancer goes on sending.
func TestRushOfRolloutsLosesNoRequest(t *testing.T) {
	var apps []*testbed.App
	for i := range 30 {
		app := suite.NewApp(fmt.Sprintf("rush-%02d", i))
		app.Replicas, app.PreStopSeconds, app.HealthCheck = 6, 10, state.HealthCheck{Interval: 5, Path: "/healthz"}
		apps = append(apps, app)
	}
	forAll(t, apps, bed.Bed.Deploy)
	awaitAllRolled(t, apps)

	first, begun := len(bed.AWS.Calls(0)), time.Now()
	var stops []func()
	for _, app := range apps {
		stops = append(stops, bed.UnderLoadOf(t, app, 10))
	}
	forAll(t, apps, func(ctx context.Context, app *testbed.App) error { return bed.Roll(ctx, app, "2", nil) })
	awaitAllRolled(t, apps)
	took := time.Since(begun)
	for _, stop := range stops {
		stop()
	}
	for _, app := range apps {
		bed.AssertOnlyLeaversDeregistered(t, app)
	}
	t.Logf("the rollouts took %s and these calls: %v", took, countCalls(bed.AWS.Calls(first)))
	assertNotThrottled(t)
}

// forAll does something for all apps at once.
func forAll(t *testing.T, apps []*testbed.App, do func(context.Context, *testbed.App) error) {
	t.Helper()
	group, ctx := errgroup.WithContext(t.Context())
	for _, app := range apps {
		group.Go(func() error { return do(ctx, app) })
	}
	suite.Must(t, group.Wait())
}

// awaitAllRolled has more patience than AwaitRolled: 180 pods take what AWS's 4 calls a second let through.
func awaitAllRolled(t *testing.T, apps []*testbed.App) {
	t.Helper()
	for _, app := range apps {
		suite.Must(t, bed.Bed.AwaitRolled(t.Context(), app, 4*time.Minute))
	}
}

func countCalls(calls []wire.Call) map[string]int {
	out := map[string]int{}
	for _, call := range calls {
		out[call.Operation]++
	}
	return out
}

func assertNotThrottled(t *testing.T) {
	t.Helper()
	all := bed.AWS.Calls(0)
	throttled := slices.DeleteFunc(slices.Clone(all), func(c wire.Call) bool { return !c.Throttled })
	if len(throttled) > 0 {
		t.Errorf("AWS throttled %v of %v, want none", countCalls(throttled), countCalls(all))
	}
}
