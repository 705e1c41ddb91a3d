// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package beside

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/targetgate/targetgate/e2e/emulator/wire"
	"github.com/targetgate/targetgate/e2e/incumbent"
	"github.com/targetgate/targetgate/e2e/kubelet"
	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/e2e/testbed"
	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/ownership"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// newApp is an app with a complete binding, as the incumbent makes them, and pods that have their gate from whichever webhook.
func newApp(name string) *testbed.App {
	app := suite.NewApp(name)
	app.ExplicitGate = true
	app.Change = func(b *v1beta1.TargetGroupBinding) { suite.Complete(&b.Spec) }
	return app
}

// deploy creates the app in a namespace with these labels, while the incumbent works.
func deploy(t *testing.T, app *testbed.App, labels ...string) {
	t.Helper()
	theIncumbent(t)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: app.Name, Labels: map[string]string{testbed.GateLabel: "enabled"}}}
	for _, label := range labels {
		namespace.Labels[label] = ownership.Enabled
	}
	bed.Create(t, namespace)
	app.Namespace = app.Name // it is there
	bed.Deploy(t, app)
}

// deployTheirs returns when the incumbent has nothing left to do for the app.
func deployTheirs(t *testing.T, apps ...*testbed.App) {
	t.Helper()
	for _, app := range apps {
		deploy(t, app)
	}
	for _, app := range apps {
		bed.AwaitRolled(t, app)
		awaitTheirs(t, app)
	}
}

// deployOurs returns when targetgate has nothing left to do for the app.
func deployOurs(t *testing.T, apps ...*testbed.App) {
	t.Helper()
	for _, app := range apps {
		deploy(t, app, ownership.RegisterLabel)
	}
	for _, app := range apps {
		bed.AwaitRolled(t, app)
		awaitOurs(t, app)
	}
}

// label has the app's namespace ask for targetgate, or no longer.
func label(t *testing.T, app *testbed.App, on bool) {
	t.Helper()
	suite.Change(t, bed, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: app.Name}}, func(ns *corev1.Namespace) {
		if delete(ns.Labels, ownership.RegisterLabel); on {
			ns.Labels[ownership.RegisterLabel] = ownership.Enabled
		}
	})
}

// awaitOurs waits until targetgate alone has the binding and has done its work.
func awaitOurs(t *testing.T, app *testbed.App) {
	t.Helper()
	suite.Eventually(t, "targetgate to have "+app.Name, func() error { return wantOurs(t, app) })
	bed.AwaitConverged(t, app)
}

func wantOurs(t *testing.T, app *testbed.App) error {
	t.Helper()
	if diff := cmp.Diff([]string{v1beta1.BesideFinalizer}, bed.GetBinding(t, app).Finalizers); diff != "" {
		return fmt.Errorf("finalizers (-want +got):\n%s", diff)
	}
	return bed.WantReason(t, app, v1beta1.ReasonReconciled)
}

// awaitTheirs waits until the incumbent alone has the binding and has done its work, and nothing of targetgate's is left.
func awaitTheirs(t *testing.T, app *testbed.App) {
	t.Helper()
	suite.Eventually(t, "the incumbent to have "+app.Name, func() error {
		b := bed.GetBinding(t, app)
		if diff := cmp.Diff([]string{v1beta1.Finalizer}, b.Finalizers); diff != "" {
			return fmt.Errorf("finalizers (-want +got):\n%s", diff)
		}
		if s := b.Status; len(s.Conditions) > 0 || s.Targets != nil || s.Pods != nil {
			return fmt.Errorf("status %+v", s)
		}
		if b.Annotations[v1beta1.CheckpointAnnotation] == "" {
			return fmt.Errorf("annotations %v, want a checkpoint", b.Annotations)
		}
		if err := wantOpen(t, app); err != nil {
			return fmt.Errorf("%w; annotations %v", err, b.Annotations)
		}
		return bed.WantHealthy(app, suite.KeysOf(live(t, app), 8080)...)
	})
}

// wantOpen is an error when the gate of a live pod is closed.
func wantOpen(t *testing.T, app *testbed.App) error {
	t.Helper()
	for _, pod := range live(t, app) {
		if c := readiness.Condition(&pod, app.Gate()); c == nil || c.Status != corev1.ConditionTrue {
			return fmt.Errorf("the gate of %s: %+v", pod.Name, c)
		}
	}
	return nil
}

func live(t *testing.T, app *testbed.App) []corev1.Pod {
	t.Helper()
	return slices.DeleteFunc(bed.Pods(t, app), func(pod corev1.Pod) bool { return pod.DeletionTimestamp != nil })
}

// callsOf are the caller's for the app's target group since then.
func callsOf(app *testbed.App, caller string, since time.Time, operations ...string) (out []wire.Call) {
	for _, call := range bed.AWS.Calls(0) {
		if call.Principal == caller && call.TargetGroup == app.TargetGroup && call.Received.After(since) &&
			(len(operations) == 0 || slices.Contains(operations, call.Operation)) {
			out = append(out, call)
		}
	}
	return out
}

// assertNoCalls fails when the caller asked AWS about the app's target group since then.
func assertNoCalls(t *testing.T, app *testbed.App, caller string, since time.Time, operations ...string) {
	t.Helper()
	for _, call := range callsOf(app, caller, since, operations...) {
		t.Errorf("%s called %s of %v for %s at %s", caller, call.Operation, call.Targets, app.Name, call.Received.UTC())
	}
}

// assertOnlyComersAndLeavers fails when a target was registered since whose pod was there before, or one deregistered whose pod nobody had
// deleted.
func assertOnlyComersAndLeavers(t *testing.T, app *testbed.App, since time.Time) {
	t.Helper()
	came, left := map[string]time.Time{}, map[string]time.Time{}
	for _, m := range bed.Kubelet.Moments() {
		if m.Namespace != app.Name || m.IP == "" {
			continue
		}
		if _, known := came[m.IP]; !known {
			came[m.IP] = m.At
		}
		if m.Event == kubelet.DeletionSeen {
			left[m.IP] = m.At
		}
	}
	for _, caller := range []string{bed.AccessKey(), incumbent.AccessKey} {
		for _, call := range callsOf(app, caller, since, "RegisterTargets", "DeregisterTargets") {
			for _, key := range call.Targets {
				_, gone := left[key.ID]
				if call.Operation == "RegisterTargets" && came[key.ID].Before(since) || call.Operation == "DeregisterTargets" && !gone {
					t.Errorf("%s: %s called %s of %s at %s, whose pod came at %s, left: %v", app.Name, caller, call.Operation, key,
						call.Received.UTC(), came[key.ID].UTC(), gone)
				}
			}
		}
	}
}

// part is what the incumbent's other controllers compare with their own template.
type part struct {
	Spec                v1beta1.TargetGroupBindingSpec
	Labels, Annotations map[string]string
}

func partOf(b *v1beta1.TargetGroupBinding) part {
	p := part{Spec: b.Spec, Labels: map[string]string{}, Annotations: map[string]string{}}
	for name, text := range b.Labels {
		p.Labels[name] = text
	}
	for name, text := range b.Annotations {
		if name != v1beta1.CheckpointAnnotation && name != v1beta1.CheckpointTimestampAnnotation {
			p.Annotations[name] = text
		}
	}
	return p
}

// assertSame fails when the incumbent's Ingress controller would find something to repair.
func assertSame(t *testing.T, app *testbed.App, before part) {
	t.Helper()
	if diff := cmp.Diff(before, partOf(bed.GetBinding(t, app))); diff != "" {
		t.Errorf("the binding %s (-before +after):\n%s", app.Name, diff)
	}
}
