// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package endpoints

import (
	"testing"
	"time"
)

func TestNextPodThatCountsAsGone(t *testing.T) {
	ago := func(d time.Duration) time.Time { return noon.Add(-d) }
	tests := map[string]struct {
		unseen Unseen
		want   time.Duration
	}{
		"none is unseen":    {},
		"one of two":        {Unseen{{name: "a"}: ago(time.Minute), {name: "b"}: ago(3 * time.Minute)}, longUnseen - 3*time.Minute},
		"all do long since": {unseen: Unseen{{name: "a"}: ago(time.Hour), {name: "b"}: ago(longUnseen)}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := tc.unseen.Next(noon); got != tc.want {
				t.Errorf("in %s, want %s", got, tc.want)
			}
		})
	}
}
