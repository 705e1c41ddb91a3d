// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targetgroup

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/targetgate/targetgate/aws/budget"
	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/fixture"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

var (
	noon, one, two, three, healthy = fixture.Noon, fixture.One, fixture.Two, fixture.Three, fixture.Healthy
)

func emptyGroup() *Group {
	return New(&v1beta1.TargetGroupBinding{}, NewSubnets(), noon)
}

// registerForTest runs one registration from noon to noon plus took.
func (g *Group) registerForTest(target elbv2.Target, took time.Duration, err error) {
	g.registration.pending = Registrations{target: "a"}
	batch, zones := g.takeRegistrations(context.Background(), false)
	g.registerDone(batch, zones, noon.Add(took), err)
}

// goes reports whether a plan deregisters the target of a pod that leaves.
func (g *Group) goes(target elbv2.Target) bool {
	t := g.Snapshot().Targets[target]
	return (t.MayBeIn() || t.Registering) && t.Leavable()
}

func TestGroupRegistrationBecomesInitial(t *testing.T) {
	g := emptyGroup()
	g.registerForTest(one, 0, nil)
	want := Target{
		Presence: Registered, Owner: "a", OwnedAt: noon, CalledAt: noon, Since: noon,
		Health: elbv2.Health{
			State: elbv2.StateInitial, Reason: "Elb.RegistrationInProgress", Description: "Target registration is in progress",
		},
	}
	if diff := cmp.Diff(want, *g.seen.targets[one]); diff != "" {
		t.Errorf("entry (-want +got):\n%s", diff)
	}
}

func TestGroupFailedRegistrationProvesNothing(t *testing.T) {
	g := emptyGroup()
	g.registerForTest(one, 0, errors.New("no answer"))
	want := Target{FailedAt: noon, Refusal: "no answer", Tried: "a"}
	if diff := cmp.Diff(want, *g.seen.targets[one]); diff != "" {
		t.Errorf("after a failed registration (-want +got):\n%s", diff)
	}
}

// Rule 5: a registration that failed may have had its effect; the pod that leaves is deregistered all the same.
func TestGroupLeavingPodOfFailedRegistrationIsDeregistered(t *testing.T) {
	g := emptyGroup()
	g.registerForTest(one, 0, errors.New("no answer"))
	if !g.goes(one) {
		t.Errorf("after a failed registration: %+v, want the target deregistered", g.Snapshot().Targets[one])
	}
	g.readNothing(time.Second)
	g.readNothing(time.Second + elbv2.OmissionTime)
	if targets := g.Snapshot().Targets; len(targets) != 0 {
		t.Errorf("after two readings without the target: %+v, want it forgotten", targets)
	}
}

// readNothing takes a reading that was started that long after noon and does not show a target.
func (g *Group) readNothing(after time.Duration) {
	g.readDone(nil, noon.Add(after), noon.Add(after), nil, nil)
}

// One reading may leave a target out that is there: only a second one, some time later, says that it is not.
func TestGroupForgetsTargetThatTwoReadingsDoNotShow(t *testing.T) {
	shown := func(g *Group) {
		g.readDone(nil, noon.Add(3*time.Second), noon.Add(3*time.Second), map[elbv2.Target]elbv2.Health{one: healthy}, nil)
	}
	for name, tc := range map[string]struct {
		before  func(g *Group)
		between func(g *Group)
		first   time.Duration // after noon
		second  time.Duration // after the first
		want    bool          // it may be in the group
	}{
		"shown before":             {before: shown, first: 5 * time.Second, second: elbv2.OmissionTime},
		"soon one after the other": {before: shown, first: 5 * time.Second, second: elbv2.OmissionTime - 1, want: true},
		"shown in between":         {before: shown, between: shown, first: time.Second, second: 2 * elbv2.OmissionTime, want: true},
		"expected":                 {before: func(g *Group) { g.Expect(slices.Values([]elbv2.Target{one}), noon) }, first: time.Second, second: elbv2.OmissionTime},
		"expected, and soon after": {before: func(g *Group) { g.Expect(slices.Values([]elbv2.Target{one}), noon) }, first: time.Second, second: 1, want: true},
		"registered without an answer": {
			before: func(g *Group) { g.registerForTest(one, 0, errors.New("no answer")) }, first: time.Second, second: elbv2.OmissionTime,
		},
		"registered without an answer in between": {
			before:  func(g *Group) { g.Expect(slices.Values([]elbv2.Target{one}), noon) },
			between: func(g *Group) { g.registerForTest(one, 2*time.Second, errors.New("no answer")) },
			first:   time.Second, second: elbv2.OmissionTime, want: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := emptyGroup()
			tc.before(g)
			g.readNothing(tc.first)
			if got := g.Snapshot().Targets[one]; !got.MayBeIn() {
				t.Errorf("after one reading without the target: %+v, want that it may be in the group", got)
			}
			if tc.between != nil {
				tc.between(g)
			}
			g.readNothing(tc.first + tc.second)
			if got, known := g.Snapshot().Targets[one]; known != tc.want || got.MayBeIn() != tc.want {
				t.Errorf("after two readings without the target: %+v, want that it may be in the group: %t", got, tc.want)
			}
		})
	}
}

