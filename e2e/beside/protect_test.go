// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package beside

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/e2e/kubelet"
	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/e2e/testbed"
	"github.com/targetgate/targetgate/targets/ownership"
)

// Admission has pods sleep before they stop, and the incumbent registers them, with its own gates.
func TestProtectedNamespaceLosesNothing(t *testing.T) {
	t.Parallel()
	app := newApp("protected")
	app.PreStopSeconds, app.Replicas = 0, 0
	app.Template = func(template *corev1.PodTemplateSpec) { // the sleep is ten times shorter here, but the incumbent no faster
		template.Annotations = map[string]string{"targetgate.dev/termination-delay": fmt.Sprintf("%ds", suite.LongSleep)}
	}
	deploy(t, app, ownership.ProtectLabel)
	suite.Eventually(t, "pods to get a sleep", func() error { return wantProtection(t, app) })
	suite.Must(t, bed.Scale(t.Context(), app, 3))
	bed.AwaitRolled(t, app)
	awaitTheirs(t, app)
	stop := bed.UnderLoad(t, app)
	suite.Must(t, bed.Roll(t.Context(), app, "2", nil))
	bed.AwaitRolled(t, app)
	awaitTheirs(t, app)
	stop()
	for _, pod := range live(t, app) {
		if g := pod.Spec.ReadinessGates; len(g) != 1 || g[0].ConditionType != app.Gate() {
			t.Errorf("pod %s has gates %v, want that of its template alone", pod.Name, g)
		}
	}
	assertNoCalls(t, app, bed.AccessKey(), time.Time{})
	assertNoWrites(t, app)
}

// With --open-incumbent-gates, gates in a protected namespace open by health, and targetgate writes nothing but their conditions and
// events.
func TestIncumbentsGatesOpenEarly(t *testing.T) {
	bed.WithFlags(t, "--beside", "--open-incumbent-gates")
	app := newApp("early")
	app.PreStopSeconds = 45
	deploy(t, app, ownership.ProtectLabel)
	bed.AwaitRolled(t, app)
	stop := bed.UnderLoad(t, app)
	for _, version := range []string{"2", "3"} {
		suite.Must(t, bed.Roll(t.Context(), app, version, nil))
		bed.AwaitRolled(t, app)
	}
	awaitTheirs(t, app)
	stop()
	requests, err := bed.Cluster.Requests()
	suite.Must(t, err)
	opened := 0
	for _, r := range requests {
		switch {
		case r.Namespace != app.Name || r.Resource == "events" || slices.Contains([]string{"get", "list", "watch"}, r.Verb):
		case r.Verb == "patch" && r.Resource == "pods/status":
			opened++
		default:
			t.Errorf("targetgate asked for %s %s %s/%s", r.Verb, r.Resource, r.Namespace, r.Name)
		}
	}
	if opened == 0 {
		t.Error("targetgate has opened no gate in two rollouts")
	}
	assertNoCalls(t, app, bed.AccessKey(), time.Time{}, "RegisterTargets", "DeregisterTargets")
	for _, moment := range bed.Kubelet.Moments() {
		if moment.Namespace == app.Name && moment.Event == kubelet.Ready {
			if healthy, err := bed.Turned(app, moment.IP, "healthy"); err != nil || moment.At.Before(healthy) {
				t.Errorf("pod %s was Ready at %s, its target healthy at %s (%v)", moment.Pod, moment.At, healthy, err)
			}
		}
	}
}

// wantProtection is an error when a pod of the app, without a gate in its template, would not get the sleep for an ALB and the time for it.
func wantProtection(t *testing.T, app *testbed.App) error {
	t.Helper()
	pod := app.Pod("probe")
	pod.Spec.ReadinessGates = nil
	if err := bed.Client.Create(t.Context(), pod, client.DryRunAll); err != nil {
		return err
	}
	lifecycle, grace := pod.Spec.Containers[0].Lifecycle, *pod.Spec.TerminationGracePeriodSeconds
	if lifecycle == nil || lifecycle.PreStop == nil || lifecycle.PreStop.Sleep == nil {
		return fmt.Errorf("lifecycle %v", lifecycle)
	}
	if seconds := lifecycle.PreStop.Sleep.Seconds; seconds != 45 || grace != 30+45 || len(pod.Spec.ReadinessGates) > 0 {
		t.Errorf("a sleep of %d s, a grace period of %d s, gates %v", seconds, grace, pod.Spec.ReadinessGates)
	}
	return nil
}
