// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/endpoints"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

func emptyGroup() *group {
	return newGroup(&v1beta1.TargetGroupBinding{}, newSubnets(), noon)
}

// register runs one registration from noon to noon plus took.
func (g *group) registerForTest(target elbv2.Target, took time.Duration, err error) {
	g.toRegister = registrations{target: "a"}
	batch, zones := g.takeRegistrations(context.Background(), false)
	g.registrationDone(batch, zones, noon.Add(took), err)
}

func TestGroupRegistrationBecomesInitial(t *testing.T) {
	g := emptyGroup()
	g.registerForTest(one, 0, nil)
	want := entry{
		presence: registered, owner: "a", ownedAt: noon, calledAt: noon, since: noon,
		health: elbv2.Health{
			State: elbv2.StateInitial, Reason: "Elb.RegistrationInProgress", Description: "Target registration is in progress",
		},
	}
	if diff := cmp.Diff(want, *g.entries[one], cmp.AllowUnexported(entry{})); diff != "" {
		t.Errorf("entry (-want +got):\n%s", diff)
	}
}

func TestGroupFailedRegistrationProvesNothing(t *testing.T) {
	g := emptyGroup()
	g.registerForTest(one, 0, errors.New("no answer"))
	want := entry{failedAt: noon, refusal: "no answer", tried: "a"}
	if diff := cmp.Diff(want, *g.entries[one], cmp.AllowUnexported(entry{})); diff != "" {
		t.Errorf("after a failed registration (-want +got):\n%s", diff)
	}
}

// Rule 5: a registration that failed may have had its effect; the pod that leaves is deregistered all the same.
func TestGroupLeavingPodOfFailedRegistrationIsDeregistered(t *testing.T) {
	g := emptyGroup()
	g.registerForTest(one, 0, errors.New("no answer"))
	entries, _ := g.snapshot()
	p := planOf(listed(endpoints.Endpoint{Target: one, State: endpoints.Terminating, UID: "a"}), entries)
	r := &Registrar{DriftInterval: testDrift}
	if pause := r.wholePause(entries, nil, false); len(p.deregister) != 1 || pause != pollUnsettled {
		t.Errorf("plan %+v, next reading after %s; want the target deregistered and another reading soon", p, pause)
	}
	g.readingDone(nil, noon.Add(time.Second), noon.Add(time.Second), nil, nil)
	if entries, _ := g.snapshot(); len(entries) != 0 {
		t.Errorf("after a reading without the target: %+v, want it forgotten", entries)
	}
}

func TestGroupFailedReadingShowsNothing(t *testing.T) {
	g := emptyGroup()
	g.registerForTest(one, 0, nil)
	g.readingDone(nil, noon.Add(time.Hour), noon.Add(time.Hour), nil, errors.New("no answer"))
	if entries, complete := g.snapshot(); complete || entries[one].presence != registered {
		t.Errorf("after a failed reading: complete %v, entries %+v; want neither read nor emptied", complete, entries)
	}
}

func TestGroupSuspicionIsWithdrawnWhenThePodShowsUp(t *testing.T) {
	g := emptyGroup()
	g.readingDone(nil, noon, noon, map[elbv2.Target]elbv2.Health{one: healthy}, nil)
	entries, _ := g.snapshot()
	g.settleDepartures(planOf(nil, entries), noon)
	g.settleDepartures(planOf(listed(endpoints.Endpoint{Target: one, State: endpoints.Undetermined, UID: "a"}), entries), noon)
	g.readingDone(nil, noon.Add(time.Hour), noon.Add(time.Hour), map[elbv2.Target]elbv2.Health{one: healthy}, nil)
	entries, _ = g.snapshot()
	if p := planOf(nil, entries); len(p.deregister) != 0 {
		t.Errorf("plan %+v, want the target suspected anew and not deregistered", p)
	}
}

