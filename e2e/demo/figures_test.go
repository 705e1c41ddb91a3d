// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/targetgate/targetgate/e2e/emulator/dataplane"
	"github.com/targetgate/targetgate/e2e/load"
)

func TestReportVerdict(t *testing.T) {
	fine, bad := load.Result{Requests: 10}, load.Result{Requests: 10, Failed: 2, ByStatus: map[string]int{"200": 8, "502": 2}}
	cases := map[string]struct {
		gated, plain load.Result
		want         string
	}{
		"as it should be":      {fine, bad, ""},
		"gated lost some":      {bad, bad, "the gated rollout lost 2 of 10 requests (2 × 502)"},
		"plain lost nothing":   {fine, fine, "the plain rollout lost no request either"},
		"nothing was sent":     {load.Result{}, bad, "no request was sent"},
		"nothing sent, plain":  {fine, load.Result{}, "no request was sent"},
		"gated lost, plain ok": {bad, fine, "the gated rollout lost 2"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			shown := act{Gated: rollout{Load: fine}, Plain: rollout{Load: bad}}
			asked := act{Gated: rollout{Load: tc.gated}, Plain: rollout{Load: tc.plain}}
			for _, r := range []report{{First: asked, Second: shown}, {First: shown, Second: asked}} {
				r.Third = thirdAct{Page: fine, API: fine}
				err := r.verdict()
				if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
					t.Errorf("got %v, want %q", err, tc.want)
				}
			}
		})
	}
}

func TestVerdictOfTheThirdAct(t *testing.T) {
	fine := load.Result{Requests: 10}
	bad := load.Result{Requests: 10, Failed: 1, ByStatus: map[string]int{"200": 9, load.Stranger: 1}}
	for _, tc := range []struct {
		act  thirdAct
		want string
	}{
		{thirdAct{Page: fine, API: fine}, ""},
		{thirdAct{Page: bad, API: fine}, "1 of 10 requests to / failed (1 × answered by another)"},
		{thirdAct{Page: fine, API: bad}, "1 of 10 requests to /api failed"},
		{thirdAct{Page: fine}, "no request was sent"},
	} {
		err := tc.act.verdict()
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("got %v, want %q", err, tc.want)
		}
	}
}

func TestTookIsTheLastReadyOrDeleted(t *testing.T) {
	lanes := []lane{
		{At: map[moment]time.Duration{deleted: s(8), gone: s(20), ready: s(-30)}},
		{New: true, At: map[moment]time.Duration{ready: s(7), lastRequest: s(30)}},
	}
	if got := took(lanes, 1); got != s(8) {
		t.Errorf("got %s, want 8s", got)
	}
	if got := took(lanes, 2); got != 0 {
		t.Errorf("a new pod is missing: got %s, want 0", got)
	}
	if got := took(append(lanes, lane{New: true}), 1); got != 0 {
		t.Errorf("a new pod is not Ready: got %s, want 0", got)
	}
}

func TestRolloutBlame(t *testing.T) {
	r := rollout{Load: load.Result{Failed: 6}, Lanes: []lane{
		{At: map[moment]time.Duration{sigterm: s(2)}, Failed: []time.Duration{s(1), s(2), s(3)}},
		{New: true, At: map[moment]time.Duration{healthy: s(4)}, Failed: []time.Duration{s(3), s(5)}},
	}}
	if got, want := r.blame(), (blame{stopping: 2, before: 1, unhealthy: 1, other: 2}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestAnsweredLeavesFailuresAndOthersOut(t *testing.T) {
	got := answered([]dataplane.Request{
		{Start: at(1), Group: group, Status: 200}, {Start: at(2), Group: group, Status: 502}, {Start: at(3), Group: otherGroup, Status: 200},
	}, group, start)
	if diff := cmp.Diff([]time.Duration{s(1)}, got); diff != "" {
		t.Errorf("times (-want +got):\n%s", diff)
	}
}

func TestLaneRemark(t *testing.T) {
	cases := map[string]struct {
		at        map[moment]time.Duration
		of        moment
		want      string
		wantEarly bool
	}{
		"Ready after healthy":     {map[moment]time.Duration{healthy: s(1), ready: s(3)}, ready, "2.0 s after healthy", false},
		"Ready too early":         {map[moment]time.Duration{healthy: s(3), ready: s(1)}, ready, "2.0 s before healthy", true},
		"stopped in time":         {map[moment]time.Duration{lastRequest: s(1), sigterm: s(4)}, sigterm, "3.0 s after last request", false},
		"stopped too early":       {map[moment]time.Duration{lastRequest: s(4), sigterm: s(1)}, sigterm, "3.0 s before last request", true},
		"never healthy":           {map[moment]time.Duration{ready: s(1)}, ready, "", false},
		"never Ready":             {map[moment]time.Duration{healthy: s(1)}, ready, "", false},
		"a moment without remark": {map[moment]time.Duration{gone: s(1)}, gone, "", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l := lane{At: tc.at}
			if got := l.remark(tc.of); got != tc.want {
				t.Errorf("remark: got %q, want %q", got, tc.want)
			}
			if got := l.early(tc.of); got != tc.wantEarly {
				t.Errorf("early: got %v, want %v", got, tc.wantEarly)
			}
		})
	}
}
