// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package endpoints

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/targetgate/targetgate/readiness"
)

const (
	othersGate  corev1.PodConditionType = "example.com/may-serve"
	latticeGate corev1.PodConditionType = "application-networking.k8s.aws/pod-readiness-gate"
	legacyGate  corev1.PodConditionType = "target-health.alb.ingress.k8s.aws/web_web_80"
	negGate     corev1.PodConditionType = "cloud.google.com/load-balancer-neg-ready"
)

// gated is a pod whose containers are ready, with these gates, of which those are open.
func gated(gates []corev1.PodConditionType, open ...corev1.PodConditionType) *corev1.Pod {
	pod := newPod("web-0", "10.0.0.1")
	pod.Spec.ReadinessGates, pod.Status.Conditions = nil, []corev1.PodCondition{{Type: corev1.ContainersReady, Status: corev1.ConditionTrue}}
	for _, gate := range gates {
		pod.Spec.ReadinessGates = append(pod.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: gate})
	}
	for _, gate := range open {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: gate, Status: corev1.ConditionTrue})
	}
	return pod
}

// What becomes of a pod whose containers and node are ready and whose slice says that it is not ready.
func TestJudgeOfPodThatIsNotReady(t *testing.T) {
	type types = []corev1.PodConditionType
	api := readiness.GateFor("api")
	for name, tc := range map[string]struct {
		pod    *corev1.Pod
		byHand bool
		want   State
		held   Held
	}{
		"at its own gate":                                      {pod: gated(types{testGate}), want: Desired},
		"at its own gate, and a slice by hand":                 {pod: gated(types{testGate}), byHand: true, want: Desired},
		"at its own gate and another binding's":                {pod: gated(types{testGate, api}), want: Desired},
		"at its own gate, with another's open":                 {pod: gated(types{testGate, othersGate}, othersGate), want: Desired},
		"at its own gate and another's":                        {pod: gated(types{testGate, othersGate}), want: HeldBack, held: HeldByGate},
		"at another's gate alone, behind an open one":          {pod: gated(types{testGate, othersGate}, testGate), want: HeldBack, held: HeldByGate},
		"at another's gate, without one of its own":            {pod: gated(types{othersGate}), want: HeldBack, held: HeldByGate},
		"at VPC Lattice's gate":                                {pod: gated(types{testGate, latticeGate}), want: Desired},
		"at GKE's gate":                                        {pod: gated(types{negGate, testGate}, testGate), want: Desired},
		"at a gate of the incumbent's first version":           {pod: gated(types{legacyGate, testGate}), want: Desired},
		"at another binding's gate, behind its open one":       {pod: gated(types{testGate, api}, testGate), want: Desired},
		"at another binding's gate, without one of its own":    {pod: gated(types{api}), want: NotReady},
		"at VPC Lattice's gate, without one of its own":        {pod: gated(types{latticeGate}), want: NotReady},
		"without gates: the slice is late":                     {pod: gated(nil), want: Desired},
		"all gates open: the slice is late":                    {pod: gated(types{testGate, othersGate}, testGate, othersGate), want: Desired},
		"without gates, and a slice by hand":                   {pod: gated(nil), byHand: true, want: HeldBack, held: HeldBySlice},
		"all gates open, and a slice by hand":                  {pod: gated(types{testGate}, testGate), byHand: true, want: HeldBack, held: HeldBySlice},
		"at another binding's gate, and a slice by hand":       {pod: gated(types{testGate, api}, testGate), byHand: true, want: Desired},
		"at another's gate, in a prefix of a load balancer's":  {pod: gated(types{"application-networking.k8s.a"}), want: HeldBack, held: HeldByGate},
		"a gate with a condition that is Unknown, not missing": {pod: withCondition(gated(types{othersGate}), othersGate, corev1.ConditionUnknown), want: HeldBack, held: HeldByGate},
	} {
		t.Run(name, func(t *testing.T) {
			for _, stripped := range []bool{false, true} {
				pod := tc.pod
				if stripped {
					pod = mustStrip(t, pod)
				}
				r := resolving{Pass: NewResolver(nil, NewCache(), true).ForPass(), binding: newBinding()}
				node := nodeFacts{ready: corev1.ConditionTrue}
				got := r.endpoint(one, pod, node)
				got.judge(node, sliceWord{byHand: tc.byHand}, testGate)
				if got.State != tc.want || got.Held != tc.held || (got.Why() == "") != (tc.held == NotHeld) {
					t.Errorf("stripped %t: %s, held %d (%s); want %s, %d", stripped, got.State, got.Held, got.Why(), tc.want, tc.held)
				}
				published := r.endpoint(one, pod, node)
				if published.judge(node, sliceWord{ready: true, byHand: tc.byHand}, testGate); published.State != Desired || published.Held != NotHeld {
					t.Errorf("stripped %t: %s, held %d although its slice says ready", stripped, published.State, published.Held)
				}
			}
		})
	}
}

