// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package contest

import (
	"testing"
	"time"

	"github.com/targetgate/targetgate/targets/retry"
)

// Whoever changes it once has it back at once; whoever goes on is answered more and more slowly, and never later than in the longest pause.
func TestPausesGrowWhileSomebodyGoesOn(t *testing.T) {
	var c Contest
	now, told, longest := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC), 0, time.Duration(0)
	lose := func() time.Duration {
		pause, tell := c.Lost(now)
		if tell {
			told++
		}
		now = now.Add(pause + time.Millisecond) // it is put back, and changed at once
		return pause
	}
	if pause := lose(); pause != 0 {
		t.Errorf("the first pause is %s", pause)
	}
	begun := now
	for range 100 {
		longest = max(longest, lose())
	}
	if longest > retry.MaxBackoff || longest < retry.MaxBackoff*3/4 {
		t.Errorf("the longest pause is %s, want it near %s", longest, retry.MaxBackoff)
	}
	if took := now.Sub(begun); took < 100*retry.MaxBackoff/2 {
		t.Errorf("100 changes in %s: that is a hot loop", took)
	}
	if told != 1 {
		t.Errorf("told %d times in an hour, want once", told)
	}
	if now = now.Add(calm + time.Second); lose() != 0 {
		t.Error("after a calm the first change is not put back at once")
	}
	if now = now.Add(tellPause + time.Second); !c.IsOver(now) {
		t.Error("it is never over")
	}
}

func TestIsBehind(t *testing.T) {
	for _, tc := range []struct {
		version, written string
		want             bool
	}{
		{"9", "10", true}, {"10", "10", false}, {"11", "10", false}, {"10", "9", false}, {"9", "", false}, {"", "9", false}, {"a", "b", false},
	} {
		if got := IsBehind(tc.version, tc.written); got != tc.want {
			t.Errorf("%q is behind %q: %t", tc.version, tc.written, got)
		}
	}
}
