// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package rollouts

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/targetgate/targetgate/e2e/emulator/state"
	"github.com/targetgate/targetgate/e2e/emulator/wire"
	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/e2e/testbed"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// Rule 7. The green pods are ready, but of no Service's and so without gates, when the Service turns to them.
func TestBlueGreenSwitchLosesNoRequest(t *testing.T) {
	app := suite.NewApp("bluegreen")
	blue, green := deployBlueAndGreen(t, app)
	stop := bed.UnderLoad(t, app)
	switched := time.Now()
	turnTo(t, app, "green")
	bed.AwaitHealthy(t, app, green...)
	stop()
	assertLeftAfterHealthy(t, app, blue, green, switched)

	back := time.Now()
	stop = bed.UnderLoad(t, app)
	turnTo(t, app, "blue")
	bed.AwaitHealthy(t, app, blue...)
	stop()
	assertLeftAfterHealthy(t, app, green, blue, back)
}

func TestBlueGreenSwitchToUnhealthyPodsEndsAfterTheTimeout(t *testing.T) {
	const timeout = 8 * time.Second // a status that may pass is written after 5 s
	bed.WithFlags(t, "--replacement-timeout="+timeout.String())
	app := suite.NewApp("sickgreen")
	blue, green := deployBlueAndGreen(t, app)
	for _, pod := range bed.Pods(t, app) {
		if pod.Labels["color"] == "green" {
			handle, _ := bed.Kubelet.App(app.Name, pod.Name)
			handle.SetHealth(http.StatusInternalServerError)
			break
		}
	}
	stop := bed.UnderLoad(t, app)
	switched := time.Now()
	turnTo(t, app, "green")
	suite.Eventually(t, "the status to say why blue stays", func() error { return bed.WantReason(t, app, v1beta1.ReasonReconciling) })
	bed.AwaitTargets(t, app, green...)
	stop()
	for _, key := range blue {
		call := awaitCall(t, app, "DeregisterTargets", key, switched)
		if waited := call.Received.Sub(switched); waited < timeout {
			t.Errorf("%s was deregistered after %s, want no sooner than after %s", key, waited, timeout)
		}
	}
	suite.Eventually(t, "the event", func() error { return bed.WantEvent(t, app, app.Name, corev1.EventTypeWarning, "ReplacementTimedOut") })
}

func TestServiceThatIsGoneForAWhileLosesNoRequest(t *testing.T) {
	for name, take := range takeAway {
		t.Run(name, func(t *testing.T) {
			app := suite.NewApp("gone-" + name)
			bed.Deploy(t, app)
			bed.AwaitRolled(t, app)
			bed.AwaitConverged(t, app)
			stop := bed.UnderLoad(t, app)
			begun := time.Now()
			giveBack := take(t, app)
			suite.Eventually(t, "the status to say what is missing", func() error { return bed.WantReason(t, app, v1beta1.ReasonBackendNotFound) })
			suite.Eventually(t, "the event", func() error {
				return bed.WantEvent(t, app, app.Name, corev1.EventTypeWarning, v1beta1.ReasonBackendNotFound)
			})
			suite.Throughout(t, 2*time.Second, "a target went", func() error { return bed.WantServing(app, int(app.Replicas)) })
			giveBack()
			suite.Eventually(t, "the status to say that all is well", func() error { return bed.WantReason(t, app, v1beta1.ReasonReconciled) })
			suite.Throughout(t, time.Second, "a target went", func() error { return bed.WantServing(app, int(app.Replicas)) })
			stop()
			bed.AssertUntouched(t, app, begun)
		})
	}
}

