// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package gates

import (
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/e2e/kubelet"
	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/e2e/testbed"
	"github.com/targetgate/targetgate/readiness"
)

// Rule 2: the address of a pod that vanished goes to the next one, whose gate waits for its own registration.
func TestReusedAddressDoesNotInheritHealth(t *testing.T) {
	app := suite.NewApp("reused")
	app.Replicas, app.Node = 0, "node-1" // which has the address
	bed.Deploy(t, app)
	first := createReady(t, app, "first")
	suite.Must(t, bed.Kubelet.ForceAddress(client.ObjectKeyFromObject(app.Pod("second")), first.Status.PodIP))
	bed.DeletePod(t, first, client.GracePeriodSeconds(0))
	suite.Eventually(t, "the first pod to be gone", func() error {
		_, err := bed.MomentOf(first.UID, kubelet.Gone)
		return err
	})
	vanished := time.Now()
	second := createReady(t, app, "second")
	if second.Status.PodIP != first.Status.PodIP {
		t.Fatalf("the second pod has address %s, want %s", second.Status.PodIP, first.Status.PodIP)
	}
	call, err := bed.CallFor(app, "RegisterTargets", second.Status.PodIP, vanished)
	suite.Must(t, err)
	opened := readiness.Condition(second, app.Gate()).LastTransitionTime
	if opened.Add(time.Second).Before(call.Answered) { // the API server keeps whole seconds
		t.Errorf("the gate was opened at %s, the target registered at %s", opened, call.Answered)
	}
}

// createReady creates a gated pod of the app by itself and waits until it is Ready.
func createReady(t *testing.T, app *testbed.App, name string) *corev1.Pod {
	t.Helper()
	pod := app.Pod(name)
	suite.Eventually(t, "pod "+name+" to be created with its gate", func() error {
		if err := bed.Client.Create(t.Context(), pod); err != nil {
			pod = app.Pod(name)
			return err
		}
		return nil
	})
	suite.Eventually(t, "pod "+name+" to be Ready", func() error {
		if err := bed.Client.Get(t.Context(), client.ObjectKeyFromObject(pod), pod); err != nil {
			return err
		}
		if !readiness.Has(pod, app.Gate()) || !testbed.IsReady(pod) {
			return errors.New("it is not")
		}
		return nil
	})
	return pod
}

// Rule 2: the API server refuses to write to a pod that was created again under the same name.
func TestConditionIsNotWrittenToPodOfSameName(t *testing.T) {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "recreated"}}
	suite.Must(t, bed.Client.Create(t.Context(), namespace))
	gate := readiness.GateFor("web")
	newPod := func() *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "recreated", Name: "web-0"},
			Spec: corev1.PodSpec{
				ReadinessGates:               []corev1.PodReadinessGate{{ConditionType: gate}},
				Containers:                   []corev1.Container{{Name: "web", Image: "web"}},
				AutomountServiceAccountToken: ptr.To(false),
				NodeName:                     "nowhere", // so that no kubelet has a hand in it
			},
		}
	}
	first, second := newPod(), newPod()
	suite.Eventually(t, "the namespace to take pods", func() error { return bed.Client.Create(t.Context(), first) })
	bed.DeletePod(t, first, client.GracePeriodSeconds(0))
	suite.Must(t, bed.Client.Create(t.Context(), second))

	writer := readiness.Writer{Client: bed.Client.Status(), Clock: clock.RealClock{}}
	wrote, err := writer.Set(t.Context(), first, gate, readiness.BindingDeleted())
	if wrote != "" || err != nil {
		t.Errorf("writing to the first pod: version %q, error %v; want neither", wrote, err)
	}
	var now corev1.Pod
	suite.Must(t, bed.Client.Get(t.Context(), client.ObjectKeyFromObject(second), &now))
	if c := readiness.Condition(&now, gate); c != nil {
		t.Errorf("the second pod inherited %+v", c)
	}
	if wrote, err := writer.Set(t.Context(), second, gate, readiness.BindingDeleted()); wrote == "" || err != nil {
		t.Errorf("writing to the second pod: version %q, error %v; want it written", wrote, err)
	}
}
