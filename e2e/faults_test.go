// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/targetgate/targetgate/e2e/testbed"
)

// Rule 10: a crash at any line converges.
func TestKilledInTheMiddleOfARolloutLosesNothing(t *testing.T) {
	app := newApp("killed")
	// 6 s here: as long as targetgate needs to come back (its time is not scaled) and the load balancer to stop sending.
	app.Replicas, app.PreStopSeconds = 6, 60
	deploy(t, app)
	awaitRolled(t, app)
	old := uids(pods(t, app))
	stop := underLoad(t, app)
	must(t, bed.Roll(t.Context(), app, "2", nil))
	eventually(t, "the middle of the rollout", func() error {
		if n := len(newPods(t, app, old)); n < 3 {
			return fmt.Errorf("%d new pods", n)
		}
		return nil
	})
	bed.Targetgate.Kill()
	must(t, bed.Targetgate.Restart(t.Context()))
	awaitRolled(t, app)
	stop()
	assertOnlyLeaversDeregistered(t, app)
	awaitSettled(t, app)
}

// Rule 10: what is there after a restart is adopted without a call.
func TestRestartOfSettledTargetgateRegistersNothing(t *testing.T) {
	app := newApp("settled")
	deploy(t, app)
	awaitRolled(t, app)
	awaitSettled(t, app)
	before := len(calls(app, "RegisterTargets")) + len(calls(app, "DeregisterTargets"))
	readings := len(calls(app, "DescribeTargetHealth"))
	must(t, bed.Targetgate.Restart(t.Context()))
	eventually(t, "a reading of the group", func() error {
		if n := len(calls(app, "DescribeTargetHealth")); n == readings {
			return fmt.Errorf("%d readings", n)
		}
		return nil
	})
	throughout(t, 2*time.Second, "a settled group was touched", func() error {
		if n := len(calls(app, "RegisterTargets")) + len(calls(app, "DeregisterTargets")); n != before {
			return fmt.Errorf("%d calls more", n-before)
		}
		return nil
	})
	if n := len(calls(app, "DescribeTargetHealth")) - readings; n != 1 {
		t.Errorf("%d readings after the restart, want 1", n)
	}
}

// awaitSettled waits until the binding's status says that all is done, with every pod's target healthy.
func awaitSettled(t *testing.T, app *testbed.App) {
	t.Helper()
	want := fmt.Sprintf("%d/%d", app.Replicas, app.Replicas)
	eventually(t, "the binding to settle", func() error {
		s := getBinding(t, app).Status
		if s.Targets == nil || s.Pods == nil || s.Targets.Summary != want || s.Pods.Waiting != 0 {
			return fmt.Errorf("status %+v, targets %+v, pods %+v", s, s.Targets, s.Pods)
		}
		return nil
	})
}
