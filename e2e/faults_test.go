// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/e2e/emulator/wire"
	"github.com/targetgate/targetgate/e2e/testbed"
	"github.com/targetgate/targetgate/targets/v1beta1"
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

// Rule 8 and 5: a registration that AWS has acted on without an answer; its pod leaves all the same.
func TestPodOfUnansweredRegistrationIsDeregistered(t *testing.T) {
	app := newApp("unanswered")
	deploy(t, app)
	awaitRolled(t, app)
	old := uids(pods(t, app))
	stop := underLoad(t, app)
	heal := bed.AWS.Inject(wire.Fault{Operation: "RegisterTargets", TargetGroup: app.TargetGroup, Drop: true, Times: 1})
	defer heal()
	begun := time.Now()
	must(t, bed.Scale(t.Context(), app, app.Replicas+1))
	eventually(t, "the unanswered registration", func() error {
		if len(newPods(t, app, old)) == 0 || len(callsSince(app, "RegisterTargets", begun)) == 0 {
			return errors.New("there is none")
		}
		return nil
	})
	must(t, bed.Scale(t.Context(), app, app.Replicas-1)) // takes the new pod, which is not Ready
	awaitRolled(t, app)
	eventually(t, "the group to hold the old pods only", func() error {
		if n := len(registeredTargets(t, app)); n != len(old) {
			return fmt.Errorf("%d targets are registered, want %d", n, len(old))
		}
		return nil
	})
	stop()
}

func readyReason(t *testing.T, app *testbed.App) string {
	t.Helper()
	var binding v1beta1.TargetGroupBinding
	must(t, client.IgnoreNotFound(bed.Client.Get(t.Context(), app.Key(), &binding)))
	if c := apimeta.FindStatusCondition(binding.Status.Conditions, v1beta1.ConditionReady); c != nil {
		return c.Reason
	}
	return ""
}

// A rollout of targetgate itself must not cost the 15 s that a lease lasts.
func TestStoppedTargetgateReleasesItsLease(t *testing.T) {
	bed.Targetgate.Stop()
	var lease coordinationv1.Lease
	key := client.ObjectKey{Namespace: "targetgate-system", Name: "aws-load-balancer-controller-leader"}
	err := bed.Client.Get(t.Context(), key, &lease)
	must(t, bed.Targetgate.Restart(t.Context()))
	must(t, err)
	if holder := ptr.Deref(lease.Spec.HolderIdentity, ""); holder != "" {
		t.Errorf("after the stop the lease is held by %q, want nobody", holder)
	}
}
