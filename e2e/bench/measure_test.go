// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/targetgate/targetgate/e2e/emulator/state"
	"github.com/targetgate/targetgate/e2e/emulator/wire"
)

const (
	group = "arn:group"
	other = "arn:other"
	ip    = "10.32.0.2"
)

var start = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

// at is that many milliseconds after the start.
func at(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }

func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }

func keys(ips ...string) []state.Key {
	var all []state.Key
	for _, ip := range ips {
		all = append(all, state.Key{ID: ip, Port: 8080})
	}
	return all
}

func changed(group, ip string, to state.HealthState, when time.Time) state.Event {
	return state.Event{
		Time: when, Kind: state.Changed, Group: group, Target: state.Target{Key: state.Key{ID: ip, Port: 8080}}, To: state.Health{State: to},
	}
}

// seen is what there is about pods of the namespace web.
func seen(pods []sighting, journal []state.Event, calls []wire.Call) evidence {
	return evidence{since: start, groups: map[string]string{"web": group}, pods: pods, journal: journal, calls: calls}
}

func TestGatesMatchesJournalToWatch(t *testing.T) {
	pod := func(open time.Time) []sighting { return []sighting{{App: "web", IP: ip, GateOpen: open}} }
	cases := map[string]struct {
		pods      []sighting
		journal   []state.Event
		want      []time.Duration
		wantEarly int
	}{
		"opened after healthy":        {pod(at(700)), []state.Event{changed(group, ip, state.Healthy, at(200))}, []time.Duration{ms(500)}, 0},
		"only the first healthy":      {pod(at(700)), []state.Event{changed(group, ip, state.Healthy, at(200)), changed(group, ip, state.Healthy, at(600))}, []time.Duration{ms(500)}, 0},
		"opened before healthy":       {pod(at(100)), []state.Event{changed(group, ip, state.Healthy, at(200))}, nil, 1},
		"never healthy":               {pod(at(100)), []state.Event{changed(group, ip, state.Unhealthy, at(50))}, nil, 1},
		"healthy in another group":    {pod(at(700)), []state.Event{changed(other, ip, state.Healthy, at(200))}, nil, 1},
		"another pod is healthy":      {pod(at(700)), []state.Event{changed(group, "10.32.0.3", state.Healthy, at(200))}, nil, 1},
		"opened before what is meant": {pod(at(-1)), nil, nil, 0},
		"not opened":                  {pod(time.Time{}), []state.Event{changed(group, ip, state.Healthy, at(200))}, nil, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := seen(tc.pods, tc.journal, nil).gates()
			if diff := cmp.Diff(tc.want, got.open); diff != "" || got.early != tc.wantEarly {
				t.Errorf("%d early, want %d; delays (-want +got):\n%s", got.early, tc.wantEarly, diff)
			}
		})
	}
}

