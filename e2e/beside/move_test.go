// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package beside

import (
	"fmt"
	"testing"
	"time"

	"github.com/targetgate/targetgate/e2e/emulator/wire"
	"github.com/targetgate/targetgate/e2e/incumbent"
	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/e2e/testbed"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// A binding is moved to targetgate, rolled out there, moved back, and rolled out again.
func TestMoveThereAndBackTouchesNoTarget(t *testing.T) {
	t.Parallel()
	app := newApp("moved")
	app.PreStopSeconds = suite.LongSleep // the incumbent takes a second and more to deregister, on a busy machine 5
	deployTheirs(t, app)
	begun, before := time.Now(), partOf(bed.GetBinding(t, app))
	stop := bed.UnderLoad(t, app)

	label(t, app, true)
	awaitOurs(t, app)
	suite.Must(t, bed.WantEvent(t, app, app.Name, "Normal", "Taken"))
	assertSame(t, app, before)
	bed.AssertUntouched(t, app, begun)
	taken := time.Now()
	suite.Must(t, bed.Roll(t.Context(), app, "2", nil))
	bed.AwaitRolled(t, app)
	awaitOurs(t, app)
	assertNoCalls(t, app, incumbent.AccessKey, taken)

	back := time.Now()
	label(t, app, false)
	awaitTheirs(t, app)
	bed.AwaitRolled(t, app)
	suite.Must(t, bed.WantEvent(t, app, app.Name, "Normal", "GivenBack"))
	assertSame(t, app, before)
	suite.Must(t, bed.Roll(t.Context(), app, "3", nil))
	bed.AwaitRolled(t, app)
	awaitTheirs(t, app)
	stop()
	assertNoCalls(t, app, bed.AccessKey(), back, "RegisterTargets", "DeregisterTargets")
	assertOnlyComersAndLeavers(t, app, begun)
	assertSame(t, app, before)
}

// The label comes and goes faster than targetgate believes it, during rollouts. Whoever the label names at the end has the binding.
func TestFlappingLabelLosesNothing(t *testing.T) {
	t.Parallel()
	ours, theirs := newApp("flap-ours"), newApp("flap-theirs") // at the beginning
	for _, app := range []*testbed.App{ours, theirs} {
		app.PreStopSeconds = 150 // 15 s here: nobody deregisters for 10 s, which are not scaled, after a binding was taken
	}
	deployOurs(t, ours)
	deployTheirs(t, theirs)
	begun, beforeOurs, beforeTheirs := time.Now(), partOf(bed.GetBinding(t, ours)), partOf(bed.GetBinding(t, theirs))
	stopOurs, stopTheirs := bed.UnderLoadOf(t, ours, 50), bed.UnderLoadOf(t, theirs, 50)
	suite.Must(t, bed.Roll(t.Context(), ours, "2", nil))
	suite.Must(t, bed.Roll(t.Context(), theirs, "2", nil))
	for i, pause := range []time.Duration{1, 2, 3, 1, 1, 2, 1, 3, 2, 1, 3} { // seconds, 20 in all
		label(t, ours, i%2 == 1)
		label(t, theirs, i%2 == 0)
		time.Sleep(pause * time.Second)
	}
	bed.AwaitRolled(t, ours)
	bed.AwaitRolled(t, theirs)
	awaitTheirs(t, ours)
	awaitOurs(t, theirs)
	stopOurs()
	stopTheirs()
	assertOnlyComersAndLeavers(t, ours, begun)
	assertOnlyComersAndLeavers(t, theirs, begun)
	assertSame(t, ours, beforeOurs)
	assertSame(t, theirs, beforeTheirs)
}

// A pass of the incumbent that began before the binding was taken ends after that, with a checkpoint. That is no alarm.
func TestLatePassOfTheIncumbentIsNoAlarm(t *testing.T) {
	t.Parallel()
	app := newApp("late")
	deployTheirs(t, app)
	begun := time.Now()
	heal := bed.AWS.Inject(wire.Fault{TargetGroup: app.TargetGroup, Operation: "DeregisterTargets", Hang: 14 * time.Second})
	defer heal()
	suite.Must(t, bed.Scale(t.Context(), app, 2))
	suite.Eventually(t, "the incumbent to begin", func() error {
		if text := bed.GetBinding(t, app).Annotations[v1beta1.CheckpointAnnotation]; text != "" {
			return fmt.Errorf("its checkpoint is %q", text)
		}
		return nil
	})
	label(t, app, true)
	suite.Eventually(t, "the binding to be taken", func() error { return wantFinalizer(t, app, v1beta1.BesideFinalizer) })
	if text := bed.GetBinding(t, app).Annotations[v1beta1.CheckpointAnnotation]; text != "" {
		t.Fatalf("the pass has ended: its checkpoint is %q", text)
	}
	bed.AwaitRolled(t, app)
	awaitOurs(t, app)
	if bed.GetBinding(t, app).Annotations[v1beta1.CheckpointAnnotation] == "" {
		t.Error("the pass has written no checkpoint")
	}
	if err := bed.WantEvent(t, app, app.Name, "Warning", v1beta1.ReasonTwoControllers); err == nil {
		t.Error("there was an alarm")
	}
	assertOnlyComersAndLeavers(t, app, begun)
}
