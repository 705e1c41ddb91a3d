// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package gates

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/e2e/emulator/state"
	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/e2e/testbed"
	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// Rule 8. AWS refuses a whole call because of one target; 8 calls of halves find it, and 8 more bring the others in.
func TestOneRefusedTargetOf200IsNamedAndTheOthersAreRegistered(t *testing.T) {
	const all, publicAddress, fewCalls = 200, "8.8.8.8", 20
	app := suite.NewApp("one-of-200")
	app.Replicas, app.ExplicitGate = 0, true
	app.Service = func(s *corev1.Service) { s.Spec.Selector = nil }
	bed.Deploy(t, app)
	list := bed.PretendPods(t, app, all, func(i int) string {
		if i == 77 {
			return publicAddress
		}
		return fmt.Sprintf("10.62.%d.%d", 1+i/100, 1+i%100)
	})
	odd := list[77]
	begun := time.Now()
	bed.WriteSlice(t, app, "by-hand", suite.SliceEndpoints(list)...)

	suite.Eventually(t, "199 targets", func() error {
		if n := len(bed.RegisteredTargets(t, app)); n != all-1 {
			return fmt.Errorf("%d are registered", n)
		}
		return nil
	})
	suite.Eventually(t, "the status to name the one", func() error {
		c := apimeta.FindStatusCondition(bed.GetBinding(t, app).Status.Conditions, v1beta1.ConditionDegraded)
		if c == nil || c.Reason != v1beta1.ReasonTargetsRefused || !strings.Contains(c.Message, publicAddress) ||
			!strings.Contains(c.Message, "InvalidTarget") || strings.Contains(c.Message, "10.62.") {
			return fmt.Errorf("condition %+v", c)
		}
		return nil
	})
	if n := len(bed.CallsSince(app, "RegisterTargets", begun)); n > fewCalls {
		t.Errorf("%d calls to find one target of %d, want at most %d", n, all, fewCalls)
	}
	suite.Eventually(t, "the pod to say why", func() error {
		suite.Must(t, bed.Client.Get(t.Context(), client.ObjectKeyFromObject(&odd), &odd))
		c := readiness.Condition(&odd, app.Gate())
		if c == nil || c.Status != corev1.ConditionFalse || !strings.Contains(c.Message, "InvalidTarget") {
			return fmt.Errorf("condition %+v", c)
		}
		return bed.WantEvent(t, app, odd.Name, corev1.EventTypeWarning, c.Reason)
	})
	suite.Eventually(t, "the retries of the one to be rare", func() error { return wantRetryAlone(app, publicAddress, begun) })
	var events eventsv1.EventList
	suite.Must(t, bed.Client.List(t.Context(), &events, client.InNamespace(app.Name)))
	for _, event := range events.Items {
		if event.Reason == readiness.ReasonRegistrationFailed && event.Regarding.Name != odd.Name {
			t.Errorf("of pod %s, whose target is registered: %s", event.Regarding.Name, event.Note)
		}
	}
}

// wantRetryAlone is an error until the refused target has been tried once more, by itself.
func wantRetryAlone(app *testbed.App, address string, since time.Time) error {
	alone := 0
	for _, call := range bed.CallsSince(app, "RegisterTargets", since) {
		if len(call.Targets) == 1 && call.Targets[0].ID == address {
			alone++
		}
	}
	if alone < 2 {
		return fmt.Errorf("%d calls with the refused target alone", alone)
	}
	return nil
}

// What fits into the quota is registered, and what does not follows when there is room. The slice is written by hand so
// that all targets come at once.
func TestTargetsBeyondTheQuotaWaitUntilItIsRaised(t *testing.T) {
	const room = 3
	app := suite.NewApp("quota")
	app.Replicas, app.ExplicitGate = 8, true
	app.Service = func(s *corev1.Service) { s.Spec.Selector = nil }
	bed.Deploy(t, app)
	suite.Must(t, bed.AWS.SetGroupQuotas(app.TargetGroup, state.GroupQuotas{Targets: room}))
	bed.AwaitContainersReady(t, app)
	bed.WriteSlice(t, app, "by-hand", suite.SliceEndpoints(bed.Pods(t, app))...)
	suite.Eventually(t, "as many targets as there is room for", func() error { return bed.WantServing(app, room) })
	suite.Eventually(t, "the status to name the quota", func() error {
		c := apimeta.FindStatusCondition(bed.GetBinding(t, app).Status.Conditions, v1beta1.ConditionDegraded)
		if c == nil || !strings.Contains(c.Message, "TooManyTargets") || !strings.Contains(c.Message, "targets per target group") {
			return fmt.Errorf("condition %+v", c)
		}
		return nil
	})
	suite.Eventually(t, "a pod that waits to name the quota", func() error {
		for _, pod := range bed.Pods(t, app) {
			if c := readiness.Condition(&pod, app.Gate()); c != nil && strings.Contains(c.Message, "TooManyTargets") {
				return nil
			}
		}
		return errors.New("none does")
	})
	suite.Must(t, bed.AWS.SetGroupQuotas(app.TargetGroup, state.GroupQuotas{}))
	bed.AwaitRolled(t, app)
	bed.AwaitConverged(t, app)
}

// Our own limit: pods that are left out say so, and follow when others leave.
func TestPodsBeyondTheMostTargetsOfAGroupSayThatTheyAreLeftOut(t *testing.T) {
	const most = 2
	bed.WithFlags(t, fmt.Sprintf("--max-targets-per-target-group=%d", most))
	app := suite.NewApp("most")
	app.Replicas, app.PreStopSeconds = 4, 0
	bed.Deploy(t, app)
	suite.Eventually(t, "as many targets as there may be", func() error { return bed.WantServing(app, most) })
	suite.Eventually(t, "the status to say so", func() error { return bed.WantDegraded(t, app, v1beta1.ReasonTargetGroupFull) })
	leftOut := 0
	suite.Eventually(t, "the pods that are left out to say so", func() error {
		leftOut = 0
		for _, pod := range bed.Pods(t, app) {
			if c := readiness.Condition(&pod, app.Gate()); c != nil && c.Reason == readiness.ReasonTargetGroupFull {
				leftOut++
				if err := bed.WantEvent(t, app, pod.Name, corev1.EventTypeWarning, readiness.ReasonTargetGroupFull); err != nil {
					return err
				}
			}
		}
		if leftOut != int(app.Replicas)-most {
			return fmt.Errorf("%d do", leftOut)
		}
		return nil
	})
	suite.Must(t, bed.Scale(t.Context(), app, most)) // takes those that are not Ready
	bed.AwaitRolled(t, app)
	bed.AwaitConverged(t, app)
	suite.Eventually(t, "the status to say that all is well", func() error { return bed.WantReason(t, app, v1beta1.ReasonReconciled) })
}
