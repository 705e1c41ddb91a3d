// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/targetgate/targetgate/e2e/emulator/wire"
	"github.com/targetgate/targetgate/e2e/kubelet"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// Rule 5: long before its preStop ends.
func TestDeletedPodIsDeregisteredBeforePreStopEnds(t *testing.T) {
	app := newApp("leaves")
	deploy(t, app)
	awaitRolled(t, app)
	pod := pods(t, app)[0]
	stop := underLoad(t, app)
	deletePod(t, &pod)
	eventually(t, "preStop to end", func() error {
		_, err := momentOf(pod.UID, kubelet.PreStopEnd)
		return err
	})
	deleted, err := momentOf(pod.UID, kubelet.DeletionSeen)
	must(t, err)
	call, err := callFor(app, "DeregisterTargets", pod.Status.PodIP, time.Time{})
	must(t, err)
	if took := call.Answered.Sub(deleted); took > time.Second {
		t.Errorf("deregistered %s after the deletion, want at once", took)
	}
	awaitRolled(t, app)
	stop()
}

// Rule 5: while a registration of the same group hangs.
func TestDeregistrationWaitsForNoRegistration(t *testing.T) {
	app := newApp("hangs")
	deploy(t, app)
	awaitRolled(t, app)
	heal := bed.AWS.Inject(wire.Fault{Operation: "RegisterTargets", TargetGroup: app.TargetGroup, Hang: 5 * time.Second})
	defer heal()
	begun := time.Now()
	must(t, bed.Roll(t.Context(), app, "2", nil))
	eventually(t, "a new pod whose registration hangs", func() error {
		if n := len(pods(t, app)); n <= int(app.Replicas) {
			return fmt.Errorf("%d pods", n)
		}
		for _, pod := range pods(t, app) {
			if at, err := momentOf(pod.UID, kubelet.ContainersReady); err == nil && at.After(begun) {
				return nil
			}
		}
		return errors.New("no new pod's containers are ready")
	})
	pod := oldestPod(t, app)
	deletePod(t, pod)
	eventually(t, "the deregistration", func() error {
		_, err := callFor(app, "DeregisterTargets", pod.Status.PodIP, begun)
		return err
	})
	if hanging := calls(app, "RegisterTargets"); hanging[len(hanging)-1].Received.After(begun) {
		t.Error("the registration was answered before the deregistration: the test proves nothing")
	}
	heal()
	awaitRolled(t, app)
}

func TestDeletedBindingDeregistersOpensAndReleases(t *testing.T) {
	app := newApp("unbound")
	deploy(t, app)
	awaitRolled(t, app)
	must(t, bed.Roll(t.Context(), app, "2", map[string]string{"HEALTH_STATUS": "500"})) // a gate that would stay closed
	eventually(t, "a pod to wait at its gate", func() error {
		for _, pod := range pods(t, app) {
			if gateOf(&pod, app) == "False" {
				return nil
			}
		}
		return errors.New("none does")
	})
	must(t, bed.Client.Delete(t.Context(), getBinding(t, app)))
	eventually(t, "the binding to be gone", func() error {
		err := bed.Client.Get(t.Context(), app.Key(), &v1beta1.TargetGroupBinding{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("getting it: %w", err)
	})
	registered := registeredTargets(t, app)
	if len(registered) > 0 {
		t.Errorf("still registered: %v", registered)
	}
	awaitRolled(t, app) // with every gate open
}