func TestGroupFailedReadingShowsNothing(t *testing.T) {
	g := emptyGroup()
	g.registerForTest(one, 0, nil)
	g.readDone(nil, noon.Add(time.Hour), noon.Add(time.Hour), nil, errors.New("no answer"))
	if s := g.Snapshot(); s.Complete() || s.Targets[one].Presence != Registered {
		t.Errorf("after a failed reading: %+v; want neither read nor emptied", s)
	}
}

func TestGroupTargetIsExplainedWhenThePodShowsUp(t *testing.T) {
	g := emptyGroup()
	shown := map[elbv2.Target]elbv2.Health{one: healthy}
	g.readDone(nil, noon, noon, shown, nil)
	g.planDeregistrations(Changes{Unexplained: map[elbv2.Target]struct{}{one: {}}}, noon)
	g.readDone(nil, noon.Add(time.Hour), noon.Add(time.Hour), shown, nil)
	g.planDeregistrations(Changes{Unexplained: map[elbv2.Target]struct{}{one: {}}}, noon)
	if since := g.Snapshot().Targets[one].UnexplainedAt; !since.Equal(noon) {
		t.Errorf("unexplained since %s, want since the first pass that found so", since)
	}
	g.planDeregistrations(Changes{}, noon)
	if since := g.Snapshot().Targets[one].UnexplainedAt; !since.IsZero() {
		t.Errorf("unexplained since %s, want the target explained", since)
	}
}

// Rule 2: the health that an earlier pod at the address left behind does not count.
func TestGroupDistrustsHealthOfEarlierPod(t *testing.T) {
	settings := &v1beta1.TargetGroupSettings{HealthCheck: v1beta1.HealthCheckSettings{IntervalSeconds: 10, TimeoutSeconds: 5, UnhealthyThreshold: 2}}
	initial := elbv2.Health{State: elbv2.StateInitial}
	tests := map[string]struct {
		before   Target
		readings map[time.Duration]elbv2.Health // by time after the registration
		want     elbv2.State
	}{
		"new target":            {readings: map[time.Duration]elbv2.Health{time.Second: healthy}, want: elbv2.StateHealthy},
		"registered already":    {before: Target{Presence: Registered}, readings: map[time.Duration]elbv2.Health{time.Second: healthy}},
		"drains since just now": {before: Target{Presence: Draining, CalledAt: noon}, readings: map[time.Duration]elbv2.Health{time.Second: healthy}},
		"initial in between":    {before: Target{Presence: Draining, CalledAt: noon}, readings: map[time.Duration]elbv2.Health{time.Second: initial, 2 * time.Second: healthy}, want: elbv2.StateHealthy},
		"drains for long": {
			before: Target{Presence: Draining, CalledAt: noon.Add(-elbv2.SettleTime)}, readings: map[time.Duration]elbv2.Health{time.Second: healthy},
			want: elbv2.StateHealthy,
		},
		"healthy after two checks could fail":  {before: Target{Presence: Registered}, readings: map[time.Duration]elbv2.Health{25 * time.Second: healthy}, want: elbv2.StateHealthy},
		"healthy before two checks could fail": {before: Target{Presence: Registered}, readings: map[time.Duration]elbv2.Health{24 * time.Second: healthy}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			g := emptyGroup()
			g.settings.last = settings
			if tc.before != (Target{}) {
				g.seen.targets[one] = &tc.before
			}
			g.registerForTest(one, 0, nil)
			for _, after := range slices.Sorted(maps.Keys(tc.readings)) {
				at := noon.Add(after)
				g.readDone(nil, at, at, map[elbv2.Target]elbv2.Health{one: tc.readings[after]}, nil)
			}
			if got := g.seen.targets[one].HealthOf("a").State; got != tc.want {
				t.Errorf("health %q, want %q", got, tc.want)
			}
		})
	}
}

