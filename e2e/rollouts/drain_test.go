// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package rollouts

import (
	"errors"
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/targetgate/targetgate/e2e/emulator/wire"
	"github.com/targetgate/targetgate/e2e/kubelet"
	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// Rule 5: long before its preStop ends.
func TestDeletedPodIsDeregisteredBeforePreStopEnds(t *testing.T) {
	app := suite.NewApp("leaves")
	bed.Deploy(t, app)
	bed.AwaitRolled(t, app)
	pod := bed.Pods(t, app)[0]
	stop := bed.UnderLoad(t, app)
	bed.DeletePod(t, &pod)
	suite.Eventually(t, "preStop to end", func() error {
		_, err := bed.MomentOf(pod.UID, kubelet.PreStopEnd)
		return err
	})
	deleted, err := bed.MomentOf(pod.UID, kubelet.DeletionSeen)
	suite.Must(t, err)
	call, err := bed.CallFor(app, "DeregisterTargets", pod.Status.PodIP, time.Time{})
	suite.Must(t, err)
	if took := call.Answered.Sub(deleted); took > time.Second {
		t.Errorf("deregistered %s after the deletion, want at once", took)
	}
	bed.AwaitRolled(t, app)
	stop()
}

// Rule 5: while a registration of the same group hangs.
func TestDeregistrationWaitsForNoRegistration(t *testing.T) {
	app := suite.NewApp("hangs")
	bed.Deploy(t, app)
	bed.AwaitRolled(t, app)
	heal := bed.AWS.Inject(wire.Fault{Operation: "RegisterTargets", TargetGroup: app.TargetGroup, Hang: 5 * time.Second})
	defer heal()
	begun := time.Now()
	suite.Must(t, bed.Roll(t.Context(), app, "2", nil))
	suite.Eventually(t, "a new pod whose registration hangs", func() error {
		if n := len(bed.Pods(t, app)); n <= int(app.Replicas) {
			return fmt.Errorf("%d pods", n)
		}
		for _, pod := range bed.Pods(t, app) {
			if at, err := bed.MomentOf(pod.UID, kubelet.ContainersReady); err == nil && at.After(begun) {
				return nil
			}
		}
		return errors.New("no new pod's containers are ready")
	})
	pod := bed.OldestPod(t, app)
	bed.DeletePod(t, pod)
	suite.Eventually(t, "the deregistration", func() error {
		_, err := bed.CallFor(app, "DeregisterTargets", pod.Status.PodIP, begun)
		return err
	})
	if hanging := bed.Calls(app, "RegisterTargets"); hanging[len(hanging)-1].Received.After(begun) {
		t.Error("the registration was answered before the deregistration: the test proves nothing")
	}
	heal()
	bed.AwaitRolled(t, app)
}

func TestDeletedBindingDeregistersOpensAndReleases(t *testing.T) {
	app := suite.NewApp("unbound")
	bed.Deploy(t, app)
	bed.AwaitRolled(t, app)
	suite.Must(t, bed.Roll(t.Context(), app, "2", map[string]string{"HEALTH_STATUS": "500"})) // a gate that would stay closed
	suite.Eventually(t, "a pod to wait at its gate", func() error {
		for _, pod := range bed.Pods(t, app) {
			if suite.GateOf(&pod, app) == "False" {
				return nil
			}
		}
		return errors.New("none does")
	})
	suite.Must(t, bed.Client.Delete(t.Context(), bed.GetBinding(t, app)))
	suite.Eventually(t, "the binding to be gone", func() error {
		err := bed.Client.Get(t.Context(), app.Key(), &v1beta1.TargetGroupBinding{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("getting it: %w", err)
	})
	registered := bed.RegisteredTargets(t, app)
	if len(registered) > 0 {
		t.Errorf("still registered: %v", registered)
	}
	bed.AwaitRolled(t, app) // with every gate open
}
