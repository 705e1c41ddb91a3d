// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package beside

import (
	"slices"
	"testing"
	"time"

	"github.com/targetgate/targetgate/e2e/incumbent"
	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/e2e/testbed"
	"github.com/targetgate/targetgate/targets/ownership"
)

// Each of the two rolls an app out, side by side, and neither asks AWS about the other's or writes in its namespace. Nobody promises
// that the incumbent's rollout loses no request.
func TestEachRegistersItsOwn(t *testing.T) {
	t.Parallel()
	begun := time.Now()
	ours, theirs := newApp("side-ours"), newApp("side-theirs")
	deploy(t, ours, ownership.RegisterLabel)
	deploy(t, theirs)
	for _, app := range []*testbed.App{ours, theirs} {
		bed.AwaitRolled(t, app)
	}
	awaitOurs(t, ours)
	awaitTheirs(t, theirs)
	stop := bed.UnderLoadOf(t, ours, 50)
	for _, app := range []*testbed.App{ours, theirs} {
		suite.Must(t, bed.Roll(t.Context(), app, "2", nil))
	}
	for _, app := range []*testbed.App{ours, theirs} {
		bed.AwaitRolled(t, app)
	}
	awaitOurs(t, ours)
	awaitTheirs(t, theirs)
	stop()
	suite.Must(t, bed.WantEvent(t, ours, ours.Name, "Warning", "FailedAddFinalizer")) // it has tried
	assertNoCalls(t, ours, incumbent.AccessKey, begun)
	assertNoCalls(t, theirs, bed.AccessKey(), begun)
	assertOnlyComersAndLeavers(t, ours, begun)
	assertOnlyComersAndLeavers(t, theirs, begun)
	assertNoWrites(t, theirs)
}

// assertNoWrites fails when targetgate has written anything in the app's namespace.
func assertNoWrites(t *testing.T, app *testbed.App) {
	t.Helper()
	requests, err := bed.Cluster.Requests()
	suite.Must(t, err)
	for _, r := range requests {
		if r.Namespace == app.Name && !slices.Contains([]string{"get", "list", "watch"}, r.Verb) {
			t.Errorf("targetgate asked for %s %s %s/%s at %s", r.Verb, r.Resource, r.Namespace, r.Name, r.Received.UTC())
		}
	}
}
