// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package gates

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/e2e/testbed"
)

func TestPodsWithoutGateAreToldOfUntilTheyAreReplaced(t *testing.T) {
	sideBySide(t, map[string]func(*testing.T){
		"binding comes later": func(t *testing.T) {
			app := suite.NewApp("bound-late")
			app.PreStopSeconds = 0
			bed.Deploy(t, app)
			bed.AwaitRolled(t, app)
			bed.DeleteBinding(t, app)
			suite.Must(t, bed.Roll(t.Context(), app, "2", nil))
			bed.AwaitRolled(t, app)
			bed.Create(t, app.Binding())
			ungatedUntilRestart(t, app)
		},
		"namespace is labelled later": func(t *testing.T) {
			app := suite.NewApp("labelled-late")
			app.Gated, app.PreStopSeconds = false, 0
			bed.Deploy(t, app)
			bed.AwaitRolled(t, app)
			suite.Eventually(t, "the pods to be counted", func() error { return wantPods(t, app, 0, 3) })
			if wantUngatedTold(t, app) == nil {
				t.Error("told of, although the namespace does not ask for gates")
			}
			suite.Change(t, bed, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: app.Name}}, func(n *corev1.Namespace) {
				n.Labels[testbed.GateLabel] = "enabled"
			})
			ungatedUntilRestart(t, app)
		},
	})
}

// ungatedUntilRestart waits until the app's pods are counted and told of as pods without gates, and restarts them.
func ungatedUntilRestart(t *testing.T, app *testbed.App) {
	t.Helper()
	suite.Eventually(t, "the pods to be counted", func() error { return wantPods(t, app, 0, 3) })
	suite.Eventually(t, "their owner to be told", func() error { return wantUngatedTold(t, app) })
	suite.Must(t, bed.Roll(t.Context(), app, "restarted", nil))
	bed.AwaitRolled(t, app)
	suite.Eventually(t, "the pods to have gates", func() error { return wantPods(t, app, 3, 0) })
	bed.AssertFewEvents(t, app)
}

// wantPods is an error when the binding's status counts other numbers of pods with and without gates.
func wantPods(t *testing.T, app *testbed.App, gated, ungated int32) error {
	t.Helper()
	if n := bed.GetBinding(t, app).Status.Pods; n == nil || n.Gated != gated || n.Ungated != ungated {
		return fmt.Errorf("pods %+v, want %d gated and %d ungated", n, gated, ungated)
	}
	return nil
}

func wantUngatedTold(t *testing.T, app *testbed.App) error {
	t.Helper()
	owner := metav1.GetControllerOf(bed.OldestPod(t, app))
	return wantNote(t, app, owner.Name, corev1.EventTypeWarning, "PodWithoutReadinessGate",
		fmt.Sprintf("Pods have no readiness gate %s: they were created before the TargetGroupBinding or the namespace's label, before the Service "+
			"selected them, or while targetgate's webhook did not answer. Run kubectl rollout restart to give them one; pods that the Service "+
			"selects only later, as in a blue/green switch, need a preStop sleep instead", app.Gate()))
}