// Rule 2: the health that an earlier pod at the address left behind does not count.
func TestGroupDistrustsHealthOfEarlierPod(t *testing.T) {
	facts := &v1beta1.TargetGroupFacts{HealthCheck: v1beta1.HealthCheckFacts{IntervalSeconds: 10, TimeoutSeconds: 5, UnhealthyThreshold: 2}}
	initial := elbv2.Health{State: elbv2.StateInitial}
	tests := map[string]struct {
		before   entry
		readings map[time.Duration]elbv2.Health // by time after the registration
		want     elbv2.State
	}{
		"new target":            {readings: map[time.Duration]elbv2.Health{time.Second: healthy}, want: elbv2.StateHealthy},
		"registered already":    {before: entry{presence: registered}, readings: map[time.Duration]elbv2.Health{time.Second: healthy}},
		"drains since just now": {before: entry{presence: draining, calledAt: noon}, readings: map[time.Duration]elbv2.Health{time.Second: healthy}},
		"initial in between":    {before: entry{presence: draining, calledAt: noon}, readings: map[time.Duration]elbv2.Health{time.Second: initial, 2 * time.Second: healthy}, want: elbv2.StateHealthy},
		"drains for long": {
			before: entry{presence: draining, calledAt: noon.Add(-settleTime)}, readings: map[time.Duration]elbv2.Health{time.Second: healthy},
			want: elbv2.StateHealthy,
		},
		"healthy after two checks could fail":  {before: entry{presence: registered}, readings: map[time.Duration]elbv2.Health{25 * time.Second: healthy}, want: elbv2.StateHealthy},
		"healthy before two checks could fail": {before: entry{presence: registered}, readings: map[time.Duration]elbv2.Health{24 * time.Second: healthy}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			g := emptyGroup()
			g.facts = facts
			if tc.before != (entry{}) {
				g.entries[one] = &tc.before
			}
			g.registerForTest(one, 0, nil)
			for _, after := range slices.Sorted(maps.Keys(tc.readings)) {
				at := noon.Add(after)
				g.readingDone(nil, at, at, map[elbv2.Target]elbv2.Health{one: tc.readings[after]}, nil)
			}
			if got := g.entries[one].healthOf("a").State; got != tc.want {
				t.Errorf("health %q, want %q", got, tc.want)
			}
		})
	}
}

// Rule 5: a deregistration that failed is repeated at once, also while the registration it crossed hangs.
func TestGroupFailedDeregistrationThatCrossedIsRepeated(t *testing.T) {
	g := emptyGroup()
	g.toRegister = registrations{one: "a"}
	g.takeRegistrations(t.Context(), false)
	g.toDeregister = departures{one: departure{since: noon}}
	out, _ := g.takeDeregistrations(t.Context())
	g.deregistrationDone(out, noon, errors.New("no answer"))
	entries, _ := g.snapshot()
	if p := planOf(listed(endpoints.Endpoint{Target: one, State: endpoints.Terminating, UID: "a"}), entries); len(p.deregister) != 1 {
		t.Errorf("plan %+v, want the target deregistered again", p)
	}
}

