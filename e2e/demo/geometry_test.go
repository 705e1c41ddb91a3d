// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// tenSeconds makes one second ten percent.
var tenSeconds = axis{from: 0, to: 10 * time.Second}

func TestAxisCutsAtItsEnds(t *testing.T) {
	for when, want := range map[time.Duration]percent{s(-3): 0, s(0): 0, s(4): 40, s(10): 100, s(99): 100} {
		if got := tenSeconds.at(when); got != want {
			t.Errorf("%s: got %s, want %s", when, got, want)
		}
	}
}

func TestAxisTicksAreFewAndRound(t *testing.T) {
	cases := map[string]struct {
		axis  axis
		want  int
		first percent
	}{
		"short":     {axis{s(-1), s(4)}, 4, 20},
		"usual":     {axis{s(-1), s(19)}, 10, 5},
		"minutes":   {axis{s(0), s(110)}, 11, 0},
		"very long": {axis{s(0), s(600)}, 10, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			ticks := tc.axis.ticks()
			if len(ticks) != tc.want || ticks[0].At != tc.first || ticks[0].Text != "0 s" {
				t.Errorf("got %d ticks %v, want %d from %s on", len(ticks), ticks, tc.want, tc.first)
			}
		})
	}
}

func TestAxisRowHasThePhasesOfALife(t *testing.T) {
	type shown struct {
		Class     string
		At, Width percent
	}
	cases := map[string]struct {
		at   map[moment]time.Duration
		want []shown
	}{
		"a new pod, gated": {
			map[moment]time.Duration{created: s(1), containersReady: s(2), registered: s(2), healthy: s(4), gateOpen: s(5), ready: s(5)},
			[]shown{{"starting", 10, 10}, {"waiting", 20, 30}, {"ready", 50, 50}, {"initial", 20, 20}, {"healthy", 40, 60}},
		},
		"a new pod, plain": {
			map[moment]time.Duration{created: s(1), containersReady: s(2), registered: s(3), healthy: s(4), ready: s(2)},
			[]shown{{"starting", 10, 10}, {"ready", 20, 80}, {"initial", 30, 10}, {"healthy", 40, 60}},
		},
		"an old pod, plain": {
			map[moment]time.Duration{
				created: s(-9), containersReady: s(-8), ready: s(-8), registered: s(-8), healthy: s(-6),
				deleted: s(1), sigterm: s(1), deregistered: s(2), gone: s(2), lastRequest: s(6),
			},
			[]shown{{"ready", 0, 10}, {"stopping", 10, 10}, {"healthy", 0, 20}, {"draining", 20, 40}},
		},
		"an old pod, gated": {
			map[moment]time.Duration{ready: s(-8), healthy: s(-6), deleted: s(1), deregistered: s(2), lastRequest: s(6), sigterm: s(7), gone: s(8)},
			[]shown{{"ready", 0, 10}, {"leaving", 10, 60}, {"stopping", 70, 10}, {"healthy", 0, 20}, {"draining", 20, 40}},
		},
		"deleted before it was Ready": {
			map[moment]time.Duration{created: s(1), deleted: s(2), gone: s(3)},
			[]shown{{"starting", 10, 10}, {"leaving", 20, 10}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got []shown
			for _, p := range tenSeconds.row(lane{Pod: "web-1-x", At: tc.at}, 0).Pieces {
				got = append(got, shown{p.Class, p.At, p.Width})
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("pieces (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAxisRowsHaveHeadings(t *testing.T) {
	rows, height := tenSeconds.rows([]lane{{Pod: "web-1-a"}, {Pod: "web-1-b"}, {Pod: "web-2-c", New: true}})
	var got []string
	for _, r := range rows {
		got = append(got, r.Heading+r.Suffix)
	}
	if diff := cmp.Diff([]string{"old pods", "a", "b", "new pods", "c"}, got); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	if want := stripHeight + 2*headHeight + 3*laneHeight; height != want {
		t.Errorf("height: got %d, want %d", height, want)
	}
}

func TestAxisBarsCountRequests(t *testing.T) {
	quarter := axis{from: -bucket, to: bucket}
	bars := quarter.bars(rollout{
		Answered: []time.Duration{-bucket, -1, 0, s(5), s(-5)}, Failed: []time.Duration{0, bucket - 1, bucket},
	}, 12)
	type counts struct{ Answered, Failed int }
	var got []counts
	for _, b := range bars {
		got = append(got, counts{b.AnsweredCount, b.FailedCount})
	}
	if diff := cmp.Diff([]counts{{2, 0}, {1, 2}}, got); diff != "" {
		t.Errorf("bars (-want +got):\n%s", diff)
	}
	// 12 a second are 3 in a bucket, so the second bar has full height.
	if got := bars[1].FailedY; math.Abs(got-(stripFloor-stripBars)) > 1e-9 {
		t.Errorf("top of the second bar: got %v, want %d", got, stripFloor-stripBars)
	}
}

func TestAxisNoteOnlyWhereThereIsRoom(t *testing.T) {
	for end, want := range map[time.Duration]bool{s(3): true, s(9): false} {
		note := tenSeconds.note(lane{At: map[moment]time.Duration{gone: s(1), lastRequest: end}, Failed: []time.Duration{s(2)}})
		if (note != nil) != want {
			t.Errorf("end %s: got note %v, want one: %v", end, note, want)
		}
	}
	if note := tenSeconds.note(lane{Failed: []time.Duration{s(2)}}); note != nil {
		t.Errorf("a lane that does not end: got note %v", note)
	}
}