// Rule 5: a deregistration that failed is repeated at once, also while the registration it crossed hangs.
func TestGroupFailedDeregistrationThatCrossedIsRepeated(t *testing.T) {
	g := emptyGroup()
	g.registration.pending = Registrations{one: "a"}
	g.takeRegistrations(t.Context(), false)
	g.deregistration.pending = Deregistrations{one: {Since: noon}}
	out, _ := g.takeDeregistrations(t.Context(), noon)
	g.deregisterDone(out, noon, errors.New("no answer"))
	if !g.goes(one) {
		t.Errorf("%+v, want the target deregistered again", g.Snapshot().Targets[one])
	}
}

// Rule 5: a pod whose address was another's a moment ago may leave before its registration has an answer. A call without targets would
// have the pass begin anew at once, again and again until then.
func TestGroupDeregistersWhatMayComeBackWhileItDrains(t *testing.T) {
	tests := map[string]struct {
		target Target
		want   bool
	}{
		"it drains":                            {target: Target{Presence: Draining}},
		"its registration is under way":        {target: Target{Presence: Draining, Registering: true}, want: true},
		"its registration was not answered":    {target: Target{Presence: Draining, FailedAt: noon}, want: true},
		"its deregistration is under way":      {target: Target{Presence: Draining, Registering: true, Deregistering: true}},
		"it was registered, and did not leave": {target: Target{Presence: Registered}, want: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			g := emptyGroup()
			g.seen.targets[one] = &tc.target
			planned := g.goes(one)
			g.deregistration.pending = Deregistrations{one: {Since: noon}}
			out, _ := g.takeDeregistrations(t.Context(), noon)
			if taken := len(out) > 0; taken != tc.want || planned != tc.want {
				t.Errorf("planned %t and taken %t, want %t", planned, taken, tc.want)
			}
		})
	}
}

// Rule 5: after a start pods leave before the group has been read. The first reading ends while their deregistration is under way, and
// is not believed of their targets.
func TestGroupDeregistrationThatFailedDuringTheFirstReadingIsRepeated(t *testing.T) {
	shown := map[elbv2.Target]elbv2.Health{one: healthy}
	for name, failure := range map[string]error{
		"throttled": &smithy.GenericAPIError{Code: "Throttling", Message: "Rate exceeded"}, "not answered": errors.New("no answer"),
	} {
		t.Run(name, func(t *testing.T) {
			g := emptyGroup()
			g.deregistration.pending = Deregistrations{one: {Since: noon}, two: {Since: noon}}
			out, _ := g.takeDeregistrations(t.Context(), noon)
			g.readDone(nil, noon, noon.Add(time.Second), shown, nil)
			g.deregisterDone(out, noon.Add(time.Second), failure)
			if !g.goes(one) || !g.goes(two) {
				t.Errorf("%+v, want both targets deregistered again", g.Snapshot().Targets)
			}
			g.readDone(nil, noon.Add(2*time.Second), noon.Add(2*time.Second), shown, nil)
			g.readDone(nil, noon.Add(7*time.Second), noon.Add(7*time.Second), shown, nil)
			if !g.goes(one) || g.goes(two) {
				t.Errorf("%+v after two readings, want the target deregistered that it shows", g.Snapshot().Targets)
			}
		})
	}
}

