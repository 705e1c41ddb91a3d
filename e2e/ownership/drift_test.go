// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package ownership

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/targetgate/targetgate/e2e/emulator/state"
	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/e2e/testbed"
)

func TestWhatOthersChangeInAGroupIsSetRight(t *testing.T) {
	bed.WithFlags(t, "--drift-interval=10s")
	app := suite.NewApp("drift")
	bed.Deploy(t, app)
	bed.AwaitRolled(t, app)
	bed.AwaitConverged(t, app)
	live := suite.KeysOf(bed.Pods(t, app), 8080)
	settled := time.Now() // what a group has before it was read twice counts as there before the binding
	suite.Eventually(t, "two more readings of the group", func() error {
		if n := len(bed.CallsSince(app, "DescribeTargetHealth", settled)); n < 2 {
			return fmt.Errorf("%d readings", n)
		}
		return nil
	})
	stop := bed.UnderLoad(t, app)

	suite.Must(t, bed.AWS.ELB.Deregister(app.TargetGroup, []state.Target{{Key: live[0]}}))
	registerByHand(t, app, suite.TargetOf("10.63.200.9"))
	suite.Must(t, bed.WantTargets(app, append(live[1:], suite.TargetOf("10.63.200.9"))...))
	bed.AwaitHealthy(t, app, live...)
	stop()
	for kind, reason := range map[string]string{"missing": "TargetMissing", "foreign": "ForeignTarget"} {
		suite.Eventually(t, "the event", func() error { return bed.WantEvent(t, app, app.Name, corev1.EventTypeWarning, reason) })
		line := fmt.Sprintf("targetgate_drift_repaired_total{kind=%q,name=%q,namespace=%q} 1", kind, app.Name, app.Name)
		suite.Eventually(t, "the metric", func() error { return bed.WantMetric(t, line) })
	}
	for _, pod := range bed.Pods(t, app) {
		if !testbed.IsReady(&pod) {
			t.Errorf("pod %s is not Ready", pod.Name)
		}
	}
}
