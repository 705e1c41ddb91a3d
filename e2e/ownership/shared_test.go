// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package ownership

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/e2e/emulator/state"
	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/e2e/testbed"
)

// The other cluster's pods are of no interest here; one of its targets has our port, as it would.
func TestTargetsOfAnotherClusterSurviveEverything(t *testing.T) {
	// Flags are at their most impatient: whatever looks for foreign targets finds these.
	bed.WithFlags(t, "--drift-interval=10s")
	app := suite.NewShared("shared")
	app.PreStopSeconds = suite.LongSleep
	bed.Deploy(t, app)
	foreign := []state.Key{suite.TargetOf("10.63.200.1"), {ID: "10.63.200.2", Port: 9090}}
	registerByHand(t, app, foreign...)
	bed.AwaitRolled(t, app)
	bed.AwaitRecord(t, app, suite.KeysOf(bed.Pods(t, app), 8080)...)
	stop := bed.UnderLoad(t, app)
	t.Run("rollout", func(t *testing.T) {
		suite.Must(t, bed.Roll(t.Context(), app, "2", nil))
		bed.AwaitRolled(t, app)
	})
	t.Run("restart", func(t *testing.T) {
		suite.Must(t, bed.Targetgate.RestartWith(t.Context(), "--drift-interval=10s"))
		const long = 15 * time.Second // one drift interval, and confirmation
		suite.Throughout(t, long, "a foreign target went", func() error { return bed.WantThere(t, app, foreign) })
	})
	t.Run("kill -9", func(t *testing.T) {
		old := suite.UIDs(bed.Pods(t, app))
		suite.Must(t, bed.Roll(t.Context(), app, "3", nil))
		suite.Eventually(t, "the middle of the rollout", func() error {
			if n := len(bed.NewPods(t, app, old)); n < 2 {
				return fmt.Errorf("%d new pods", n)
			}
			return nil
		})
		bed.Targetgate.Kill()
		suite.Must(t, bed.Targetgate.Restart(t.Context()))
		bed.AwaitRolled(t, app)
	})
	stop()
	live := suite.KeysOf(bed.Pods(t, app), 8080)
	bed.AwaitTargets(t, app, append(slices.Clone(live), foreign...)...)
	bed.AwaitRecord(t, app, live...)
	bed.AssertOnlyLeaversDeregistered(t, app)
	t.Run("deletion of the binding", func(t *testing.T) {
		bed.DeleteBinding(t, app)
		suite.Must(t, bed.WantTargets(app, foreign...))
		suite.Eventually(t, "the record of the binding's targets to be gone", func() error {
			err := bed.Client.Get(t.Context(), suite.RecordOf(app), &corev1.ConfigMap{})
			if err == nil {
				return errors.New("it is there")
			}
			return client.IgnoreNotFound(err)
		})
	})
	for _, key := range foreign {
		for _, call := range bed.Calls(app, "DeregisterTargets") {
			if slices.Contains(call.Targets, key) {
				t.Errorf("the other cluster's target %s was deregistered at %s", key, call.Received)
			}
		}
	}
}

// Nobody knows any more which targets are whose: what our pods explain is ours from then on, nothing else.
func TestSharedGroupWithoutRecordLosesNoTarget(t *testing.T) {
	app := suite.NewShared("unrecorded")
	bed.Deploy(t, app)
	bed.AwaitRolled(t, app)
	live := suite.KeysOf(bed.Pods(t, app), 8080)
	bed.AwaitRecord(t, app, live...)
	bed.Targetgate.Stop()
	record := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: app.Name, Name: suite.RecordOf(app).Name}}
	suite.Must(t, bed.Client.Delete(t.Context(), record))
	unknown := suite.TargetOf("10.63.200.3")
	registerByHand(t, app, unknown)
	begun := time.Now()
	suite.Must(t, bed.Targetgate.Restart(t.Context()))
	bed.AwaitRecord(t, app, live...)
	const long = 7 * time.Second // a confirming reading comes after 5 s
	suite.Throughout(t, long, "a target went", func() error { return bed.WantTargets(app, append(slices.Clone(live), unknown)...) })
	bed.AssertUntouched(t, app, begun)

	suite.Must(t, bed.Scale(t.Context(), app, app.Replicas-1)) // adopted ones can leave
	bed.AwaitRolled(t, app)
	bed.AwaitTargets(t, app, append(suite.KeysOf(bed.Pods(t, app), 8080), unknown)...)
}

// registerByHand registers targets as somebody else than targetgate.
func registerByHand(t *testing.T, app *testbed.App, keys ...state.Key) {
	t.Helper()
	var list []state.Target
	for _, key := range keys {
		list = append(list, state.Target{Key: key})
	}
	suite.Must(t, bed.AWS.ELB.Register(app.TargetGroup, list))
}
