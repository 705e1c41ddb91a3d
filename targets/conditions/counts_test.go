// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package conditions

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
