// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/e2e/emulator/state"
	"github.com/targetgate/targetgate/e2e/testbed"
	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// Rule 8. AWS refuses a whole call because of one target; 8 calls of halves find it, and 8 more bring the others in.
func TestOneRefusedTargetOf200IsNamedAndTheOthersAreRegistered(t *testing.T) {
	const all, publicAddress, fewCalls = 200, "8.8.8.8", 20
	app := newApp("one-of-200")
	app.Replicas, app.ExplicitGate = 0, true
	app.Service = func(s *corev1.Service) { s.Spec.Selector = nil }
	deploy(t, app)
	list := pretendPods(t, app, all, func(i int) string {
		if i == 77 {
			return publicAddress
		}
		return fmt.Sprintf("10.62.%d.%d", 1+i/100, 1+i%100)
	})
	odd := list[77]
	begun := time.Now()
	writeSlice(t, app, "by-hand", sliceEndpoints(list)...)

	eventually(t, "199 targets", func() error {
		if n := len(registeredTargets(t, app)); n != all-1 {
			return fmt.Errorf("%d are registered", n)
		}
		return nil
	})
	eventually(t, "the status to name the one", func() error {
		c := apimeta.FindStatusCondition(getBinding(t, app).Status.Conditions, v1beta1.ConditionDegraded)
		if c == nil || c.Reason != v1beta1.ReasonTargetsRefused || !strings.Contains(c.Message, publicAddress) ||
			!strings.Contains(c.Message, "InvalidTarget") || strings.Contains(c.Message, "10.62.") {
			return fmt.Errorf("condition %+v", c)
		}
		return nil
	})
	if n := len(callsSince(app, "RegisterTargets", begun)); n > fewCalls {
		t.Errorf("%d calls to find one target of %d, want at most %d", n, all, fewCalls)
	}
	eventually(t, "the pod to say why", func() error {
		must(t, bed.Client.Get(t.Context(), client.ObjectKeyFromObject(&odd), &odd))
		c := readiness.Condition(&odd, app.Gate())
		if c == nil || c.Status != corev1.ConditionFalse || !strings.Contains(c.Message, "InvalidTarget") {
			return fmt.Errorf("condition %+v", c)
		}
		return wantEvent(t, app, odd.Name, corev1.EventTypeWarning, c.Reason)
	})
	eventually(t, "the retries of the one to be rare", func() error { return wantRetryAlone(app, publicAddress, begun) })
	var events eventsv1.EventList
	must(t, bed.Client.List(t.Context(), &events, client.InNamespace(app.Name)))
	for _, event := range events.Items {
		if event.Reason == readiness.ReasonRegistrationFailed && event.Regarding.Name != odd.Name {
			t.Errorf("of pod %s, whose target is registered: %s", event.Regarding.Name, event.Note)
		}
	}
}

