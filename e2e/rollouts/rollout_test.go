// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package rollouts

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/targetgate/targetgate/e2e/emulator/state"
	"github.com/targetgate/targetgate/e2e/kubelet"
	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/e2e/testbed"
)

func TestRolloutLosesNoRequest(t *testing.T) {
	app := suite.NewApp("rollout")
	bed.Deploy(t, app)
	bed.AwaitRolled(t, app)
	stop := bed.UnderLoad(t, app)
	suite.Must(t, bed.Roll(t.Context(), app, "2", nil))
	bed.AwaitRolled(t, app)
	stop()
	bed.AssertOnlyLeaversDeregistered(t, app)
}

// Rules 1 and 2: registered while not Ready, Ready only after the load balancer has said healthy.
func TestRolloutOrderOfOnePod(t *testing.T) {
	app := suite.NewApp("order")
	bed.Deploy(t, app)
	bed.AwaitRolled(t, app)
	for _, pod := range bed.Pods(t, app) {
		ip := pod.Status.PodIP
		containersReady, err := bed.MomentOf(pod.UID, kubelet.ContainersReady)
		suite.Must(t, err)
		registered, err := bed.CallFor(app, "RegisterTargets", ip, time.Time{})
		suite.Must(t, err)
		healthy, err := bed.Turned(app, ip, "healthy")
		suite.Must(t, err)
		ready, err := bed.MomentOf(pod.UID, kubelet.Ready)
		suite.Must(t, err)
		if !containersReady.Before(registered.Answered) || !registered.Received.Before(healthy) || !healthy.Before(ready) {
			t.Errorf("pod %s: containers ready %s, registered %s, healthy %s, Ready %s; want them in this order",
				pod.Name, containersReady, registered.Received, healthy, ready)
		}
	}
}

// Rule 1: nobody but targetgate opens a gate.
func TestGateStaysClosedWithoutTargetgate(t *testing.T) {
	app := suite.NewApp("nobody")
	app.Replicas, app.ExplicitGate = 0, true
	bed.Deploy(t, app)
	bed.Targetgate.Stop()
	suite.Must(t, bed.Scale(t.Context(), app, 1))
	suite.Eventually(t, "a pod's containers to be ready", func() error {
		for _, pod := range bed.Pods(t, app) {
			if _, err := bed.MomentOf(pod.UID, kubelet.ContainersReady); err == nil {
				return nil
			}
		}
		return errors.New("none are")
	})
	suite.Throughout(t, 3*time.Second, "a gate opened by itself", func() error {
		for _, pod := range bed.Pods(t, app) {
			if testbed.IsReady(&pod) || suite.GateOf(&pod, app) != "" {
				return fmt.Errorf("pod %s: Ready %v, gate %q", pod.Name, testbed.IsReady(&pod), suite.GateOf(&pod, app))
			}
		}
		return nil
	})
	suite.Must(t, bed.Targetgate.Restart(t.Context()))
	bed.AwaitRolled(t, app)
}

func TestRolloutWaitsForUnhealthyPodAndProceedsWhenItIsHealthy(t *testing.T) {
	app := suite.NewApp("waits")
	bed.Deploy(t, app)
	bed.AwaitRolled(t, app)
	old := suite.UIDs(bed.Pods(t, app))
	stop := bed.UnderLoad(t, app)
	suite.Must(t, bed.Roll(t.Context(), app, "2", map[string]string{"HEALTH_STATUS": "500"}))

	suite.Eventually(t, "a new pod to be unhealthy", func() error {
		for _, pod := range bed.NewPods(t, app, old) {
			if _, err := bed.Turned(app, pod.Status.PodIP, "unhealthy"); err == nil {
				return nil
			}
		}
		return errors.New("none is")
	})
	suite.Throughout(t, 3*time.Second, "the rollout went on with an unhealthy pod", func() error { return allLive(t, app, old) })

	suite.Eventually(t, "the rollout to proceed when its pods are healthy", func() error {
		for _, pod := range bed.NewPods(t, app, old) { // each starts unhealthy
			if handle, ok := bed.Kubelet.App(app.Name, pod.Name); ok {
				handle.SetHealth(http.StatusOK)
			}
		}
		return bed.Bed.AwaitRolled(t.Context(), app, 200*time.Millisecond)
	})
	stop()
}

func TestCrashLoopingVersionNeverTakesOldPodsDown(t *testing.T) {
	tests := map[string]map[string]string{
		"before-it-listens":    {"STARTUP_DELAY": "1h", "CRASH_AFTER": "300ms"},
		"before-it-is-healthy": {"HEALTH_STATUS": "503", "CRASH_AFTER": "300ms"},
	}
	for name, env := range tests {
		t.Run(name, func(t *testing.T) { crashLoop(t, suite.NewApp("crashes-"+name), env) })
	}
}

func crashLoop(t *testing.T, app *testbed.App, env map[string]string) {
	bed.Deploy(t, app)
	bed.AwaitRolled(t, app)
	old := suite.UIDs(bed.Pods(t, app))
	stop := bed.UnderLoad(t, app)
	suite.Must(t, bed.Roll(t.Context(), app, "2", env))
	suite.Eventually(t, "a new pod to crash twice", func() error {
		for _, pod := range bed.NewPods(t, app, old) {
			if len(pod.Status.ContainerStatuses) > 0 && pod.Status.ContainerStatuses[0].RestartCount >= 2 {
				return nil
			}
		}
		return errors.New("none has")
	})
	suite.Must(t, allLive(t, app, old))
	stop()
	bed.AssertOnlyLeaversDeregistered(t, app)
}

func TestHealthCheckThatComesLateHoldsTheGate(t *testing.T) {
	app := suite.NewApp("late")
	app.HealthCheck = state.HealthCheck{Interval: 60, Timeout: 5, Path: "/healthz"} // first check after 10 s, 1 s here
	app.Env = map[string]string{"HEALTH_STATUS": "503"}
	app.Replicas = 1
	bed.Deploy(t, app)
	suite.Eventually(t, "AWS's reason in the condition", func() error {
		for _, pod := range bed.Pods(t, app) {
			for _, c := range pod.Status.Conditions {
				if c.Type == app.Gate() && c.Reason == "Target.ResponseCodeMismatch" &&
					strings.HasPrefix(c.Message, "Health checks failed with these codes: [503] (since ") && c.Status == corev1.ConditionFalse {
					return nil
				}
			}
		}
		return errors.New("no pod has it")
	})
}

// allLive is an error when one of the pods has gone or goes.
func allLive(t *testing.T, app *testbed.App, want map[types.UID]string) error {
	t.Helper()
	live := map[types.UID]bool{}
	for _, pod := range bed.Pods(t, app) {
		live[pod.UID] = pod.DeletionTimestamp == nil && testbed.IsReady(&pod)
	}
	for uid, name := range want {
		if !live[uid] {
			return fmt.Errorf("old pod %s is not live any more", name)
		}
	}
	return nil
}
