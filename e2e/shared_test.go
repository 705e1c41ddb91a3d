// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/e2e/emulator/state"
	"github.com/targetgate/targetgate/e2e/testbed"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// The other cluster's pods are of no interest here; one of its targets has our port, as it would.
func TestTargetsOfAnotherClusterSurviveEverything(t *testing.T) {
	// Flags are at their most impatient: whatever looks for foreign targets finds these.
	withFlags(t, "--drift-interval=10s")
	app := newShared("shared")
	app.PreStopSeconds = 60 // 6 s here: as long as targetgate needs to come back
	deploy(t, app)
	foreign := []state.Key{targetOf("10.63.200.1"), {ID: "10.63.200.2", Port: 9090}}
	registerByHand(t, app, foreign...)
	awaitRolled(t, app)
	awaitRecord(t, app, keysOf(pods(t, app), 8080)...)
	stop := underLoad(t, app)
	t.Run("rollout", func(t *testing.T) {
		must(t, bed.Roll(t.Context(), app, "2", nil))
		awaitRolled(t, app)
	})
	t.Run("restart", func(t *testing.T) {
		must(t, bed.Targetgate.RestartWith(t.Context(), "--drift-interval=10s"))
		throughout(t, 15*time.Second, "a foreign target went", func() error { return wantThere(t, app, foreign) }) // one drift interval, and confirmation
	})
	t.Run("kill -9", func(t *testing.T) {
		old := uids(pods(t, app))
		must(t, bed.Roll(t.Context(), app, "3", nil))
		eventually(t, "the middle of the rollout", func() error {
			if n := len(newPods(t, app, old)); n < 2 {
				return fmt.Errorf("%d new pods", n)
			}
			return nil
		})
		bed.Targetgate.Kill()
		must(t, bed.Targetgate.Restart(t.Context()))
		awaitRolled(t, app)
	})
	stop()
	live := keysOf(pods(t, app), 8080)
	awaitTargets(t, app, append(slices.Clone(live), foreign...)...)
	awaitRecord(t, app, live...)
	assertOnlyLeaversDeregistered(t, app)
	t.Run("deletion of the binding", func(t *testing.T) {
		deleteBinding(t, app)
		must(t, wantTargets(app, foreign...))
		err := bed.Client.Get(t.Context(), recordOf(app), &corev1.ConfigMap{})
		if !apierrors.IsNotFound(err) {
			t.Errorf("getting the record of the binding's targets: %v, want that it is gone", err)
		}
	})
	for _, key := range foreign {
		for _, call := range calls(app, "DeregisterTargets") {
			if slices.Contains(call.Targets, key) {
				t.Errorf("the other cluster's target %s was deregistered at %s", key, call.Received)
			}
		}
	}
}

// Nobody knows any more which targets are whose: what our pods explain is ours from then on, nothing else.
func TestSharedGroupWithoutRecordLosesNoTarget(t *testing.T) {
	app := newShared("unrecorded")
	deploy(t, app)
	awaitRolled(t, app)
	live := keysOf(pods(t, app), 8080)
	awaitRecord(t, app, live...)
	bed.Targetgate.Stop()
	must(t, bed.Client.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: app.Name, Name: recordOf(app).Name}}))
	unknown := targetOf("10.63.200.3")
	registerByHand(t, app, unknown)
	begun := time.Now()
	must(t, bed.Targetgate.Restart(t.Context()))
	awaitRecord(t, app, live...)
	throughout(t, 7*time.Second, "a target went", func() error { return wantTargets(app, append(slices.Clone(live), unknown)...) }) // a confirming reading comes after 5 s
	assertUntouched(t, app, begun)

	must(t, bed.Scale(t.Context(), app, app.Replicas-1)) // adopted ones can leave
	awaitRolled(t, app)
	awaitTargets(t, app, append(keysOf(pods(t, app), 8080), unknown)...)
}

// newShared is an app whose group other clusters have targets in.
func newShared(name string) *testbed.App {
	app := newApp(name)
	app.Change = func(binding *v1beta1.TargetGroupBinding) { binding.Spec.MultiClusterTargetGroup = true }
	return app
}

// recordOf names the ConfigMap in which users and the incumbent expect the binding's targets.
func recordOf(app *testbed.App) types.NamespacedName {
	return types.NamespacedName{Namespace: app.Name, Name: "aws-lbc-targets-" + app.Name}
}

// awaitRecord waits until the record names exactly these targets.
func awaitRecord(t *testing.T, app *testbed.App, want ...state.Key) {
	t.Helper()
	var text []string
	for _, key := range want {
		text = append(text, fmt.Sprintf("%s:%d", key.ID, key.Port))
	}
	slices.Sort(text)
	eventually(t, "the record to name the binding's targets", func() error {
		var configMap corev1.ConfigMap
		if err := bed.Client.Get(t.Context(), recordOf(app), &configMap); err != nil {
			return err
		}
		got := strings.Split(configMap.Data["targets"], ",")
		slices.Sort(got)
		if !slices.Equal(got, text) {
			return fmt.Errorf("it names %v, want %v", got, text)
		}
		return nil
	})
}

// registerByHand registers targets as somebody else than targetgate.
func registerByHand(t *testing.T, app *testbed.App, keys ...state.Key) {
	t.Helper()
	var list []state.Target
	for _, key := range keys {
		list = append(list, state.Target{Key: key})
	}
	must(t, bed.AWS.State().Register(app.TargetGroup, list))
}

// wantThere is an error when one of the targets is not registered.
func wantThere(t *testing.T, app *testbed.App, keys []state.Key) error {
	t.Helper()
	registered := registeredTargets(t, app)
	for _, key := range keys {
		if !slices.Contains(registered, key) {
			return fmt.Errorf("%s is not registered any more", key)
		}
	}
	return nil
}

// deleteBinding deletes the app's binding and returns when it is gone.
func deleteBinding(t *testing.T, app *testbed.App) {
	t.Helper()
	must(t, bed.Client.Delete(t.Context(), getBinding(t, app)))
	awaitBindingGone(t, app)
}

func awaitBindingGone(t *testing.T, app *testbed.App) {
	t.Helper()
	eventually(t, "the binding to be gone", func() error {
		if err := bed.Client.Get(t.Context(), app.Key(), &v1beta1.TargetGroupBinding{}); !apierrors.IsNotFound(err) {
			return fmt.Errorf("getting it: %w", client.IgnoreNotFound(err))
		}
		return nil
	})
}