// wantRetryAlone is an error until the refused target has been tried once more, by itself.
func wantRetryAlone(app *testbed.App, address string, since time.Time) error {
	alone := 0
	for _, call := range callsSince(app, "RegisterTargets", since) {
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
	app := newApp("quota")
	app.Replicas, app.ExplicitGate = 8, true
	app.Service = func(s *corev1.Service) { s.Spec.Selector = nil }
	deploy(t, app)
	must(t, bed.AWS.SetGroupQuotas(app.TargetGroup, state.GroupQuotas{Targets: room}))
	awaitContainersReady(t, app)
	writeSlice(t, app, "by-hand", sliceEndpoints(pods(t, app))...)
	eventually(t, "as many targets as there is room for", func() error { return serving(app, room) })
	eventually(t, "the status to name the quota", func() error {
		c := apimeta.FindStatusCondition(getBinding(t, app).Status.Conditions, v1beta1.ConditionDegraded)
		if c == nil || !strings.Contains(c.Message, "TooManyTargets") || !strings.Contains(c.Message, "targets per target group") {
			return fmt.Errorf("condition %+v", c)
		}
		return nil
	})
	eventually(t, "a pod that waits to name the quota", func() error {
		for _, pod := range pods(t, app) {
			if c := readiness.Condition(&pod, app.Gate()); c != nil && strings.Contains(c.Message, "TooManyTargets") {
				return nil
			}
		}
		return errors.New("none does")
	})
	must(t, bed.AWS.SetGroupQuotas(app.TargetGroup, state.GroupQuotas{}))
	awaitRolled(t, app)
	awaitConverged(t, app)
}

// Our own limit: pods that are left out say so, and follow when others leave.
func TestPodsBeyondTheMostTargetsOfAGroupSayThatTheyAreLeftOut(t *testing.T) {
	const most = 2
	withFlags(t, fmt.Sprintf("--max-targets-per-target-group=%d", most))
	app := newApp("most")
	app.Replicas, app.PreStopSeconds = 4, 0
	deploy(t, app)
	eventually(t, "as many targets as there may be", func() error { return serving(app, most) })
	eventually(t, "the status to say so", func() error { return wantDegraded(t, app, v1beta1.ReasonTargetGroupFull) })
	leftOut := 0
	eventually(t, "the pods that are left out to say so", func() error {
		leftOut = 0
		for _, pod := range pods(t, app) {
			if c := readiness.Condition(&pod, app.Gate()); c != nil && c.Reason == readiness.ReasonTargetGroupFull {
				leftOut++
				if err := wantEvent(t, app, pod.Name, corev1.EventTypeWarning, readiness.ReasonTargetGroupFull); err != nil {
					return err
				}
			}
		}
		if leftOut != int(app.Replicas)-most {
			return fmt.Errorf("%d do", leftOut)
		}
		return nil
	})
	must(t, bed.Scale(t.Context(), app, most)) // takes those that are not Ready
	awaitRolled(t, app)
	awaitConverged(t, app)
	eventually(t, "the status to say that all is well", func() error { return wantReason(t, app, v1beta1.ReasonReconciled) })
}

// awaitContainersReady waits until the containers of all the app's pods are ready, whatever their gates.
func awaitContainersReady(t *testing.T, app *testbed.App) {
	t.Helper()
	eventually(t, "the pods' containers to be ready", func() error {
		list := pods(t, app)
		for _, pod := range list {
			if c := readiness.Condition(&pod, corev1.ContainersReady); c == nil || c.Status != corev1.ConditionTrue {
				return fmt.Errorf("those of %s are not", pod.Name)
			}
		}
		if len(list) < int(app.Replicas) {
			return fmt.Errorf("%d pods", len(list))
		}
		return nil
	})
}

// pretendPods creates pods on a node that nobody has heard of, with these addresses and containers that are ready.
func pretendPods(t *testing.T, app *testbed.App, n int, address func(int) string) []corev1.Pod {
	t.Helper()
	list := make([]corev1.Pod, n)
	var creations errgroup.Group
	creations.SetLimit(16)
	for i := range list {
		list[i] = *app.Pod(fmt.Sprintf("pretend-%03d", i))
		list[i].Spec.SchedulerName = "nobody" // a node that does not exist would be one that is gone
		if i == 0 {
			create(t, &list[0]) // waits for the namespace to be ready
		}
		creations.Go(func() error {
			if i > 0 {
				if err := bed.Client.Create(t.Context(), &list[i]); err != nil {
					return err
				}
			}
			ip := address(i)
			list[i].Status = corev1.PodStatus{
				Phase: corev1.PodRunning, PodIP: ip, PodIPs: []corev1.PodIP{{IP: ip}},
				Conditions: []corev1.PodCondition{{Type: corev1.ContainersReady, Status: corev1.ConditionTrue}},
			}
			return bed.Client.Status().Update(t.Context(), &list[i])
		})
	}
	must(t, creations.Wait())
	return list
}

func sliceEndpoints(list []corev1.Pod) []discoveryv1.Endpoint {
	var out []discoveryv1.Endpoint
	for i := range list {
		out = append(out, sliceEndpoint(&list[i]))
	}
	return out
}
