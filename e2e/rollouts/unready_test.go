// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package rollouts

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/e2e/testbed"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// beyondPause is longer than a pod has to be unready for its target to go, 10 s of targetgate's own time.
const beyondPause = 13 * time.Second

// Rule 6: a dependency that all pods ask for in their readiness probes is down. The app itself works.
func TestReadinessProbesThatAllFailTakeNoPodOutOfTraffic(t *testing.T) {
	app := suite.NewApp("allunready")
	bed.Deploy(t, app)
	bed.AwaitRolled(t, app)
	bed.AwaitConverged(t, app)
	stop := bed.UnderLoad(t, app)
	begun := time.Now()
	setReady(t, app, false, bed.Pods(t, app)...)
	awaitNoneReady(t, app)
	suite.Throughout(t, beyondPause, "the load balancer lost a target", func() error { return bed.WantServing(app, int(app.Replicas)) })
	suite.Must(t, bed.WantDegraded(t, app, v1beta1.ReasonUnreadyPodsKept))
	suite.Must(t, bed.WantEvent(t, app, app.Name, corev1.EventTypeWarning, v1beta1.ReasonUnreadyPodsKept))

	setReady(t, app, true, bed.Pods(t, app)...)
	bed.AwaitRolled(t, app)
	suite.Eventually(t, "the status to say that all is well", func() error {
		if err := bed.WantDegraded(t, app, v1beta1.ReasonUnreadyPodsKept); err == nil {
			return fmt.Errorf("Degraded is still True")
		}
		return bed.WantReason(t, app, v1beta1.ReasonReconciled)
	})
	stop()
	bed.AssertUntouched(t, app, begun)
}

func TestPodThatIsUnreadyLeavesAndComesBack(t *testing.T) {
	const pause = 10 * time.Second
	app := suite.NewApp("oneunready")
	bed.Deploy(t, app)
	bed.AwaitRolled(t, app)
	bed.AwaitConverged(t, app)
	list := bed.Pods(t, app)
	all := suite.KeysOf(list, 8080)
	stop := bed.UnderLoad(t, app)
	begun := time.Now()
	setReady(t, app, false, list[0])
	left := awaitCall(t, app, "DeregisterTargets", all[0], begun).Received.Sub(begun)
	if left < pause || left > pause+5*time.Second {
		t.Errorf("the target was deregistered after %s, want some %s", left, pause)
	}
	bed.AwaitHealthy(t, app, all[1:]...)
	setReady(t, app, true, list[0])
	bed.AwaitHealthy(t, app, all...)
	stop()
}

// A pod that is unready for a moment, as all are now and then, is left alone.
func TestPodThatIsUnreadyForAMomentStays(t *testing.T) {
	app := suite.NewApp("blinks")
	bed.Deploy(t, app)
	bed.AwaitRolled(t, app)
	bed.AwaitConverged(t, app)
	begun, list := time.Now(), bed.Pods(t, app)
	for range 2 {
		setReady(t, app, false, list[0])
		suite.Eventually(t, "the pod to be unready", func() error {
			if testbed.IsReady(&bed.Pods(t, app)[0]) {
				return fmt.Errorf("it is Ready")
			}
			return nil
		})
		suite.Throughout(t, 6*time.Second, "the load balancer lost a target", func() error { return bed.WantServing(app, int(app.Replicas)) })
		setReady(t, app, true, list[0])
		bed.AwaitRolled(t, app)
	}
	bed.AssertUntouched(t, app, begun)
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
	suite.Eventually(t, "all pods to be unready", func() error {
		for _, pod := range bed.Pods(t, app) {
			if testbed.IsReady(&pod) {
				return fmt.Errorf("%s is Ready", pod.Name)
			}
		}
		return nil
	})
}
