// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package gates

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/targetgate/targetgate/e2e/suite"
)

// Times are targetgate's own and not scaled; that of --readiness-timeout is longer than all but its own test take.
func TestGatesFollowFlags(t *testing.T) {
	bed.WithFlags(t, "--replacement-timeout=5s", "--unattached-target-group=wait", "--readiness-timeout=30s", "--readiness-two-way")
	sideBySide(t, map[string]func(*testing.T){
		"Service is gone": func(t *testing.T) {
			app := newSick("serviceless")
			pod := deploySick(t, app)
			bed.DeleteService(t, app)
			awaitOpened(t, app, pod.Name, "BackendNotFound", `Service "serviceless" does not exist`)
		},
		"Service port is gone": func(t *testing.T) {
			app := newSick("portless")
			pod := deploySick(t, app)
			bed.MovePort(t, app)
			awaitOpened(t, app, pod.Name, "BackendNotFound", `Service "portless" has no port "80"`)
		},
		"target is not healthy in time": func(t *testing.T) {
			app := newSick("impatient")
			pod := deploySick(t, app)
			awaitGate(t, app, pod.Name, open("ReadinessTimeout",
				"Not healthy within --readiness-timeout=30s: Target.ResponseCodeMismatch "+sickWords))
			call, err := bed.CallFor(app, "RegisterTargets", pod.Status.PodIP, time.Time{})
			suite.Must(t, err)
			if waited := time.Since(call.Answered); waited < 30*time.Second {
				t.Errorf("the gate was opened after %s", waited)
			}
			suite.Eventually(t, "the event", func() error {
				return wantNote(t, app, pod.Name, corev1.EventTypeWarning, "ReadinessTimeout",
					fmt.Sprintf("Readiness gate %s is open although target %s:8080 is not healthy: ", app.Gate(), pod.Status.PodIP))
			})
			bed.AwaitRolled(t, app)
			suite.Throughout(t, 2*time.Second, "the gate was closed again", func() error {
				return wantGate(t, pod, app.Gate(), open("ReadinessTimeout", ""))
			})
		},
		"no load balancer has the group, for a while": func(t *testing.T) {
			const words = "Target group is not configured to receive traffic from the load balancer"
			app := suite.NewApp("attached-late")
			app.Replicas = 0
			bed.Deploy(t, app)
			attach := detach(t, app)
			suite.Must(t, bed.Scale(t.Context(), app, 1))
			pod := awaitPod(t, app)
			awaitGate(t, app, pod.Name, closed("Target.NotInUse", words+" (since "))
			suite.Eventually(t, "the event", func() error {
				return wantNote(t, app, pod.Name, corev1.EventTypeWarning, "ReadinessGateWaiting", "Target.NotInUse: "+words)
			})
			suite.Must(t, wantGate(t, pod, app.Gate(), closed("Target.NotInUse", words)))
			attach()
			awaitHealthyGate(t, app, pod.Name)
		},
		"gates are closed again": gatesAreClosedAgain,
	})
}

// Half of the pods may be NotReady for the load balancer's sake, and no more.
func gatesAreClosedAgain(t *testing.T) {
	const words = "Health checks failed with these codes: [500]"
	app := suite.NewApp("two-way")
	app.Replicas = 4
	bed.Deploy(t, app)
	bed.AwaitRolled(t, app)
	list := bed.Pods(t, app)
	sicken := func(pod corev1.Pod, status int) {
		handle, ok := bed.Kubelet.App(app.Name, pod.Name)
		if !ok {
			t.Fatalf("pod %s has not started", pod.Name)
		}
		handle.SetHealth(status)
	}
	for _, pod := range list[:2] {
		sicken(pod, 500)
	}
	for _, pod := range list[:2] {
		awaitGate(t, app, pod.Name, closed("Target.ResponseCodeMismatch", words))
		suite.Eventually(t, "the event", func() error {
			return wantNote(t, app, pod.Name, corev1.EventTypeWarning, "ReadinessGateClosed", "is closed: Target.ResponseCodeMismatch: "+words)
		})
	}
	sicken(list[2], 500)
	suite.Eventually(t, "three targets to be known as unhealthy", func() error {
		if n := bed.GetBinding(t, app).Status.Targets; n == nil || n.Unhealthy != 3 {
			return fmt.Errorf("targets %+v", n)
		}
		return nil
	})
	suite.Throughout(t, 2*time.Second, "too many gates were closed", func() error {
		for _, pod := range list[2:] {
			if err := wantGate(t, &pod, app.Gate(), open("", "")); err != nil {
				return err
			}
		}
		return nil
	})
	for _, pod := range list {
		sicken(pod, 200)
	}
	for _, pod := range list {
		awaitHealthyGate(t, app, pod.Name)
	}
	bed.AwaitRolled(t, app)
}