func TestGroupReadingAndOwnCalls(t *testing.T) {
	shown := map[elbv2.Target]elbv2.Health{one: healthy}
	tests := map[string]struct {
		before  Target
		reading map[elbv2.Target]elbv2.Health
		started time.Duration // after noon
		want    Presence
	}{
		"a target that appeared":                        {reading: shown, want: Registered},
		"a target that drains":                          {before: Target{Presence: Registered}, reading: map[elbv2.Target]elbv2.Health{one: {State: elbv2.StateDraining}}, want: Draining},
		"a target that vanished":                        {before: Target{Presence: Registered}, want: Absent},
		"registered while the reading ran":              {before: Target{Presence: Registered, CalledAt: noon.Add(2 * time.Second)}, started: time.Second, want: Registered},
		"registration under way":                        {before: Target{Registering: true}, reading: shown, want: Absent},
		"deregistration under way":                      {before: Target{Presence: Registered, Deregistering: true}, want: Registered},
		"registered just now and not shown yet":         {before: Target{Presence: Registered, CalledAt: noon}, started: 9 * time.Second, want: Registered},
		"registered long ago and not shown":             {before: Target{Presence: Registered, CalledAt: noon}, started: 11 * time.Second, want: Absent},
		"deregistered just now and shown as before":     {before: Target{Presence: Draining, CalledAt: noon}, reading: shown, started: 9 * time.Second, want: Draining},
		"deregistered long ago and somebody's again":    {before: Target{Presence: Draining, CalledAt: noon}, reading: shown, started: 11 * time.Second, want: Registered},
		"deregistered just now and gone already":        {before: Target{Presence: Draining, CalledAt: noon}, started: time.Second, want: Absent},
		"registered just now and drains, by a stranger": {before: Target{Presence: Registered, CalledAt: noon}, reading: map[elbv2.Target]elbv2.Health{one: {State: elbv2.StateDraining}}, started: 11 * time.Second, want: Draining},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			g := emptyGroup()
			if tc.before != (Target{}) {
				g.seen.targets[one] = &tc.before
			}
			g.readDone(nil, noon.Add(tc.started), noon.Add(tc.started), tc.reading, nil)
			if got := g.Snapshot().Targets[one].Presence; got != tc.want {
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
			g.registration.pending = Registrations{one: "a"}
			in, zones := g.takeRegistrations(t.Context(), false)
			g.deregistration.pending = Deregistrations{one: {Since: noon}}
			out, _ := g.takeDeregistrations(t.Context(), noon)
			if registrationFirst {
				g.registerDone(in, zones, noon, nil)
				g.deregisterDone(out, noon, nil)
			} else {
				g.deregisterDone(out, noon, nil)
				g.registerDone(in, zones, noon, nil)
			}
			if !g.goes(one) {
				t.Errorf("%+v, want the target deregistered once more", g.Snapshot().Targets[one])
			}
		})
	}
}

func TestGroupBatchesHoldAtMost200(t *testing.T) {
	g := emptyGroup()
	g.registration.pending = Registrations{}
	for i := range 450 {
		g.registration.pending[elbv2.Target{ID: "10.0.0.1", Port: int32(i + 1)}] = "a"
	}
	var sizes []int
	for len(g.registration.pending) > 0 {
		batch, _ := g.takeRegistrations(t.Context(), false)
		sizes = append(sizes, len(batch))
	}
	if diff := cmp.Diff([]int{200, 200, 50}, sizes); diff != "" {
		t.Errorf("batches (-want +got):\n%s", diff)
	}
}

func TestHealthOfAnswersForOnePodOnly(t *testing.T) {
	tests := map[string]struct {
		target Target
		want   elbv2.Health
	}{
		"read after the registration": {
			target: Target{Presence: Registered, Owner: "a", OwnedAt: noon, ReadAt: noon, Health: healthy}, want: healthy,
		},
		"rule 2: read before the registration": {
			target: Target{Presence: Registered, Owner: "a", OwnedAt: noon, ReadAt: noon.Add(-time.Millisecond), Health: healthy},
		},
		"rule 2: another pod's": {target: Target{Presence: Registered, Owner: "b", Health: healthy}},
		"draining":              {target: Target{Presence: Draining, Owner: "a", Health: healthy}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.target.HealthOf(types.UID("a"))); diff != "" {
				t.Errorf("health (-want +got):\n%s", diff)
			}
		})
	}
}

// What AWS has refused goes apart from what comes new, which must not wait for the halving.
func TestSenderKeepsRejectedTargetsApart(t *testing.T) {
	s := newSender[types.UID](time.Second, nil)
	s.limits[one], s.limits[two] = 4, 4
	s.pending = Registrations{one: "a", two: "b", three: "c"}
	first := s.take(func(elbv2.Target, types.UID) bool { return true })
	second := s.take(func(elbv2.Target, types.UID) bool { return true })
	if len(first) != 1 || first[three] != "c" || len(second) != 2 {
		t.Errorf("calls %v and %v, want the new one first and alone", first, second)
	}
}

