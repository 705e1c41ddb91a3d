// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

func gates(types ...corev1.PodConditionType) []corev1.PodReadinessGate {
	var out []corev1.PodReadinessGate
	for _, t := range types {
		out = append(out, corev1.PodReadinessGate{ConditionType: t})
	}
	return out
}

func TestInject(t *testing.T) {
	const legacy = "target-health.alb.ingress.k8s.aws/old_svc_80"
	web, api := GateFor("web"), GateFor("api")
	tests := map[string]struct {
		existing []corev1.PodReadinessGate
		wanted   []corev1.PodConditionType
		want     Injection
	}{
		"nothing wanted leaves legacy gates": {existing: gates(legacy)},
		"added in order":                     {wanted: []corev1.PodConditionType{web, api}, want: Injection{Add: []corev1.PodConditionType{web, api}}},
		"other gates stay":                   {existing: gates("example.com/own"), wanted: []corev1.PodConditionType{web}, want: Injection{Add: []corev1.PodConditionType{web}}},
		"present gate is not added twice":    {existing: gates(web), wanted: []corev1.PodConditionType{web}},
		"wanted twice is added once":         {wanted: []corev1.PodConditionType{web, web}, want: Injection{Add: []corev1.PodConditionType{web}}},
		"present gate removes legacy ones":   {existing: gates(legacy, web, legacy), wanted: []corev1.PodConditionType{web}, want: Injection{Remove: []int{0, 2}}},
		"as many as there is room for": {
			existing: many(MaxGates - 1), wanted: []corev1.PodConditionType{web, api},
			want: Injection{Add: []corev1.PodConditionType{web}, LeftOut: 1},
		},
		"present gates take no room":     {existing: append(many(MaxGates-1), gates(web)...), wanted: []corev1.PodConditionType{web}},
		"added gate removes legacy ones": {existing: gates(legacy), wanted: []corev1.PodConditionType{web}, want: Injection{Add: []corev1.PodConditionType{web}, Remove: []int{0}}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Inject(tc.existing, tc.wanted)); diff != "" {
				t.Errorf("injection (-want +got):\n%s", diff)
			}
		})
	}
}

// many are so many gates of ours.
func many(n int) []corev1.PodReadinessGate {
	out := make([]corev1.PodReadinessGate, n)
	for i := range out {
		out[i].ConditionType = GateFor(strconv.Itoa(i))
	}
	return out
}

func TestPodOfTooManyGatesHasNone(t *testing.T) {
	for name, tc := range map[string]struct {
		gates []corev1.PodReadinessGate
		want  int
	}{
		"as many as may be":   {many(MaxGates), MaxGates},
		"one more":            {many(MaxGates + 1), 0},
		"others do not count": {append(gates("a", "b"), many(MaxGates)...), MaxGates},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{Spec: corev1.PodSpec{ReadinessGates: tc.gates}}
			if got := len(Bindings(pod)); got != tc.want || Has(pod, GateFor("0")) != (got > 0) || HasTooMany(pod) != (got == 0) {
				t.Errorf("%d bindings, want %d; has a gate: %v, too many: %v", got, tc.want, Has(pod, GateFor("0")), HasTooMany(pod))
			}
			pod.Spec.ReadinessGates = Kept(tc.gates)
			if got := len(Bindings(pod)); got != tc.want {
				t.Errorf("%d bindings by the kept gates, want %d", got, tc.want)
			}
		})
	}
}

// A caller's list may be as long as a pod may be large.
func BenchmarkInject(b *testing.B) {
	for _, size := range []int{1_000, 10_000, 40_000} {
		b.Run(strconv.Itoa(size), func(b *testing.B) {
			existing, wanted := many(size), []corev1.PodConditionType{GateFor("web")}
			for b.Loop() {
				Inject(existing, wanted)
			}
		})
	}
}

func TestGateNamesTheIncumbentsWay(t *testing.T) {
	if got, want := GateFor("web"), corev1.PodConditionType("target-health.elbv2.k8s.aws/web"); got != want {
		t.Errorf("GateFor: %q, want %q", got, want)
	}
	if name, ours := BindingOf(GateFor("web")); !ours || name != "web" {
		t.Errorf("BindingOf(GateFor(web)) = %q, %v", name, ours)
	}
	if _, ours := BindingOf("example.com/own"); ours {
		t.Error("a stranger's gate is taken for ours")
	}
}

