// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestHistoriesShowWhatWasThere(t *testing.T) {
	at := func(second int) time.Time { return time.Unix(int64(second), 0) }
	h := Histories[string]{}
	h.Put("b", "one", at(1), at(0))
	h.Put("a", "two", at(2), at(0))
	h.Put("b", "three", at(3), at(0))
	h.End("a", at(4), at(0))
	for second, want := range [][]string{nil, {"one"}, {"two", "one"}, {"two", "three"}, {"three"}} {
		if diff := cmp.Diff(want, h.At(at(second))); diff != "" {
			t.Errorf("at %d s (-want +got):\n%s", second, diff)
		}
	}
	if diff := cmp.Diff([]string{"three"}, h.All()); diff != "" {
		t.Errorf("now (-want +got):\n%s", diff)
	}
}

// TestHistoriesForgetWhatNobodySees writes once a second, for readers that are two seconds late at most.
func TestHistoriesForgetWhatNobodySees(t *testing.T) {
	h := Histories[int]{}
	for second := range 100 {
		now := time.Unix(int64(second), 0)
		h.Put("a", second, now, now.Add(-2*time.Second))
	}
	if got := len(h["a"]); got != 3 {
		t.Errorf("%d versions are kept, want 3", got)
	}
}