// A call holds what has to go now, and what would have to go soon after: each call is one of few.
func TestDeregistrationTakesWhatIsDueTogether(t *testing.T) {
	at := func(after time.Duration, stays bool) Deregistration {
		return Deregistration{Deadline: noon.Add(after), Stays: stays}
	}
	tests := map[string]struct {
		pending Deregistrations
		urgency budget.Urgency
		want    []elbv2.Target
	}{
		"at once":                  {pending: Deregistrations{one: {}}, urgency: budget.ClassDeregister.Now(), want: []elbv2.Target{one}},
		"one can wait, one cannot": {pending: Deregistrations{one: {}, two: at(time.Minute, false)}, urgency: budget.ClassDeregister.Now(), want: []elbv2.Target{one, two}},
		"one stays": {
			pending: Deregistrations{one: at(time.Second, false), two: at(time.Minute, true)},
			urgency: budget.Urgency{Deadline: noon.Add(time.Second)}, want: []elbv2.Target{one},
		},
		"one stays, and is due as soon": {
			pending: Deregistrations{one: at(time.Second, false), two: at(together, true)},
			urgency: budget.Urgency{Deadline: noon.Add(time.Second)}, want: []elbv2.Target{one, two},
		},
		"one goes as it is replaced, and one that is due at the same time stays": {
			pending: Deregistrations{one: at(time.Minute, false), two: at(time.Minute, true)},
			urgency: budget.Urgency{Deadline: noon.Add(time.Minute)}, want: []elbv2.Target{one},
		},
		"both stay, and are due together": {
			pending: Deregistrations{one: at(time.Minute, true), two: at(time.Minute+together, true)},
			urgency: budget.Urgency{Deadline: noon.Add(time.Minute), Waits: true}, want: []elbv2.Target{one, two},
		},
		"both stay, and one for longer": {
			pending: Deregistrations{one: at(time.Minute, true), two: at(time.Minute+together+1, true)},
			urgency: budget.Urgency{Deadline: noon.Add(time.Minute), Waits: true}, want: []elbv2.Target{one},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			g := emptyGroup()
			g.deregistration.pending = tc.pending
			if diff := cmp.Diff(tc.urgency, g.deregistration.urgency(noon)); diff != "" {
				t.Errorf("urgency (-want +got):\n%s", diff)
			}
			batch, _ := g.takeDeregistrations(t.Context(), noon)
			if diff := cmp.Diff(tc.want, slices.SortedFunc(maps.Keys(batch), func(a, b elbv2.Target) int { return strings.Compare(a.String(), b.String()) })); diff != "" {
				t.Errorf("batch (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNewDeregistrationsDoNotWaitForTheBackOff(t *testing.T) {
	stays := func(after time.Duration) Deregistration {
		return Deregistration{Deadline: noon.Add(after), Stays: true}
	}
	tests := map[string]struct {
		failed, pending Deregistrations
		want            bool
		wait            time.Duration
	}{
		"the same one":                     {failed: Deregistrations{one: {}}, pending: Deregistrations{one: {}}},
		"another one":                      {failed: Deregistrations{one: {}}, pending: Deregistrations{one: {}, two: {}}, want: true},
		"another one, the first has gone":  {failed: Deregistrations{one: {}}, pending: Deregistrations{two: {}}, want: true},
		"another one stays":                {failed: Deregistrations{one: {}}, pending: Deregistrations{one: {}, two: stays(time.Minute)}, wait: time.Minute - together},
		"another one stays, and is due":    {failed: Deregistrations{one: {}}, pending: Deregistrations{one: {}, two: stays(together)}, want: true},
		"another one stays, the first too": {failed: Deregistrations{one: {}}, pending: Deregistrations{one: stays(1), two: stays(time.Minute)}, wait: time.Minute - together},
		"all others stay, and can wait":    {failed: Deregistrations{one: {}}, pending: Deregistrations{two: stays(time.Minute)}, want: true},
		"nothing":                          {failed: Deregistrations{one: {}}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			g := emptyGroup()
			g.deregistration.unanswered, g.deregistration.pending = tc.failed, tc.pending
			if got, wait := g.deregistration.hasNew(noon); got != tc.want || wait != tc.wait {
				t.Errorf("%t, and some in %s; want %t, in %s", got, wait, tc.want, tc.wait)
			}
		})
	}
}

// A call without hope is not urgent, whoever stays beside it.
func TestTargetsThatStayMakeNoHopelessCallUrgent(t *testing.T) {
	g := emptyGroup()
	g.deregistration.pending = Deregistrations{one: {}, two: {Deadline: noon.Add(time.Hour), Stays: true}}
	if class := g.deregistration.urgency(noon).Class; class != budget.ClassDeregister {
		t.Errorf("class %s of what was never tried", class)
	}
	g.deregistration.unanswered = Deregistrations{one: {}}
	for range 20 {
		g.deregistration.End(noon, errors.New("no"))
	}
	if class := g.deregistration.urgency(noon).Class; class != budget.ClassOther {
		t.Errorf("class %s after 20 failures, want %s", class, budget.ClassOther)
	}
	g.deregistration.pending[three] = Deregistration{Deadline: noon.Add(together), Stays: true}
	if u := g.deregistration.urgency(noon); u.Class != budget.ClassDeregister || u.Waits {
		t.Errorf("%+v when one that stays is about to be due, want a call for it", u)
	}
	delete(g.deregistration.pending, three)
	delete(g.deregistration.pending, one)
	if u := g.deregistration.urgency(noon); u.Class != budget.ClassDeregister || !u.Waits {
		t.Errorf("%+v when only the one is left that stays, want it urgent at its deadline", u)
	}
}

// A call takes no more than 200 targets: the first deadlines go first, and calls begin so early that the last one is in time.
func TestDeregistrationsOfManyTargetsGoByDeadline(t *testing.T) {
	g, due := emptyGroup(), map[elbv2.Target]bool{}
	many := Deregistrations{}
	for i := range 5 * elbv2.MaxTargetsPerCall {
		target := elbv2.Target{ID: fmt.Sprintf("10.0.%d.%d", i/200, i%200), Port: 80}
		many[target] = Deregistration{Deadline: noon.Add(time.Minute), Stays: true}
		if i%100 == 0 {
			many[target], due[target] = Deregistration{Deadline: noon.Add(time.Second)}, true
		}
	}
	g.planDeregistrations(Changes{Deregister: many}, noon)
	if u := g.deregistration.urgency(noon); !u.Deadline.Equal(noon.Add(time.Second - 4*budget.CallTime)) {
		t.Errorf("the first of five calls is to be answered by %s, want %s sooner than the deadline", u.Deadline, 4*budget.CallTime)
	}
	for id, d := range many {
		d.Stays = false
		many[id] = d
	}
	g.planDeregistrations(Changes{Deregister: many}, noon)
	batch, _ := g.takeDeregistrations(t.Context(), noon)
	for id := range due {
		if _, taken := batch[id]; !taken {
			t.Errorf("%s is due, and is not in the first call", id)
		}
	}
}

func TestLateDeregistrationsSayByHowMuch(t *testing.T) {
	late, by := lateOf(Deregistrations{
		one: {Deadline: noon}, two: {}, three: {Deadline: noon.Add(-time.Second)}, {ID: "10.0.0.9"}: {Deadline: noon.Add(time.Hour)},
	}, noon.Add(time.Second))
	if len(late) != 2 || by != 2*time.Second {
		t.Errorf("%v are late by %s, want two by 2s", late, by)
	}
}

// A target that stays leaves the pauses to those that fail.
func TestFailedDeregistrationPausesWhileOthersStay(t *testing.T) {
	g := emptyGroup()
	failing := Deregistrations{one: {Deadline: noon.Add(-time.Second)}, two: {Deadline: noon.Add(time.Minute), Stays: true}}
	g.planDeregistrations(Changes{Deregister: failing}, noon)
	batch, _ := g.takeDeregistrations(t.Context(), noon)
	g.deregisterDone(batch, noon, errors.New("no answer"))
	g.planDeregistrations(Changes{Deregister: failing}, noon)
	if some, _ := g.deregistration.hasNew(noon); some || len(batch) != 1 {
		t.Errorf("%v failed, and is repeated at once: %t", batch, some)
	}
}

func TestGroupTellsOfLateDeregistrationsOnce(t *testing.T) {
	g := emptyGroup()
	g.deregistration.pending = Deregistrations{one: {Deadline: noon}, two: {Deadline: noon.Add(time.Hour)}, three: {}}
	batch, _ := g.takeDeregistrations(t.Context(), noon)
	g.deregisterDone(batch, noon.Add(time.Second), nil)
	if diff := cmp.Diff([]elbv2.Target{one}, g.TakeLate()); diff != "" {
		t.Errorf("late (-want +got):\n%s", diff)
	}
	if again := g.TakeLate(); again != nil {
		t.Errorf("told again of %v", again)
	}
}
