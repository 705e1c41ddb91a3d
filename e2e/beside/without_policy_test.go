// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package beside

import (
	"fmt"
	"slices"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/targetgate/targetgate/e2e/incumbent"
	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/e2e/testbed"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// Somebody deletes the policy, and the incumbent works on a binding of targetgate's. It goes on once the policy is there again, because it
// has its finalizer, until targetgate takes that, after a minute in which nothing happened.
func TestTargetgateStopsWhileThereIsNoPolicy(t *testing.T) {
	app := newApp("unfenced")
	deployOurs(t, app)
	stop := bed.UnderLoadOf(t, app, 50)
	deletePolicy(t)
	suite.Eventually(t, "the incumbent to work on the binding", func() error {
		bed.ChangeService(t, app, func(s *corev1.Service) { s.Annotations = map[string]string{"touched": time.Now().String()} })
		if got := bed.GetBinding(t, app).Finalizers; !slices.Contains(got, v1beta1.Finalizer) {
			return fmt.Errorf("finalizers %v", got)
		}
		return nil
	})
	suite.Must(t, bed.Cluster.Apply(t.Context(), bed.Rendered("beside.yaml")))
	awaitPolicy(t, "policy-restored")
	t.Parallel() // what follows needs nothing of the bed for itself

	suite.Eventually(t, "the alarm", func() error { return bed.WantDegraded(t, app, v1beta1.ReasonTwoControllers) })
	alarmed := time.Now()
	suite.Eventually(t, "a Warning", func() error { return bed.WantEvent(t, app, app.Name, "Warning", v1beta1.ReasonTwoControllers) })
	suite.Must(t, bed.Scale(t.Context(), app, 4))
	bed.AwaitRolled(t, app)
	suite.Eventually(t, "the incumbent to register", func() error {
		if len(callsOf(app, incumbent.AccessKey, alarmed, "RegisterTargets")) == 0 {
			return fmt.Errorf("no call")
		}
		return bed.WantHealthy(app, suite.KeysOf(live(t, app), 8080)...)
	})
	settled := time.Now()
	suite.Eventually(t, "targetgate alone to have the binding", func() error { return wantOurs(t, app) })
	recovered := time.Now()
	if quiet := recovered.Sub(settled); quiet < 50*time.Second {
		t.Errorf("targetgate goes on %s after the incumbent's last call", quiet)
	}
	assertNoCallsBetween(t, app, alarmed, recovered)
	suite.Eventually(t, "the end of the alarm", func() error {
		c := apimeta.FindStatusCondition(bed.GetBinding(t, app).Status.Conditions, v1beta1.ConditionDegraded)
		if c == nil || c.Status != metav1.ConditionFalse {
			return fmt.Errorf("condition %+v", c)
		}
		return nil
	})
	suite.Must(t, bed.Scale(t.Context(), app, 3))
	bed.AwaitRolled(t, app)
	awaitOurs(t, app)
	stop()
	assertNoCalls(t, app, incumbent.AccessKey, recovered)
	bed.AssertOnlyLeaversDeregistered(t, app)
}

// assertNoCallsBetween fails when targetgate has registered or deregistered then.
func assertNoCallsBetween(t *testing.T, app *testbed.App, from, to time.Time) {
	t.Helper()
	for _, call := range callsOf(app, bed.AccessKey(), from, "RegisterTargets", "DeregisterTargets") {
		if call.Received.Before(to) {
			t.Errorf("targetgate called %s of %v at %s", call.Operation, call.Targets, call.Received.UTC())
		}
	}
}

func deletePolicy(t *testing.T) {
	t.Helper()
	meta := metav1.ObjectMeta{Name: "targetgate-beside"}
	suite.Must(t, bed.Client.Delete(t.Context(), &admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: meta}))
	suite.Must(t, bed.Client.Delete(t.Context(), &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: meta}))
}