func TestGatesDividesDelayAtTheReading(t *testing.T) {
	read := func(answered int, ips ...string) wire.Call {
		return wire.Call{Operation: describeHealth, TargetGroup: group, Targets: keys(ips...), Answered: at(answered)}
	}
	cases := map[string]struct {
		calls                 []wire.Call
		wantRead, wantWritten []time.Duration
	}{
		"of the whole group": {[]wire.Call{read(100), read(500), read(600)}, []time.Duration{ms(300)}, []time.Duration{ms(200)}},
		"of some targets":    {[]wire.Call{read(300, "10.32.0.3"), read(600, "10.32.0.3", ip)}, []time.Duration{ms(400)}, []time.Duration{ms(100)}},
		"not before it":      {[]wire.Call{read(100), read(800)}, nil, nil},
		"refused":            {[]wire.Call{{Operation: describeHealth, TargetGroup: group, Answered: at(300), Code: "Throttling"}}, nil, nil},
		"of another group":   {[]wire.Call{{Operation: describeHealth, TargetGroup: other, Answered: at(300)}}, nil, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			pods := []sighting{{App: "web", IP: ip, GateOpen: at(700)}}
			got := seen(pods, []state.Event{changed(group, ip, state.Healthy, at(200))}, tc.calls).gates()
			if diff := cmp.Diff([][]time.Duration{tc.wantRead, tc.wantWritten}, [][]time.Duration{got.read, got.written}); diff != "" {
				t.Errorf("read, written (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDeparturesMatchesCallsToWatch(t *testing.T) {
	pod := func(deleted time.Time) []sighting { return []sighting{{App: "web", IP: ip, Deleted: deleted}} }
	call := func(answered time.Time, change func(*wire.Call)) wire.Call {
		c := wire.Call{Operation: deregister, TargetGroup: group, Targets: keys("10.32.0.9", ip), Answered: answered}
		if change != nil {
			change(&c)
		}
		return c
	}
	cases := map[string]struct {
		pods      []sighting
		calls     []wire.Call
		want      []time.Duration
		wantNever int
	}{
		"deregistered":            {pod(at(100)), []wire.Call{call(at(150), nil)}, []time.Duration{ms(50)}, 0},
		"twice":                   {pod(at(100)), []wire.Call{call(at(150), nil), call(at(900), nil)}, []time.Duration{ms(50)}, 0},
		"before it was deleted":   {pod(at(100)), []wire.Call{call(at(50), nil)}, []time.Duration{0}, 0},
		"before and after":        {pod(at(100)), []wire.Call{call(at(50), nil), call(at(180), nil)}, []time.Duration{ms(80)}, 0},
		"refused":                 {pod(at(100)), []wire.Call{call(at(150), func(c *wire.Call) { c.Code = "Throttling" })}, nil, 1},
		"registered":              {pod(at(100)), []wire.Call{call(at(150), func(c *wire.Call) { c.Operation = register })}, nil, 1},
		"another group":           {pod(at(100)), []wire.Call{call(at(150), func(c *wire.Call) { c.TargetGroup = other })}, nil, 1},
		"another target":          {pod(at(100)), []wire.Call{call(at(150), func(c *wire.Call) { c.Targets = keys("10.32.0.9") })}, nil, 1},
		"deleted before the mark": {pod(at(-100)), nil, nil, 0},
		"not deleted":             {pod(time.Time{}), nil, nil, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, never := seen(tc.pods, nil, tc.calls).departures()
			if diff := cmp.Diff(tc.want, got); diff != "" || never != tc.wantNever {
				t.Errorf("%d never, want %d; delays (-want +got):\n%s", never, tc.wantNever, diff)
			}
		})
	}
}

func TestQuantileIsOneOfTheValues(t *testing.T) {
	ten := []time.Duration{10, 9, 8, 7, 6, 5, 4, 3, 2, 1}
	cases := map[string]struct {
		values []time.Duration
		share  float64
		want   time.Duration
	}{
		"none":             {nil, 0.5, 0},
		"one":              {[]time.Duration{7}, 0.5, 7},
		"median, even":     {ten, 0.5, 5},
		"median, odd":      {ten[:9], 0.5, 6},
		"90 %":             {ten, 0.9, 9},
		"90 % of few":      {ten[:3], 0.9, 10},
		"most":             {ten, 1, 10},
		"least":            {ten, 0, 1},
		"input not sorted": {[]time.Duration{3, 1, 2}, 1, 3},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := quantile(tc.values, tc.share); got != tc.want {
				t.Errorf("got %d, want %d", got, tc.want)
			}
		})
	}
}

func TestPeakSlidesItsWindow(t *testing.T) {
	describes := func(received ...int) []wire.Call {
		var calls []wire.Call
		for _, when := range received {
			calls = append(calls, wire.Call{Operation: describeHealth, Received: at(when)})
		}
		return calls
	}
	cases := map[string]struct {
		calls []wire.Call
		want  int
	}{
		"none":                    {nil, 0},
		"over a full second":      {describes(900, 1100, 1899), 3},
		"a second apart":          {describes(0, 1000, 2000), 1},
		"not in order":            {describes(1900, 0, 1100, 1200), 3},
		"most are not at the end": {describes(0, 10, 20, 5000), 3},
		"others do not count":     {append(describes(0), wire.Call{Operation: register, Received: at(1)}), 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := peak(tc.calls, isDescribe, time.Second); got != tc.want {
				t.Errorf("got %d, want %d", got, tc.want)
			}
		})
	}
}

func TestReadingsAreOfWholeGroups(t *testing.T) {
	calls := []wire.Call{
		{Operation: describeHealth, TargetGroup: group, Answered: at(1), Code: "Throttling"},
		{Operation: describeHealth, TargetGroup: group, Answered: at(2), Targets: keys(ip)},
		{Operation: describeHealth, TargetGroup: group, Answered: at(3)},
		{Operation: describeHealth, TargetGroup: group, Answered: at(4)},
		{Operation: "DescribeTargetGroups", TargetGroup: other, Answered: at(5)},
	}
	if diff := cmp.Diff(map[string]time.Time{group: at(3)}, readings(calls)); diff != "" {
		t.Errorf("readings (-want +got):\n%s", diff)
	}
}

func TestCallsAreCounted(t *testing.T) {
	calls := []wire.Call{
		{Operation: register}, {Operation: register, Throttled: true}, {Operation: deregister}, {Operation: describeHealth},
		{Operation: "DescribeTargetGroups"}, {Operation: "AssumeRole"},
	}
	want := map[string]int{"all": 6, "targets": 3, "describes": 2, "health": 1, "throttled": 1}
	got := map[string]int{
		"all": len(calls), "targets": matching(calls, changesTargets), "describes": matching(calls, isDescribe),
		"health": matching(calls, isOf(describeHealth)), "throttled": matching(calls, isThrottled),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	wantBy := map[string]int{register: 2, deregister: 1, describeHealth: 1, "DescribeTargetGroups": 1, "AssumeRole": 1}
	if diff := cmp.Diff(wantBy, byOperation(calls)); diff != "" {
		t.Errorf("by operation (-want +got):\n%s", diff)
	}
}
