// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// A pod without a gate is behind the binding all the same.
func TestExplainOfPodFindsItsBinding(t *testing.T) {
	for name, tc := range map[string]struct {
		spoil func(*world)
		want  string
	}{
		"that is refused": {
			(*world).addRival, "broken binding: spec.targetGroupARN: TargetGroupBinding other/first has this target group already",
		},
		"that is refused, of a Service that is gone": {
			func(w *world) { w.addRival(); w.service = nil }, "broken binding: no TargetGroupBinding of the namespace names a Service",
		},
		"by EndpointSlices of its own": {
			func(w *world) { w.service.Spec.Selector = nil; w.slice.Endpoints[0].Conditions.Ready = nil }, "",
		},
		"by nothing": {
			func(w *world) { w.service.Spec.Selector, w.slice.Endpoints = nil, nil },
			"broken binding: no TargetGroupBinding of the namespace names a Service that selects pod \"web-0\"",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.pod.Spec.ReadinessGates = nil
			tc.spoil(w)
			report := w.explained(t)
			if got := causeOf(t, report); !strings.HasPrefix(got, tc.want) {
				t.Errorf("the cause is\n%s\nwant\n%s", got, tc.want)
			}
			if got := report.Chains[0].Binding == "web"; got == strings.Contains(tc.want, "no TargetGroupBinding") {
				t.Errorf("chain %+v", report.Chains[0])
			}
		})
	}
}

// What no rollout changes is not blamed on the webhook.
func TestExplainOfPodThatCanGetNoGate(t *testing.T) {
	long := strings.Repeat("w", 64)
	for name, tc := range map[string]struct {
		spoil func(*world)
		want  string
	}{
		"by a Service without a selector": {
			func(w *world) { w.service.Spec.Selector = nil },
			"ok the pod has none: only pods that the Service selects get one, and it does not select this pod -> ",
		},
		"as it is static": {
			func(w *world) {
				w.pod.OwnerReferences = []metav1.OwnerReference{{Kind: "Node", Name: "node-1", Controller: ptr.To(true)}}
			},
			"ok the pod has none: it is a static pod, for which the API server calls no webhook -> ",
		},
		"by a name that is too long": {
			func(w *world) { w.binding.Name = long },
			"broken the pod has no readiness gate target-health.elbv2.k8s.aws/" + long + ": the binding's name has more than 63 characters -> " +
				"Create the binding again with a shorter name, and roll",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.pod.Spec.ReadinessGates, w.slice.Endpoints[0].Conditions.Ready = nil, nil
			tc.spoil(w)
			links := w.explained(t).Chains[0].Endpoints[0].Links
			l := links[len(links)-1]
			if got := fmt.Sprintf("%s %s -> %s", l.State, l.Seen, l.Advice); l.Name != "gate" || !strings.HasPrefix(got, tc.want) {
				t.Errorf("link %s\n%s\nwant\n%s", l.Name, got, tc.want)
			}
		})
	}
}