func withCondition(pod *corev1.Pod, kind corev1.PodConditionType, status corev1.ConditionStatus) *corev1.Pod {
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: kind, Status: status})
	return pod
}

func mustStrip(t *testing.T, pod *corev1.Pod) *corev1.Pod {
	t.Helper()
	out, err := StripPod(pod)
	if err != nil {
		t.Fatal(err)
	}
	return out.(*corev1.Pod)
}

// The containers and the node are asked before a slice, and a gate before both: who closes it means this pod.
func TestJudgeAsksGateThenContainersThenSlice(t *testing.T) {
	unready := gated([]corev1.PodConditionType{othersGate}, othersGate)
	unready.Status.Conditions[0].Status = corev1.ConditionFalse
	both := gated([]corev1.PodConditionType{othersGate})
	both.Status.Conditions[0].Status = corev1.ConditionFalse
	for name, tc := range map[string]struct {
		pod  *corev1.Pod
		node corev1.ConditionStatus
		want State
	}{
		"unready":             {unready, corev1.ConditionTrue, NotReady},
		"unready and closed":  {both, corev1.ConditionTrue, HeldBack},
		"its node is down":    {gated(nil), corev1.ConditionFalse, NotReady},
		"nothing but a slice": {gated(nil), corev1.ConditionTrue, HeldBack},
	} {
		t.Run(name, func(t *testing.T) {
			r := resolving{Pass: NewResolver(nil, NewCache(), true).ForPass(), binding: newBinding()}
			got := r.endpoint(one, tc.pod, nodeFacts{ready: tc.node})
			if got.judge(nodeFacts{ready: tc.node}, sliceWord{byHand: true}, testGate); got.State != tc.want {
				t.Errorf("%s, want %s", got.State, tc.want)
			}
		})
	}
}

// A pod that leaves and gets no traffic anyway is not kept until others replace it.
func TestHeldBackPodThatLeavesServesNoLonger(t *testing.T) {
	for _, open := range []bool{true, false} {
		pod := gated([]corev1.PodConditionType{othersGate})
		if open {
			pod = gated([]corev1.PodConditionType{othersGate}, othersGate)
		}
		pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = ptr.To(metav1.Now()), ptr.To[int64](60)
		pod.Spec.Containers = []corev1.Container{{Lifecycle: &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 40}}}}}
		r := resolving{Pass: NewResolver(nil, NewCache(), true).ForPass(), binding: newBinding()}
		got := r.endpoint(one, pod, nodeFacts{ready: corev1.ConditionTrue})
		if got.judge(nodeFacts{ready: corev1.ConditionTrue}, sliceWord{}, testGate); got.State != Terminating || got.ServesUntil.IsZero() == open {
			t.Errorf("gate open %t: %s, serves until %s", open, got.State, got.ServesUntil)
		}
	}
}

func TestIsReadyInConditions(t *testing.T) {
	yes, no := ptr.To(true), ptr.To(false)
	for i, tc := range []struct {
		conditions discoveryv1.EndpointConditions
		want       bool
	}{
		{discoveryv1.EndpointConditions{}, true},
		{discoveryv1.EndpointConditions{Ready: no, Serving: yes}, false},
		{discoveryv1.EndpointConditions{Ready: yes, Serving: no, Terminating: yes}, true}, // publishNotReadyAddresses
		{discoveryv1.EndpointConditions{Serving: no}, false},
		{discoveryv1.EndpointConditions{Serving: yes, Terminating: yes}, false},
		{discoveryv1.EndpointConditions{Serving: yes, Terminating: no}, true},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			if got := isReadyIn(tc.conditions); got != tc.want {
				t.Errorf("%v, want %v", got, tc.want)
			}
		})
	}
}
