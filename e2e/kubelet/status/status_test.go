// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func running(name string, ready bool) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: name, Ready: ready, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
}

func ended(name string, code int32) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code}}}
}

func TestPhase(t *testing.T) {
	waiting := corev1.ContainerStatus{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}}
	never, always, onFailure := corev1.RestartPolicyNever, corev1.RestartPolicyAlways, corev1.RestartPolicyOnFailure
	cases := map[string]struct {
		policy     corev1.RestartPolicy
		containers []corev1.ContainerStatus
		stopped    bool
		want       corev1.PodPhase
	}{
		"one runs":                 {never, []corev1.ContainerStatus{running("a", true), ended("b", 1)}, false, corev1.PodRunning},
		"back-off":                 {always, []corev1.ContainerStatus{waiting}, false, corev1.PodRunning},
		"about to restart":         {always, []corev1.ContainerStatus{ended("a", 1)}, false, corev1.PodRunning},
		"about to try once more":   {onFailure, []corev1.ContainerStatus{ended("a", 1)}, false, corev1.PodRunning},
		"done":                     {onFailure, []corev1.ContainerStatus{ended("a", 0), ended("b", 0)}, false, corev1.PodSucceeded},
		"failed":                   {never, []corev1.ContainerStatus{ended("a", 0), ended("b", 3)}, false, corev1.PodFailed},
		"stopped well":             {always, []corev1.ContainerStatus{ended("a", 0)}, true, corev1.PodSucceeded},
		"stopped by force":         {always, []corev1.ContainerStatus{ended("a", 137)}, true, corev1.PodFailed},
		"no policy, like a fake's": {"", []corev1.ContainerStatus{ended("a", 0)}, false, corev1.PodRunning},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := &corev1.Pod{Spec: corev1.PodSpec{RestartPolicy: tc.policy}}
			if got := phase(p, Facts{Containers: tc.containers, Stopped: tc.stopped}); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

func TestReadyNamesEveryObstacle(t *testing.T) {
	gates := []corev1.PodReadinessGate{{ConditionType: "a"}, {ConditionType: "b"}, {ConditionType: "c"}}
	p := &corev1.Pod{Spec: corev1.PodSpec{ReadinessGates: gates}}
	p.Status.Conditions = []corev1.PodCondition{{Type: "b", Status: corev1.ConditionUnknown}, {Type: "c", Status: corev1.ConditionTrue}}
	sidecars := []corev1.ContainerStatus{running("s", false)}
	cases := map[string]struct {
		facts       Facts
		wantReason  string
		wantMessage string
	}{
		"containers first": {
			Facts{Containers: []corev1.ContainerStatus{running("x", false), running("y", true)}, Sidecars: sidecars},
			"ContainersNotReady", "containers with unready status: [s x]",
		},
		"then gates": {
			Facts{Containers: []corev1.ContainerStatus{running("x", true)}}, "ReadinessGatesNotReady",
			`corresponding condition of pod readiness gate "a" does not exist., the status of pod readiness gate "b" is not "True", but Unknown`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			status := Desired(p, tc.facts, metav1.Now())
			got := Condition(status.Conditions, corev1.PodReady)
			if got.Status != corev1.ConditionFalse || got.Reason != tc.wantReason || got.Message != tc.wantMessage {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestTransitionTimeMovesWithTheStatusOnly(t *testing.T) {
	before, now := metav1.NewTime(time.Unix(100, 0)), metav1.NewTime(time.Unix(200, 0))
	p := &corev1.Pod{Status: corev1.PodStatus{Conditions: []corev1.PodCondition{
		{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: "Former", LastTransitionTime: before},
		{Type: corev1.ContainersReady, Status: corev1.ConditionTrue, LastTransitionTime: before},
	}}}
	status := Desired(p, Facts{Containers: []corev1.ContainerStatus{running("x", false)}}, now)
	want := map[corev1.PodConditionType]metav1.Time{corev1.PodReady: before, corev1.ContainersReady: now, corev1.PodInitialized: now}
	for kind, at := range want {
		if got := Condition(status.Conditions, kind).LastTransitionTime; !got.Equal(&at) {
			t.Errorf("%s changed at %v, want %v", kind, got, at)
		}
	}
}

func TestStatusPatchHoldsTheDifferenceAndTheUID(t *testing.T) {
	at := metav1.NewTime(time.Unix(0, 0).UTC())
	have := corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.1.0.2", Conditions: []corev1.PodCondition{
		{Type: "target-health.elbv2.k8s.aws/web", Status: corev1.ConditionFalse},
		{Type: corev1.ContainersReady, Status: corev1.ConditionTrue, LastTransitionTime: at},
		{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: "ReadinessGatesNotReady", Message: "shut", LastTransitionTime: at},
	}}
	want := *have.DeepCopy()
	want.Conditions = []corev1.PodCondition{
		{Type: corev1.ContainersReady, Status: corev1.ConditionTrue, LastTransitionTime: at},
		{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: at},
	}
	raw, err := Patch("uid-1", have, want)
	if err != nil {
		t.Fatal(err)
	}
	var got any
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	wantPatch := map[string]any{
		"metadata": map[string]any{"uid": "uid-1"},
		"status": map[string]any{"conditions": []any{map[string]any{
			"type": "Ready", "status": "True", "reason": "", "message": "", "lastTransitionTime": "1970-01-01T00:00:00Z",
		}}},
	}
	if diff := cmp.Diff(wantPatch, got); diff != "" {
		t.Errorf("patch (-want +got):\n%s", diff)
	}
	if raw, err := Patch("uid-1", have, have); raw != nil || err != nil {
		t.Errorf("nothing changed, got %s, %v", raw, err)
	}
}
