// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"strings"
	"testing"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// What the binding's status says is said; nobody is asked whether targetgate runs.
func TestExplainSaysWhyByTheStatus(t *testing.T) {
	ask := func(w *world) { w.answer(elbv2.Health{}) }
	for name, tc := range map[string]struct {
		reason, message string
		spoil           func(*world)
		cause, target   string
	}{
		"two controllers": {
			v1beta1.ReasonTwoControllers, "also works on the binding", func(*world) {},
			"broken target group: TwoControllers: also works on the binding -> Check that the chart's Vali",
			"broken 10.0.0.1:8080 is not registered: TwoControllers: also works on the binding -> Check that",
		},
		"full, of a pod without a gate, by AWS": {
			v1beta1.ReasonTargetGroupFull, "no more", func(w *world) { w.pod.Spec.ReadinessGates = nil; ask(w) },
			"broken target group: TargetGroupFull: no more -> Raise targetgate's --max-targets-per-target-group",
			"broken 10.0.0.1:8080 is not registered: TargetGroupFull: no more -> Raise",
		},
		"targets refused": {
			v1beta1.ReasonTargetsRefused, "10.0.0.9:80: no", ask,
			"broken target: 10.0.0.1:8080 is not registered: TargetsRefused: 10.0.0.9:80: no -> This is the binding's condition Ready:",
			"broken 10.0.0.1:8080 is not registered: TargetsRefused",
		},
		"a ConfigMap that cannot be written": {
			v1beta1.ReasonReconciled, "", func(w *world) {
				w.pod = newWorld().pod
				w.says(readiness.ReasonRegistrationFailed, "writing ConfigMap: forbidden")
			},
			"broken target: 10.0.0.1:8080 is not registered: RegistrationFailed: writing ConfigMap: forbidden -> Correct what that names",
			"broken 10.0.0.1:8080 is not registered: RegistrationFailed",
		},
		"under way": {
			v1beta1.ReasonReconciling, "Registering", func(*world) {},
			"broken target: 10.0.0.1:8080 is not registered, although the pod's containers have been ready", "broken 10.0.0.1:8080 is not registered, although",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.mute()
			w.degrade(tc.reason, tc.message)
			tc.spoil(w)
			report := w.explained(t)
			if got := causeOf(t, report); !strings.HasPrefix(got, tc.cause) {
				t.Errorf("the cause is\n%s\nwant\n%s", got, tc.cause)
			}
			l := report.Chains[0].Endpoints[0].Links[2]
			if got := string(l.State) + " " + l.Seen + " -> " + l.Advice; l.Name != "target" || !strings.HasPrefix(got, tc.target) {
				t.Errorf("link %s: %s, want target: %s", l.Name, got, tc.target)
			}
		})
	}
}

func TestExplainKeepsTheStatusRemarkWithAWS(t *testing.T) {
	w := newWorld()
	w.answer(elbv2.Health{State: elbv2.StateHealthy})
	w.degrade(v1beta1.ReasonUnreadyPodsKept, "unready ones stay")
	group := w.explained(t).Chains[0].Links[4]
	if want := "web has 1 healthy targets of 1, according to AWS; UnreadyPodsKept: unready ones stay"; group.Seen != want {
		t.Errorf("link %+v, want %q", group, want)
	}
}
