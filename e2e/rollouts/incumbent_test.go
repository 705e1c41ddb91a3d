// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package rollouts

import (
	"fmt"
	"slices"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/e2e/emulator/state"
	"github.com/targetgate/targetgate/e2e/incumbent"
	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/e2e/testbed"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// incumbentIn has aws-load-balancer-controller work in the other cluster, in place of targetgate, until the end of the test.
func incumbentIn(t *testing.T, other *suite.Bed) {
	t.Helper()
	other.Targetgate.Kill()
	for _, hooks := range []client.Object{&admissionv1.ValidatingWebhookConfiguration{}, &admissionv1.MutatingWebhookConfiguration{}} {
		suite.Must(t, other.Client.DeleteAllOf(t.Context(), hooks))
	}
	running, err := incumbent.Start(t.Context(), incumbent.Options{
		Config: other.Cluster.AdminConfig(), AWS: bed.AWS.URL(), Probe: time.Duration(suite.Scale * float64(15*time.Second)),
	})
	suite.Must(t, err)
	t.Cleanup(func() { suite.Must(t, running.Close()) })
}

// The incumbent of another cluster gets a binding of our group. It takes out what it does not know when it comes and when it goes, and
// each time we put our pods back; that is all that it does, as nothing wakes it. We take out nothing of it, and say that it is there.
func incumbentComes(t *testing.T, other *suite.Bed) {
	app := suite.NewApp("restored-by-incumbent")
	bed.Deploy(t, app)
	bed.AwaitRolled(t, app)
	bed.AwaitConverged(t, app)
	awaitDecided(t, app)
	copied := restoredIn(t, other, app, 2)
	begun := time.Now()
	giveToIncumbent(t, other, copied)
	both(t, other, app, copied)
	suite.Eventually(t, "the condition", func() error { return wantForeign(bed.GetBinding(t, app), v1beta1.ReasonOtherOwner, 2) })
	quiet(t, other, app, copied)
	suite.Must(t, bed.Roll(t.Context(), app, "2", nil))
	bed.AwaitRolled(t, app)
	both(t, other, app, copied)
	theirs := suite.KeysOf(other.Pods(t, copied), 8080)
	other.DeleteBinding(t, copied)
	bed.AwaitTargets(t, app, suite.KeysOf(bed.Pods(t, app), 8080)...)
	keptFrom(t, app, theirs, begun)
	suite.Eventually(t, "the condition to go", func() error {
		if c := apimeta.FindStatusCondition(bed.GetBinding(t, app).Status.Conditions, v1beta1.ConditionForeignTargets); c != nil {
			return fmt.Errorf("%s: %s", c.Reason, c.Message)
		}
		return nil
	})
}

// We get a binding of the group of another cluster's incumbent: its targets stay, also when our binding goes.
func comeToIncumbent(t *testing.T, other *suite.Bed) {
	app := suite.NewApp("restored-from-incumbent")
	bed.Deploy(t, app)
	bed.AwaitRolled(t, app)
	bed.DeleteBinding(t, app)
	bed.AwaitTargets(t, app)
	copied := restoredIn(t, other, app, 2)
	giveToIncumbent(t, other, copied)
	theirs := suite.KeysOf(other.Pods(t, copied), 8080)
	bed.AwaitTargets(t, app, theirs...)
	begun := time.Now()
	suite.Must(t, bed.Client.Create(t.Context(), app.Binding()))
	both(t, other, app, copied)
	suite.Eventually(t, "the condition", func() error { return wantForeign(bed.GetBinding(t, app), v1beta1.ReasonRegisteredBefore, 2) })
	quiet(t, other, app, copied)
	bed.DeleteBinding(t, app)
	bed.AwaitTargets(t, app, theirs...)
	keptFrom(t, app, theirs, begun)
	other.DeleteBinding(t, copied)
}

// giveToIncumbent creates the binding in the other cluster once its pods are there, with what the incumbent's own webhook would have added.
func giveToIncumbent(t *testing.T, other *suite.Bed, copied *testbed.App) {
	t.Helper()
	suite.Eventually(t, "the other cluster's pods", func() error {
		if n := len(other.Pods(t, copied)); n != int(copied.Replicas) {
			return fmt.Errorf("there are %d", n)
		}
		return nil
	})
	binding := copied.Binding()
	binding.Spec.TargetType = ptr.To(v1beta1.TargetTypeIP)
	suite.Must(t, other.Client.Create(t.Context(), binding))
}

func awaitDecided(t *testing.T, app *testbed.App) {
	t.Helper()
	suite.Eventually(t, "it to be known what was in the group before", func() error {
		if found := bed.GetBinding(t, app).Status.ForeignTargets; found == nil || !found.Complete {
			return fmt.Errorf("foreign targets: %v", found)
		}
		return nil
	})
}

// both waits until the pods of both clusters are targets, and no others.
func both(t *testing.T, other *suite.Bed, app, copied *testbed.App) {
	t.Helper()
	suite.Eventually(t, "the targets of both clusters", func() error {
		return bed.WantTargets(app, slices.Concat(suite.KeysOf(bed.Pods(t, app), 8080), suite.KeysOf(other.Pods(t, copied), 8080))...)
	})
}

// quiet fails when one of the two changes targets while nothing happens.
func quiet(t *testing.T, other *suite.Bed, app, copied *testbed.App) {
	t.Helper()
	const long = 25 * time.Second // two looks for drift, and confirmation
	begun := time.Now()
	want := slices.Concat(suite.KeysOf(bed.Pods(t, app), 8080), suite.KeysOf(other.Pods(t, copied), 8080))
	suite.Throughout(t, long, "targets went", func() error { return bed.WantThere(t, app, want) })
	for _, operation := range []string{"RegisterTargets", "DeregisterTargets"} {
		for _, call := range bed.CallsSince(app, operation, begun) {
			t.Errorf("%s: %s by %s of %v", call.Received.Sub(begun), operation, call.Principal, call.Targets)
		}
	}
}

// keptFrom fails when we have deregistered one of their targets.
func keptFrom(t *testing.T, app *testbed.App, theirs []state.Key, begun time.Time) {
	t.Helper()
	for _, call := range bed.CallsSince(app, "DeregisterTargets", begun) {
		if call.Principal == bed.AccessKey() && slices.ContainsFunc(call.Targets, func(k state.Key) bool { return slices.Contains(theirs, k) }) {
			t.Errorf("%s: we deregistered %v of the incumbent's %v", call.Received.Sub(begun), call.Targets, theirs)
		}
	}
}
