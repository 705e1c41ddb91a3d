// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestStreakKeepsToThresholds(t *testing.T) {
	cases := map[string]struct {
		spec    corev1.Probe
		results string // + success, - failure
		want    string // R ready, . not
	}{
		"defaults are one and three": {corev1.Probe{}, "-+--+---+", ".RRRRRR.R"},
		"success threshold":          {corev1.Probe{SuccessThreshold: 3}, "++-+++", ".....R"},
		"failure threshold":          {corev1.Probe{FailureThreshold: 2}, "+-+--+", "RRRR.R"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var s streak
			got := ""
			for _, result := range tc.results {
				was := s.ready
				if changed := s.add(result == '+', tc.spec); changed != (was != s.ready) {
					t.Errorf("add says %v, ready went from %v to %v", changed, was, s.ready)
				}
				got += map[bool]string{true: "R", false: "."}[s.ready]
			}
			if got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}
