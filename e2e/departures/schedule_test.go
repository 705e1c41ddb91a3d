// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package departures

import (
	"testing"
	"time"
)

func TestLateOfTheBestSchedule(t *testing.T) {
	due := func(group string, known, deadline float64) Due {
		return Due{Group: group, Known: at(known), Deadline: at(deadline)}
	}
	tests := map[string]struct {
		departures []Due
		calls      []float64
		want       int
	}{
		"nothing to do":              {calls: []float64{1}},
		"no calls":                   {departures: []Due{due("a", 0, 1), due("b", 0, 1)}, want: 2},
		"a call for each":            {departures: []Due{due("a", 0, 2), due("b", 0, 2)}, calls: []float64{1, 2}},
		"one call too few":           {departures: []Due{due("a", 0, 2), due("b", 0, 2)}, calls: []float64{1}, want: 1},
		"one call for a group":       {departures: []Due{due("a", 0, 2), due("a", 1, 2)}, calls: []float64{1}},
		"known after the call":       {departures: []Due{due("a", 0, 2), due("a", 1.5, 2)}, calls: []float64{1}, want: 1},
		"call after the deadline":    {departures: []Due{due("a", 0, 2)}, calls: []float64{3}, want: 1},
		"call at the deadline":       {departures: []Due{due("a", 0, 2)}, calls: []float64{2}},
		"first deadline goes first":  {departures: []Due{due("a", 0, 9), due("b", 0, 1)}, calls: []float64{1, 2}},
		"late ones take no call":     {departures: []Due{due("a", 0, 1), due("b", 0, 2)}, calls: []float64{2}, want: 1},
		"calls may come in disorder": {departures: []Due{due("a", 0, 1), due("b", 0, 2)}, calls: []float64{2, 1}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var calls []time.Time
			for _, call := range tc.calls {
				calls = append(calls, at(call))
			}
			if got := Late(tc.departures, calls); got != tc.want {
				t.Errorf("%d are late, want %d", got, tc.want)
			}
		})
	}
}