func TestFromTarget(t *testing.T) {
	tests := map[string]corev1.ConditionStatus{
		"initial": corev1.ConditionFalse, "healthy": corev1.ConditionTrue, "unhealthy": corev1.ConditionFalse,
		"unhealthy.draining": corev1.ConditionFalse, "unused": corev1.ConditionFalse, "draining": corev1.ConditionFalse,
		"unavailable": corev1.ConditionUnknown, "a state of next year": corev1.ConditionFalse,
	}
	for state, want := range tests {
		got := FromTarget(state, "Target.Timeout", "Request timed out", time.Date(2026, 11, 20, 13, 0, 0, 0, time.FixedZone("CET", 3600)))
		message := "Request timed out (since 2026-11-20T12:00:00Z)"
		if want == corev1.ConditionTrue {
			message = "Request timed out"
		}
		if diff := cmp.Diff(Health{Status: want, Reason: "Target.Timeout", Message: message}, got); diff != "" {
			t.Errorf("state %s (-want +got):\n%s", state, diff)
		}
	}
}

// Rule 2, after a crash: only what was written after the pod's own registration proves that there was one.
func TestShowsRegistration(t *testing.T) {
	tests := map[string]bool{
		"Elb.RegistrationInProgress": true, "Target.Timeout": true, "": true,
		ReasonTargetHealthy: true, ReasonTimeout: true, ReasonNotAttached: true,
		ReasonRegistrationFailed: false, ReasonTargetGroupFull: false, ReasonNoEndpoint: false, ReasonNodeLeaving: false,
		ReasonConsentMissing: false, ReasonRoleNotAllowed: false, ReasonBackendNotFound: false, ReasonNotSelected: false,
		ReasonNotManaged: true, ReasonBindingDeleted: true,
	}
	for reason, want := range tests {
		pod := gatedPod(corev1.PodCondition{Type: gate, Status: corev1.ConditionFalse, Reason: reason})
		if got := ShowsRegistration(pod, gate); got != want {
			t.Errorf("with reason %q: %v, want %v", reason, got, want)
		}
	}
	if ShowsRegistration(gatedPod(), gate) {
		t.Error("a pod without a condition is taken for registered")
	}
}

func TestIsOpenByHealth(t *testing.T) {
	tests := map[string]struct {
		conditions []corev1.PodCondition
		want       bool
	}{
		"no condition":           {},
		"closed":                 {conditions: []corev1.PodCondition{{Type: gate, Status: corev1.ConditionFalse}}},
		"healthy":                {conditions: []corev1.PodCondition{{Type: gate, Status: corev1.ConditionTrue}}, want: true},
		"healthy, said early":    {conditions: []corev1.PodCondition{{Type: gate, Status: corev1.ConditionTrue, Reason: ReasonTargetHealthy}}, want: true},
		"open for other reasons": {conditions: []corev1.PodCondition{{Type: gate, Status: corev1.ConditionTrue, Reason: ReasonTimeout}}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := IsOpenByHealth(gatedPod(tc.conditions...), gate); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

// What we write by the load balancer's word of a healthy target has neither reason nor message, all else has a reason of ours.
func TestIsForeign(t *testing.T) {
	open := func(reason, message string) []corev1.PodCondition {
		return []corev1.PodCondition{{Type: gate, Status: corev1.ConditionTrue, Reason: reason, Message: message}}
	}
	tests := map[string]struct {
		conditions []corev1.PodCondition
		want       bool
	}{
		"no condition":        {},
		"closed":              {conditions: []corev1.PodCondition{{Type: gate, Status: corev1.ConditionFalse, Reason: "Mine", Message: "x"}}},
		"healthy":             {conditions: open("", "")},
		"a message":           {conditions: open("", "by hand"), want: true},
		"a reason":            {conditions: open("ByHand", ""), want: true},
		"the load balancer's": {conditions: open("Target.Timeout", ""), want: true},
	}
	for _, h := range []Health{BindingDeleted(), NotManaged("why"), OpenedEarly("10.0.0.1:80")} {
		tests[h.Reason] = struct {
			conditions []corev1.PodCondition
			want       bool
		}{conditions: open(h.Reason, h.Message)}
	}
	for _, reason := range []string{
		ReasonNotSelected, ReasonBackendNotFound, ReasonNotAttached, ReasonNoEndpoint, ReasonTimeout, ReasonConsentMissing, ReasonRoleNotAllowed,
	} {
		tests[reason] = struct {
			conditions []corev1.PodCondition
			want       bool
		}{conditions: open(reason, "why")}
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := IsForeign(gatedPod(tc.conditions...), gate); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}
