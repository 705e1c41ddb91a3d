// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package faults

import (
	"errors"
	"fmt"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/e2e/emulator/wire"
	"github.com/targetgate/targetgate/e2e/suite"
)

// Rule 10: a crash at any line converges.
func TestKilledInTheMiddleOfARolloutLosesNothing(t *testing.T) {
	app := suite.NewApp("killed")
	app.Replicas, app.PreStopSeconds = 6, suite.LongSleep
	bed.Deploy(t, app)
	bed.AwaitRolled(t, app)
	old := suite.UIDs(bed.Pods(t, app))
	stop := bed.UnderLoad(t, app)
	suite.Must(t, bed.Roll(t.Context(), app, "2", nil))
	suite.Eventually(t, "the middle of the rollout", func() error {
		if n := len(bed.NewPods(t, app, old)); n < 3 {
			return fmt.Errorf("%d new pods", n)
		}
		return nil
	})
	bed.Targetgate.Kill()
	suite.Must(t, bed.Targetgate.Restart(t.Context()))
	bed.AwaitRolled(t, app)
	stop()
	bed.AssertOnlyLeaversDeregistered(t, app)
	bed.AwaitSettled(t, app)
}

// Rule 10: what is there after a restart is adopted without a call.
func TestRestartOfSettledTargetgateRegistersNothing(t *testing.T) {
	app := suite.NewApp("settled")
	bed.Deploy(t, app)
	bed.AwaitRolled(t, app)
	bed.AwaitSettled(t, app)
	before := len(bed.Calls(app, "RegisterTargets")) + len(bed.Calls(app, "DeregisterTargets"))
	readings := len(bed.Calls(app, "DescribeTargetHealth"))
	suite.Must(t, bed.Targetgate.Restart(t.Context()))
	suite.Eventually(t, "a reading of the group", func() error {
		if n := len(bed.Calls(app, "DescribeTargetHealth")); n == readings {
			return fmt.Errorf("%d readings", n)
		}
		return nil
	})
	suite.Throughout(t, 2*time.Second, "a settled group was touched", func() error {
		if n := len(bed.Calls(app, "RegisterTargets")) + len(bed.Calls(app, "DeregisterTargets")); n != before {
			return fmt.Errorf("%d calls more", n-before)
		}
		return nil
	})
	if n := len(bed.Calls(app, "DescribeTargetHealth")) - readings; n != 1 {
		t.Errorf("%d readings after the restart, want 1", n)
	}
}

// Rule 8 and 5: a registration that AWS has acted on without an answer; its pod leaves all the same.
func TestPodOfUnansweredRegistrationIsDeregistered(t *testing.T) {
	app := suite.NewApp("unanswered")
	bed.Deploy(t, app)
	bed.AwaitRolled(t, app)
	old := suite.UIDs(bed.Pods(t, app))
	stop := bed.UnderLoad(t, app)
	heal := bed.AWS.Inject(wire.Fault{Operation: "RegisterTargets", TargetGroup: app.TargetGroup, Drop: true, Times: 1})
	defer heal()
	begun := time.Now()
	suite.Must(t, bed.Scale(t.Context(), app, app.Replicas+1))
	suite.Eventually(t, "the unanswered registration", func() error {
		if len(bed.NewPods(t, app, old)) == 0 || len(bed.CallsSince(app, "RegisterTargets", begun)) == 0 {
			return errors.New("there is none")
		}
		return nil
	})
	suite.Must(t, bed.Scale(t.Context(), app, app.Replicas-1)) // takes the new pod, which is not Ready
	bed.AwaitRolled(t, app)
	suite.Eventually(t, "the group to hold the old pods only", func() error {
		if n := len(bed.RegisteredTargets(t, app)); n != len(old) {
			return fmt.Errorf("%d targets are registered, want %d", n, len(old))
		}
		return nil
	})
	stop()
}

// A rollout of targetgate itself must not cost the 15 s that a lease lasts.
func TestStoppedTargetgateReleasesItsLease(t *testing.T) {
	bed.Targetgate.Stop()
	var lease coordinationv1.Lease
	key := client.ObjectKey{Namespace: "targetgate-system", Name: "aws-load-balancer-controller-leader"}
	err := bed.Client.Get(t.Context(), key, &lease)
	suite.Must(t, bed.Targetgate.Restart(t.Context()))
	suite.Must(t, err)
	if holder := ptr.Deref(lease.Spec.HolderIdentity, ""); holder != "" {
		t.Errorf("after the stop the lease is held by %q, want nobody", holder)
	}
}
