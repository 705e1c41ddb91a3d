// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

// Unlike a gate, the condition goes both ways: a departure may be called off. A pod with the same name and another UID is never
// changed.
func TestWriterSetMayLeave(t *testing.T) {
	left := Health{Status: corev1.ConditionFalse, Reason: ReasonTargetsLeft, Message: "in one group"}
	drained := Health{Status: corev1.ConditionTrue, Reason: ReasonNodeDrained}
	earlier := corev1.PodCondition{Type: MayLeave, Status: corev1.ConditionTrue, Reason: ReasonNodeDrained, LastTransitionTime: morning}
	ofKubelet := corev1.PodCondition{Type: corev1.ContainersReady, Status: corev1.ConditionTrue}
	tests := map[string]struct {
		there  []corev1.PodCondition
		answer Health
		want   []corev1.PodCondition
	}{
		"first, beside the kubelet's": {
			there: []corev1.PodCondition{ofKubelet}, answer: left,
			want: []corev1.PodCondition{{
				Type: MayLeave, Status: corev1.ConditionFalse, Reason: ReasonTargetsLeft, Message: "in one group",
				LastTransitionTime: metav1.NewTime(noon),
			}, ofKubelet},
		},
		"back to False": {
			there: []corev1.PodCondition{earlier}, answer: left,
			want: []corev1.PodCondition{{
				Type: MayLeave, Status: corev1.ConditionFalse, Reason: ReasonTargetsLeft, Message: "in one group",
				LastTransitionTime: metav1.NewTime(noon),
			}},
		},
		"the same": {there: []corev1.PodCondition{earlier}, answer: drained, want: []corev1.PodCondition{earlier}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			pod := gatedPod(tc.there...)
			c := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithStatusSubresource(pod).WithObjects(pod).Build()
			writer := &Writer{Client: c.Status(), Clock: clocktesting.NewFakePassiveClock(noon)}
			if _, err := writer.SetMayLeave(t.Context(), pod, tc.answer); err != nil {
				t.Fatal(err)
			}
			var got corev1.Pod
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(pod), &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got.Status.Conditions); diff != "" {
				t.Errorf("conditions (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWriterSetMayLeaveOfAMissingPodIsNoError(t *testing.T) {
	c := fake.NewClientBuilder().WithScheme(scheme.Scheme).Build()
	writer := &Writer{Client: c.Status(), Clock: clocktesting.NewFakePassiveClock(noon)}
	if _, err := writer.SetMayLeave(t.Context(), gatedPod(), Health{Status: corev1.ConditionTrue}); err != nil {
		t.Error(err)
	}
}
