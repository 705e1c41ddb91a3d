// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package rollouts

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/e2e/emulator/state"
	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/e2e/testbed"
)

// Rule 40: a pod that somebody holds back gets no traffic.

// outWithin is by when a pod that somebody holds back is deregistered.
const outWithin = 15 * time.Second

// mayServe is the gate of somebody who decides which pods serve.
const mayServe corev1.PodConditionType = "example.com/may-serve"

// decide writes the condition of such a gate.
func decide(t *testing.T, gate corev1.PodConditionType, status corev1.ConditionStatus, list ...corev1.Pod) {
	t.Helper()
	for i := range list {
		suite.Eventually(t, "the condition to be written", func() error {
			var fresh corev1.Pod
			if err := bed.Client.Get(t.Context(), client.ObjectKeyFromObject(&list[i]), &fresh); err != nil {
				return err
			}
			patch := client.StrategicMergeFrom(fresh.DeepCopy())
			fresh.Status.Conditions = slices.DeleteFunc(fresh.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == gate })
			fresh.Status.Conditions = append(fresh.Status.Conditions,
				corev1.PodCondition{Type: gate, Status: status, LastTransitionTime: metav1.Now()})
			return bed.Client.Status().Patch(t.Context(), &fresh, patch)
		})
	}
}

// awaitOut waits until the load balancer sends to none of the pods, or fails after outWithin.
func awaitOut(t *testing.T, app *testbed.App, since time.Time, list ...corev1.Pod) {
	t.Helper()
	for i := range list {
		if took := awaitCall(t, app, "DeregisterTargets", suite.TargetOf(list[i].Status.PodIP), since).Received.Sub(since); took > outWithin {
			t.Errorf("%s was deregistered after %s, want %s at most", list[i].Name, took, outWithin)
		}
	}
}

// wantNeverIn fails if one of the pods is a target, or has been since then.
func wantNeverIn(t *testing.T, app *testbed.App, since time.Time, list ...corev1.Pod) {
	t.Helper()
	for i := range list {
		if _, err := bed.CallFor(app, "RegisterTargets", list[i].Status.PodIP, since); err == nil {
			t.Errorf("%s is held back and was registered", list[i].Name)
		}
		if slices.ContainsFunc(bed.RegisteredTargets(t, app), func(k state.Key) bool { return k.ID == list[i].Status.PodIP }) {
			t.Errorf("%s is held back and is a target", list[i].Name)
		}
	}
}

// gatedBy has the pods have the gates of others, too.
func gatedBy(app *testbed.App, gates ...corev1.PodConditionType) {
	app.Template = func(p *corev1.PodTemplateSpec) {
		for _, gate := range gates {
			p.Spec.ReadinessGates = append(p.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: gate})
		}
	}
}

// openedBySomebody is the app, rolled, with a gate of somebody else that is open.
func openedBySomebody(t *testing.T, name string) (*testbed.App, []corev1.Pod) {
	t.Helper()
	app := suite.NewApp(name)
	gatedBy(app, mayServe)
	bed.Deploy(t, app)
	bed.AwaitContainersReady(t, app)
	list := bed.Pods(t, app)
	decide(t, mayServe, corev1.ConditionTrue, list...)
	bed.AwaitRolled(t, app)
	bed.AwaitConverged(t, app)
	return app, list
}

func TestOnlyTheLeaderByAGateOfOthersGetsTraffic(t *testing.T) {
	for _, gated := range []bool{true, false} {
		t.Run(fmt.Sprintf("gated %t", gated), func(t *testing.T) {
			app := suite.NewApp(fmt.Sprintf("leadergate%t", gated))
			app.Gated = gated
			gatedBy(app, mayServe)
			begun := time.Now()
			bed.Deploy(t, app)
			bed.AwaitContainersReady(t, app)
			list := bed.Pods(t, app)
			decide(t, mayServe, corev1.ConditionFalse, list[1:]...)
			wantNeverIn(t, app, begun, list...)
			decide(t, mayServe, corev1.ConditionTrue, list[0])
			bed.AwaitHealthy(t, app, suite.TargetOf(list[0].Status.PodIP))
			time.Sleep(3 * time.Second) // several passes
			wantNeverIn(t, app, begun, list[1:]...)

			decide(t, mayServe, corev1.ConditionTrue, list[1]) // a failover
			failed := time.Now()
			decide(t, mayServe, corev1.ConditionFalse, list[0])
			awaitOut(t, app, failed, list[0])
			bed.AwaitHealthy(t, app, suite.TargetOf(list[1].Status.PodIP))
			wantNeverIn(t, app, begun, list[2])
		})
	}
}

// As OpenKruise does before it updates a container in place.
func TestPodThatAGateOfOthersHoldsBackLeaves(t *testing.T) {
	app, list := openedBySomebody(t, "draingate")
	begun := time.Now()
	decide(t, mayServe, corev1.ConditionFalse, list[0])
	awaitOut(t, app, begun, list[0])
	decide(t, mayServe, corev1.ConditionTrue, list[0])
	bed.AwaitHealthy(t, app, suite.KeysOf(list, 8080)...)
}

func TestPodsThatAGateOfOthersHoldsBackAllLeave(t *testing.T) {
	app, list := openedBySomebody(t, "allheld")
	begun := time.Now()
	decide(t, mayServe, corev1.ConditionUnknown, list...)
	awaitOut(t, app, begun, list...)
}

func TestGatesOfOtherLoadBalancersHoldNoPodBack(t *testing.T) {
	app := suite.NewApp("othergates")
	gatedBy(app, "application-networking.k8s.aws/pod-readiness-gate", "cloud.google.com/load-balancer-neg-ready")
	bed.Deploy(t, app)
	bed.AwaitContainersReady(t, app)
	bed.AwaitHealthy(t, app, suite.KeysOf(bed.Pods(t, app), 8080)...)
}

func TestSliceByHandSaysWhoGetsTraffic(t *testing.T) {
	app := suite.NewApp("byhandready")
	app.Gated = false
	app.Service = func(s *corev1.Service) { s.Spec.Selector = nil }
	begun := time.Now()
	bed.Deploy(t, app)
	bed.AwaitRolled(t, app)
	list := bed.Pods(t, app)
	endpoints := suite.SliceEndpoints(list)
	endpoints[1].Conditions.Ready = ptr.To(false)
	endpoints[2].Conditions.Ready, endpoints[2].Conditions.Serving = nil, ptr.To(false)
	bed.WriteSlice(t, app, "one", endpoints...)
	bed.AwaitHealthy(t, app, suite.TargetOf(list[0].Status.PodIP))
	time.Sleep(3 * time.Second) // several passes
	wantNeverIn(t, app, begun, list[1:]...)

	changed := time.Now()
	endpoints[0].Conditions.Ready = ptr.To(false) // all of them
	bed.WriteSlice(t, app, "one", endpoints...)
	awaitOut(t, app, changed, list[0])
}
