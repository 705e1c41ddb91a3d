// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/targetgate/targetgate/e2e/testbed"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// beyondPause is longer than a pod has to be unready for its target to go, 10 s of targetgate's own time.
const beyondPause = 13 * time.Second

// Rule 6: a dependency that all pods ask for in their readiness probes is down. The app itself works.
func TestReadinessProbesThatAllFailTakeNoPodOutOfTraffic(t *testing.T) {
	app := newApp("allunready")
	deploy(t, app)
	awaitRolled(t, app)
	awaitConverged(t, app)
	stop := underLoad(t, app)
	begun := time.Now()
	setReady(t, app, false, pods(t, app)...)
	awaitNoneReady(t, app)
	throughout(t, beyondPause, "the load balancer lost a target", func() error { return serving(app, int(app.Replicas)) })
	must(t, wantDegraded(t, app, v1beta1.ReasonUnreadyPodsKept))
	must(t, wantEvent(t, app, app.Name, corev1.EventTypeWarning, v1beta1.ReasonUnreadyPodsKept))

	setReady(t, app, true, pods(t, app)...)
	awaitRolled(t, app)
	eventually(t, "the status to say that all is well", func() error {
		if err := wantDegraded(t, app, v1beta1.ReasonUnreadyPodsKept); err == nil {
			return fmt.Errorf("Degraded is still True")
		}
		return wantReason(t, app, v1beta1.ReasonReconciled)
	})
	stop()
	assertUntouched(t, app, begun)
}

func TestPodThatIsUnreadyLeavesAndComesBack(t *testing.T) {
	const pause = 10 * time.Second
	app := newApp("oneunready")
	deploy(t, app)
	awaitRolled(t, app)
	awaitConverged(t, app)
	list := pods(t, app)
	all := keysOf(list, 8080)
	stop := underLoad(t, app)
	begun := time.Now()
	setReady(t, app, false, list[0])
	left := awaitCall(t, app, "DeregisterTargets", all[0], begun).Received.Sub(begun)
	if left < pause || left > pause+5*time.Second {
		t.Errorf("the target was deregistered after %s, want some %s", left, pause)
	}
	awaitHealthy(t, app, all[1:]...)
	setReady(t, app, true, list[0])
	awaitHealthy(t, app, all...)
	stop()
}

// A pod that is unready for a moment, as all are now and then, is left alone.
func TestPodThatIsUnreadyForAMomentStays(t *testing.T) {
	app := newApp("blinks")
	deploy(t, app)
	awaitRolled(t, app)
	awaitConverged(t, app)
	begun, list := time.Now(), pods(t, app)
	for range 2 {
		setReady(t, app, false, list[0])
		eventually(t, "the pod to be unready", func() error {
			if testbed.IsReady(&pods(t, app)[0]) {
				return fmt.Errorf("it is Ready")
			}
			return nil
		})
		throughout(t, 6*time.Second, "the load balancer lost a target", func() error { return serving(app, int(app.Replicas)) })
		setReady(t, app, true, list[0])
		awaitRolled(t, app)
	}
	assertUntouched(t, app, begun)
}

// setReady decides what the pods' readiness probes find.
func setReady(t *testing.T, app *testbed.App, ready bool, list ...corev1.Pod) {
	t.Helper()
	for _, pod := range list {
		handle, ok := bed.Kubelet.App(app.Name, pod.Name)
		if !ok {
			t.Fatalf("pod %s has not started", pod.Name)
		}
		handle.SetReady(ready)
	}
}

func awaitNoneReady(t *testing.T, app *testbed.App) {
	t.Helper()
	eventually(t, "all pods to be unready", func() error {
		for _, pod := range pods(t, app) {
			if testbed.IsReady(&pod) {
				return fmt.Errorf("%s is Ready", pod.Name)
			}
		}
		return nil
	})
}