// Nobody knows whether a Service that is gone comes back. Pods that leave meanwhile do not wait for that.
func TestServiceThatIsGoneForGoodLosesItsTargets(t *testing.T) {
	const timeout = 6 * time.Second
	bed.WithFlags(t, "--replacement-timeout="+timeout.String())
	for name, take := range takeAway {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // they spend their time waiting
			app := suite.NewApp("lost-" + name)
			bed.Deploy(t, app)
			bed.AwaitRolled(t, app)
			bed.AwaitConverged(t, app)
			leaver := bed.OldestPod(t, app)
			stay := suite.KeysOf(slices.DeleteFunc(bed.Pods(t, app), func(p corev1.Pod) bool { return p.UID == leaver.UID }), 8080)
			gone := time.Now()
			take(t, app)
			suite.Eventually(t, "the status to say what is missing", func() error { return bed.WantReason(t, app, v1beta1.ReasonBackendNotFound) })
			bed.DeletePod(t, leaver)
			suite.Eventually(t, "the deleted pod's target to go", func() error {
				_, err := bed.CallFor(app, "DeregisterTargets", leaver.Status.PodIP, gone)
				return err
			})
			suite.Must(t, bed.WantTargets(app, stay...))
			bed.AwaitTargets(t, app)
			if waited := time.Since(gone); waited < timeout {
				t.Errorf("all targets were deregistered after %s, want no sooner than after %s", waited, timeout)
			}
		})
	}
}

// deployBlueAndGreen has the app's Service select its blue pods, and as many green ones beside them.
func deployBlueAndGreen(t *testing.T, app *testbed.App) (blue, green []state.Key) {
	t.Helper()
	app.Template = func(template *corev1.PodTemplateSpec) { template.Labels["color"] = "blue" }
	app.Service = func(s *corev1.Service) { s.Spec.Selector["color"] = "blue" }
	bed.Deploy(t, app)
	bed.AwaitRolled(t, app)
	bed.AwaitConverged(t, app)
	var d appsv1.Deployment
	suite.Must(t, bed.Client.Get(t.Context(), app.Key(), &d))
	second := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: app.Name, Name: app.Name + "-green"}, Spec: *d.Spec.DeepCopy()}
	second.Spec.Selector.MatchLabels["color"] = "green"
	second.Spec.Template.Labels["color"] = "green"
	bed.Create(t, second)
	suite.Eventually(t, "the green pods to be Ready", func() error {
		blue, green = nil, nil
		for _, pod := range bed.Pods(t, app) {
			key := suite.KeysOf([]corev1.Pod{pod}, 8080)[0]
			switch {
			case pod.Labels["color"] == "blue":
				blue = append(blue, key)
			case testbed.IsReady(&pod):
				green = append(green, key)
			}
		}
		if len(green) < int(app.Replicas) {
			return fmt.Errorf("%d are", len(green))
		}
		return nil
	})
	return blue, green
}

func turnTo(t *testing.T, app *testbed.App, color string) {
	t.Helper()
	bed.ChangeService(t, app, func(s *corev1.Service) { s.Spec.Selector["color"] = color })
}

// takeAway are the ways to lose what a binding refers to, and to get it back.
var takeAway = map[string]func(*testing.T, *testbed.App) (giveBack func()){"service": bed.DeleteService, "port": bed.MovePort}

// becameHealthy is when the load balancer first showed the target healthy after since.
func becameHealthy(app *testbed.App, key state.Key, since time.Time) (time.Time, error) {
	for _, event := range bed.AWS.Journal(0) {
		if event.Group == app.TargetGroup && event.Target.Key == key && event.To.State == state.Healthy && event.Time.After(since) {
			return event.Time, nil
		}
	}
	return time.Time{}, fmt.Errorf("target %s was never healthy", key)
}

// awaitCall waits for the first call of the operation that names the target after since: it is written down when it has
// been answered, which may be after its effect.
func awaitCall(t *testing.T, app *testbed.App, operation string, key state.Key, since time.Time) (found wire.Call) {
	t.Helper()
	suite.Eventually(t, operation+" of "+key.String(), func() error {
		for _, call := range bed.CallsSince(app, operation, since) {
			if slices.Contains(call.Targets, key) {
				found = call
				return nil
			}
		}
		return errors.New("there is none")
	})
	return found
}