func TestGroupReadingAndOwnCalls(t *testing.T) {
	shown := map[elbv2.Target]elbv2.Health{one: healthy}
	tests := map[string]struct {
		before  entry
		reading map[elbv2.Target]elbv2.Health
		started time.Duration // after noon
		want    presence
	}{
		"a target that appeared":                        {reading: shown, want: registered},
		"a target that drains":                          {before: entry{presence: registered}, reading: map[elbv2.Target]elbv2.Health{one: {State: elbv2.StateDraining}}, want: draining},
		"a target that vanished":                        {before: entry{presence: registered}, want: absent},
		"registered while the reading ran":              {before: entry{presence: registered, calledAt: noon.Add(2 * time.Second)}, started: time.Second, want: registered},
		"registration under way":                        {before: entry{registering: true}, reading: shown, want: absent},
		"deregistration under way":                      {before: entry{presence: registered, deregistering: true}, want: registered},
		"registered just now and not shown yet":         {before: entry{presence: registered, calledAt: noon}, started: 9 * time.Second, want: registered},
		"registered long ago and not shown":             {before: entry{presence: registered, calledAt: noon}, started: 11 * time.Second, want: absent},
		"deregistered just now and shown as before":     {before: entry{presence: draining, calledAt: noon}, reading: shown, started: 9 * time.Second, want: draining},
		"deregistered long ago and somebody's again":    {before: entry{presence: draining, calledAt: noon}, reading: shown, started: 11 * time.Second, want: registered},
		"deregistered just now and gone already":        {before: entry{presence: draining, calledAt: noon}, started: time.Second, want: absent},
		"registered just now and drains, by a stranger": {before: entry{presence: registered, calledAt: noon}, reading: map[elbv2.Target]elbv2.Health{one: {State: elbv2.StateDraining}}, started: 11 * time.Second, want: draining},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			g := emptyGroup()
			if tc.before != (entry{}) {
				g.entries[one] = &tc.before
			}
			g.readingDone(nil, noon.Add(tc.started), noon.Add(tc.started), tc.reading, nil)
			entries, _ := g.snapshot()
			if got := entries[one].presence; got != tc.want {
				t.Errorf("presence %d, want %d", got, tc.want)
			}
		})
	}
}

// Rule 5: nobody knows which of two crossing calls AWS saw first.
func TestGroupDeregistrationThatCrossedRegistrationIsRepeated(t *testing.T) {
	for name, registrationFirst := range map[string]bool{"registration answered first": true, "deregistration answered first": false} {
		t.Run(name, func(t *testing.T) {
			g := emptyGroup()
			g.toRegister = registrations{one: "a"}
			in, zones := g.takeRegistrations(t.Context(), false)
			g.toDeregister = departures{one: departure{since: noon}}
			out, _ := g.takeDeregistrations(t.Context())
			if registrationFirst {
				g.registrationDone(in, zones, noon, nil)
				g.deregistrationDone(out, noon, nil)
			} else {
				g.deregistrationDone(out, noon, nil)
				g.registrationDone(in, zones, noon, nil)
			}
			entries, _ := g.snapshot()
			p := planOf(listed(endpoints.Endpoint{Target: one, State: endpoints.Terminating, UID: "a"}), entries)
			if len(p.deregister) != 1 {
				t.Errorf("plan %+v, want the target deregistered once more", p)
			}
		})
	}
}

func TestGroupBatchesHoldAtMost200(t *testing.T) {
	g := emptyGroup()
	g.toRegister = registrations{}
	for i := range 450 {
		g.toRegister[elbv2.Target{ID: "10.0.0.1", Port: int32(i + 1)}] = "a"
	}
	var sizes []int
	for len(g.toRegister) > 0 {
		batch, _ := g.takeRegistrations(t.Context(), false)
		sizes = append(sizes, len(batch))
	}
	if diff := cmp.Diff([]int{200, 200, 50}, sizes); diff != "" {
		t.Errorf("batches (-want +got):\n%s", diff)
	}
}

func TestLaneBackOffIsCappedAndCleared(t *testing.T) {
	l := lane{maxBackoff: maxCallBackoff}
	var longest time.Duration
	for range 20 {
		l.begin()
		l.end(noon, errors.New("no"))
		longest = max(longest, l.retryAt.Sub(noon))
	}
	if longest > maxCallBackoff || longest < maxCallBackoff*4/5 {
		t.Errorf("longest back-off %s, want close to and at most %s", longest, maxCallBackoff)
	}
	if l.ready(noon) {
		t.Error("a call may start during the back-off")
	}
	l.begin()
	l.end(noon, nil)
	if !l.ready(noon) || l.err != nil {
		t.Errorf("after a success: %+v, want ready and no error", l)
	}
}
