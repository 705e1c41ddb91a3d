// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package conditions

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/endpoints"
	"github.com/targetgate/targetgate/targets/fixture"
)

// A pod whose own containers are not ready waits for itself, however long.
func TestPodWaitsForItsGateSinceItsContainersAreReady(t *testing.T) {
	at := func(minute int) metav1.Time { return metav1.NewTime(time.Date(2026, 1, 1, 0, minute, 0, 0, time.UTC)) }
	tests := map[string]struct {
		conditions []corev1.PodCondition
		want       time.Time
	}{
		"containers not ready": {conditions: []corev1.PodCondition{{Type: corev1.ContainersReady, Status: corev1.ConditionFalse, LastTransitionTime: at(1)}}},
		"no conditions":        {},
		"not registered yet": {
			conditions: []corev1.PodCondition{{Type: corev1.ContainersReady, Status: corev1.ConditionTrue, LastTransitionTime: at(1)}},
			want:       at(1).Time,
		},
		"registered": {
			conditions: []corev1.PodCondition{
				{Type: corev1.ContainersReady, Status: corev1.ConditionTrue, LastTransitionTime: at(2)},
				{Type: fixture.Gate, Status: corev1.ConditionFalse, LastTransitionTime: at(1)},
			},
			want: at(2).Time,
		},
		"closed again": {
			conditions: []corev1.PodCondition{
				{Type: corev1.ContainersReady, Status: corev1.ConditionTrue, LastTransitionTime: at(1)},
				{Type: fixture.Gate, Status: corev1.ConditionFalse, LastTransitionTime: at(3)},
			},
			want: at(3).Time,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{Status: corev1.PodStatus{Conditions: tc.conditions}}
			if got := waitsSince(pod, fixture.Gate); !got.Equal(tc.want) {
				t.Errorf("%s, want %s", got, tc.want)
			}
		})
	}
}

// A rollout restart gives a gate to pods that admission would give one to, and to no others.
func TestMissedPodsAreThoseThatAdmissionGivesGatesTo(t *testing.T) {
	web := map[string]string{"app": "web"}
	tests := map[string]struct {
		gate     corev1.PodConditionType
		selector map[string]string
		gates    []corev1.PodReadinessGate
		state    endpoints.State
		covered  bool
		owner    string
		want     int
	}{
		"before the binding":       {gate: fixture.Gate, selector: web, state: endpoints.Desired, covered: true, want: 1},
		"not ready yet":            {gate: fixture.Gate, selector: web, state: endpoints.NotReady, covered: true, want: 1},
		"slices written by others": {gate: fixture.Gate, state: endpoints.Desired, covered: true},
		"others are selected":      {gate: fixture.Gate, selector: map[string]string{"app": "db"}, state: endpoints.Desired, covered: true},
		"longest name":             {gate: readiness.GateFor(strings.Repeat("a", 63)), selector: web, state: endpoints.Desired, covered: true, want: 1},
		"name of no gate":          {gate: readiness.GateFor(strings.Repeat("a", 64)), selector: web, state: endpoints.Desired, covered: true},
		"of a ReplicaSet":          {gate: fixture.Gate, selector: web, state: endpoints.Desired, covered: true, owner: "ReplicaSet", want: 1},
		"mirror of a static pod":   {gate: fixture.Gate, selector: web, state: endpoints.Desired, covered: true, owner: "Node"},
		"no gates are asked for":   {gate: fixture.Gate, selector: web, state: endpoints.Desired},
		"it goes":                  {gate: fixture.Gate, selector: web, state: endpoints.Terminating, covered: true},
		"it has the gate": {
			gate: fixture.Gate, selector: web, gates: []corev1.PodReadinessGate{{ConditionType: fixture.Gate}}, state: endpoints.Desired, covered: true,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: web}, Spec: corev1.PodSpec{ReadinessGates: tc.gates}}
			if tc.owner != "" {
				pod.OwnerReferences = []metav1.OwnerReference{{Kind: tc.owner, Controller: ptr.To(true)}}
			}
			target := elbv2.Target{ID: "10.0.0.1", Port: 8080}
			res := endpoints.Resolution{
				Service:   &corev1.Service{Spec: corev1.ServiceSpec{Selector: tc.selector}},
				Endpoints: map[elbv2.Target]endpoints.Endpoint{target: {Target: target, State: tc.state, Pod: pod}},
			}
			if got := MissedPods(res, tc.gate, func(*corev1.Pod) bool { return tc.covered }); len(got) != tc.want {
				t.Errorf("%d pods, want %d", len(got), tc.want)
			}
		})
	}
}
