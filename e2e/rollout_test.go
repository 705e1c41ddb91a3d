// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

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
	"github.com/targetgate/targetgate/e2e/testbed"
)

func TestRolloutLosesNoRequest(t *testing.T) {
	app := newApp("rollout")
	deploy(t, app)
	awaitRolled(t, app)
	stop := underLoad(t, app)
	must(t, bed.Roll(t.Context(), app, "2", nil))
	awaitRolled(t, app)
	stop()
	assertOnlyLeaversDeregistered(t, app)
}

// Rules 1 and 2: registered while not Ready, Ready only after the load balancer has said healthy.
func TestRolloutOrderOfOnePod(t *testing.T) {
	app := newApp("order")
	deploy(t, app)
	awaitRolled(t, app)
	for _, pod := range pods(t, app) {
		ip := pod.Status.PodIP
		containersReady, err := momentOf(pod.UID, kubelet.ContainersReady)
		must(t, err)
		registered, err := callFor(app, "RegisterTargets", ip, time.Time{})
		must(t, err)
		healthy, err := turned(app, ip, "healthy")
		must(t, err)
		ready, err := momentOf(pod.UID, kubelet.Ready)
		must(t, err)
		if !containersReady.Before(registered.Answered) || !registered.Received.Before(healthy) || !healthy.Before(ready) {
			t.Errorf("pod %s: containers ready %s, registered %s, healthy %s, Ready %s; want them in this order",
				pod.Name, containersReady, registered.Received, healthy, ready)
		}
	}
}

// Rule 1: nobody but targetgate opens a gate.
func TestGateStaysClosedWithoutTargetgate(t *testing.T) {
	app := newApp("nobody")
	app.Replicas, app.ExplicitGate = 0, true
	deploy(t, app)
	bed.Targetgate.Stop()
	must(t, bed.Scale(t.Context(), app, 1))
	eventually(t, "a pod's containers to be ready", func() error {
		for _, pod := range pods(t, app) {
			if _, err := momentOf(pod.UID, kubelet.ContainersReady); err == nil {
				return nil
			}
		}
		return errors.New("none are")
	})
	throughout(t, 3*time.Second, "a gate opened by itself", func() error {
		for _, pod := range pods(t, app) {
			if testbed.IsReady(&pod) || gateOf(&pod, app) != "" {
				return fmt.Errorf("pod %s: Ready %v, gate %q", pod.Name, testbed.IsReady(&pod), gateOf(&pod, app))
			}
		}
		return nil
	})
	must(t, bed.Targetgate.Restart(t.Context()))
	awaitRolled(t, app)
}

func TestRolloutWaitsForUnhealthyPodAndProceedsWhenItIsHealthy(t *testing.T) {
	app := newApp("waits")
	deploy(t, app)
	awaitRolled(t, app)
	old := uids(pods(t, app))
	stop := underLoad(t, app)
	must(t, bed.Roll(t.Context(), app, "2", map[string]string{"HEALTH_STATUS": "500"}))

	eventually(t, "a new pod to be unhealthy", func() error {
		for _, pod := range newPods(t, app, old) {
			if _, err := turned(app, pod.Status.PodIP, "unhealthy"); err == nil {
				return nil
			}
		}
		return errors.New("none is")
	})
	throughout(t, 3*time.Second, "the rollout went on with an unhealthy pod", func() error { return allLive(t, app, old) })

	eventually(t, "the rollout to proceed when its pods are healthy", func() error {
		for _, pod := range newPods(t, app, old) { // each starts unhealthy
			if handle, ok := bed.Kubelet.App(app.Name, pod.Name); ok {
				handle.SetHealth(http.StatusOK)
			}
		}
		return bed.AwaitRolled(t.Context(), app, 200*time.Millisecond)
	})
	stop()
}

func TestCrashLoopingVersionNeverTakesOldPodsDown(t *testing.T) {
	tests := map[string]map[string]string{
		"before-it-listens":    {"STARTUP_DELAY": "1h", "CRASH_AFTER": "300ms"},
		"before-it-is-healthy": {"HEALTH_STATUS": "503", "CRASH_AFTER": "300ms"},
	}
	for name, env := range tests {
		t.Run(name, func(t *testing.T) { crashLoop(t, newApp("crashes-"+name), env) })
	}
}

func crashLoop(t *testing.T, app *testbed.App, env map[string]string) {
	deploy(t, app)
	awaitRolled(t, app)
	old := uids(pods(t, app))
	stop := underLoad(t, app)
	must(t, bed.Roll(t.Context(), app, "2", env))
	eventually(t, "a new pod to crash twice", func() error {
		for _, pod := range newPods(t, app, old) {
			if len(pod.Status.ContainerStatuses) > 0 && pod.Status.ContainerStatuses[0].RestartCount >= 2 {
				return nil
			}
		}
		return errors.New("none has")
	})
	must(t, allLive(t, app, old))
	stop()
	assertOnlyLeaversDeregistered(t, app)
}

func TestHealthCheckThatComesLateHoldsTheGate(t *testing.T) {
	app := newApp("late")
	app.HealthCheck = state.HealthCheck{Interval: 60, Timeout: 5, Path: "/healthz"} // first check after 10 s, 1 s here
	app.Env = map[string]string{"HEALTH_STATUS": "503"}
	app.Replicas = 1
	deploy(t, app)
	eventually(t, "AWS's reason in the condition", func() error {
		for _, pod := range pods(t, app) {
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

func uids(list []corev1.Pod) map[types.UID]string {
	out := map[types.UID]string{}
	for _, pod := range list {
		out[pod.UID] = pod.Name
	}
	return out
}

// newPods are the pods that are not in old.
func newPods(t *testing.T, app *testbed.App, old map[types.UID]string) []corev1.Pod {
	t.Helper()
	var out []corev1.Pod
	for _, pod := range pods(t, app) {
		if _, known := old[pod.UID]; !known {
			out = append(out, pod)
		}
	}
	return out
}

// allLive is an error when one of the pods has gone or goes.
func allLive(t *testing.T, app *testbed.App, want map[types.UID]string) error {
	t.Helper()
	live := map[types.UID]bool{}
	for _, pod := range pods(t, app) {
		live[pod.UID] = pod.DeletionTimestamp == nil && testbed.IsReady(&pod)
	}
	for uid, name := range want {
		if !live[uid] {
			return fmt.Errorf("old pod %s is not live any more", name)
		}
	}
	return nil
}
