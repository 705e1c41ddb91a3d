// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/endpoints"
	"github.com/targetgate/targetgate/targets/fixture"
	"github.com/targetgate/targetgate/targets/targetgroup"
)

var (
	noon, one, two, three, healthy = fixture.Noon, fixture.One, fixture.Two, fixture.Three, fixture.Healthy

	four, five = elbv2.Target{ID: "10.0.0.4", Port: 8080}, elbv2.Target{ID: "10.0.0.5", Port: 8080}
)

func listed(list ...endpoints.Endpoint) map[elbv2.Target]endpoints.Endpoint {
	out := map[elbv2.Target]endpoints.Endpoint{}
	for _, ep := range list {
		out[ep.Target] = ep
	}
	return out
}

var testPolicy = Policy{MinReadyPercent: 50, ReplacementTimeout: 5 * time.Minute, ReadyWhenUnattached: true}

func all(elbv2.Target) bool { return true }

func none(elbv2.Target) bool { return false }

func TestMake(t *testing.T) {
	deletedAtNoon := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		DeletionTimestamp: ptr.To(metav1.NewTime(noon.Add(30 * time.Second))), DeletionGracePeriodSeconds: ptr.To[int64](30),
	}}
	tests := map[string]struct {
		endpoints  map[elbv2.Target]endpoints.Endpoint
		group      targetgroup.Targets
		incomplete bool
		limit      int                     // of targets in the group
		mine       func(elbv2.Target) bool // all when nil
		want       Plan
	}{
		"new pod is registered for itself": {
			endpoints: listed(endpoints.Endpoint{Target: one, State: endpoints.Desired, UID: "a"}),
			want:      Plan{Changes: targetgroup.Changes{Register: targetgroup.Registrations{one: "a"}}},
		},
		"nothing is registered before the first reading": {
			endpoints:  listed(endpoints.Endpoint{Target: one, State: endpoints.Desired, UID: "a"}),
			incomplete: true,
		},
		"registered for this pod: nothing to do": {
			endpoints: listed(endpoints.Endpoint{Target: one, State: endpoints.Desired, UID: "a"}),
			group:     targetgroup.Targets{one: {Presence: targetgroup.Registered, Owner: "a"}},
		},
		"registered before our time with proof: adopted without a call": {
			endpoints: listed(endpoints.Endpoint{Target: one, State: endpoints.Desired, UID: "a"}),
			group:     targetgroup.Targets{one: {Presence: targetgroup.Registered}},
			want:      Plan{Changes: targetgroup.Changes{Adopt: targetgroup.Registrations{one: "a"}}},
		},
		"rule 2: registered before our time without proof: registered again for itself": {
			endpoints: listed(endpoints.Endpoint{Target: one, State: endpoints.Desired, UID: "a", Unproven: true}),
			group:     targetgroup.Targets{one: {Presence: targetgroup.Registered}},
			want:      Plan{Changes: targetgroup.Changes{Register: targetgroup.Registrations{one: "a"}}},
		},
		"registered after all, by a call for this pod that was not answered: adopted": {
			endpoints: listed(endpoints.Endpoint{Target: one, State: endpoints.Desired, UID: "a", Unproven: true}),
			group:     targetgroup.Targets{one: {Presence: targetgroup.Registered, Tried: "a"}},
			want:      Plan{Changes: targetgroup.Changes{Adopt: targetgroup.Registrations{one: "a"}}},
		},
		"rule 2: a reused address is deregistered before it is registered for the next pod": {
			endpoints: listed(endpoints.Endpoint{Target: one, State: endpoints.Desired, UID: "b"}),
			group:     targetgroup.Targets{one: {Presence: targetgroup.Registered, Owner: "a"}},
			want:      Plan{Changes: targetgroup.Changes{Deregister: targetgroup.Deregistrations{one: {Why: whyReused}}}},
		},
		"a pod beside the owner is registered for its gate, and the target stays": {
			endpoints: listed(endpoints.Endpoint{Target: one, State: endpoints.Desired, UID: "b", BesideOwner: true, Unproven: true}),
			group:     targetgroup.Targets{one: {Presence: targetgroup.Registered, Owner: "a"}},
			want:      Plan{Changes: targetgroup.Changes{Register: targetgroup.Registrations{one: "b"}}},
		},
		"a pod that was found healthy beside the owner takes the target over": {
			endpoints: listed(endpoints.Endpoint{Target: one, State: endpoints.Desired, UID: "b", Proven: true}),
			group:     targetgroup.Targets{one: {Presence: targetgroup.Registered, Owner: "a"}},
			want:      Plan{Changes: targetgroup.Changes{Adopt: targetgroup.Registrations{one: "b"}, AdoptFrom: targetgroup.Registrations{one: "a"}}},
		},
		"a pod that lived beside the owner takes the target over": {
			endpoints: listed(endpoints.Endpoint{Target: one, State: endpoints.Desired, UID: "b"}),
			group:     targetgroup.Targets{one: {Presence: targetgroup.Registered, Owner: "a", Shared: true}},
			want:      Plan{Changes: targetgroup.Changes{Adopt: targetgroup.Registrations{one: "b"}, AdoptFrom: targetgroup.Registrations{one: "a"}}},
		},
		"several pods at an address are remembered": {
			endpoints: listed(endpoints.Endpoint{Target: one, State: endpoints.Desired, UID: "a", Shared: true}),
			group:     targetgroup.Targets{one: {Presence: targetgroup.Registered, Owner: "a"}},
			want:      Plan{Changes: targetgroup.Changes{Shared: map[elbv2.Target]struct{}{one: {}}}},
		},
		"rule 2: for which of two pods it is registered is not known yet, and one of them has gone": {
			endpoints: listed(endpoints.Endpoint{Target: one, State: endpoints.Desired, UID: "a"}),
			group:     targetgroup.Targets{one: {Presence: targetgroup.Registered, Owner: "a", Registering: true, Shared: true}},
			want:      Plan{Changes: targetgroup.Changes{Shared: map[elbv2.Target]struct{}{one: {}}}},
		},
		"draining target of a new pod is registered again": {
			endpoints: listed(endpoints.Endpoint{Target: one, State: endpoints.Desired, UID: "b"}),
			group:     targetgroup.Targets{one: {Presence: targetgroup.Draining}},
			want:      Plan{Changes: targetgroup.Changes{Register: targetgroup.Registrations{one: "b"}}},
		},
		"a call under way is waited for": {
			endpoints: listed(endpoints.Endpoint{Target: one, State: endpoints.Desired, UID: "a"}, endpoints.Endpoint{Target: two, State: endpoints.Desired, UID: "b"}),
			group:     targetgroup.Targets{one: {Registering: true}, two: {Presence: targetgroup.Draining, Deregistering: true}},
		},
		"rule 5: a leaving pod is deregistered": {
			endpoints: listed(endpoints.Endpoint{Target: one, State: endpoints.Terminating, UID: "a", Pod: deletedAtNoon}),
			group:     targetgroup.Targets{one: {Presence: targetgroup.Registered, Owner: "a"}},
			want:      Plan{Changes: targetgroup.Changes{Deregister: targetgroup.Deregistrations{one: {Why: whyTerminating, Since: noon}}}},
		},
		"rule 5: even before the first reading": {
			endpoints:  listed(endpoints.Endpoint{Target: one, State: endpoints.Terminating, UID: "a", Pod: deletedAtNoon}),
			incomplete: true,
			want:       Plan{Changes: targetgroup.Changes{Deregister: targetgroup.Deregistrations{one: {Why: whyTerminating, Since: noon}}}},
		},
		"rule 5: again before the first reading after a failure": {
			endpoints:  listed(endpoints.Endpoint{Target: one, State: endpoints.Terminating, UID: "a"}),
			group:      targetgroup.Targets{one: {}},
			incomplete: true,
			want:       Plan{Changes: targetgroup.Changes{Deregister: targetgroup.Deregistrations{one: {Why: whyTerminating}}}},
		},
		"rule 5: while its registration is under way": {
			endpoints: listed(endpoints.Endpoint{Target: one, State: endpoints.Terminating, UID: "a"}),
			group:     targetgroup.Targets{one: {Registering: true}},
			want:      Plan{Changes: targetgroup.Changes{Deregister: targetgroup.Deregistrations{one: {Why: whyTerminating}}}},
		},
		"a leaving pod is not deregistered over and over while its registration hangs": {
			endpoints: listed(endpoints.Endpoint{Target: one, State: endpoints.Terminating, UID: "a"}),
			group:     targetgroup.Targets{one: {Presence: targetgroup.Registered, Registering: true, Crossed: true}},
		},
		"a leaving pod that drains already": {
			endpoints: listed(endpoints.Endpoint{Target: one, State: endpoints.Terminating, UID: "a"}),
			group:     targetgroup.Targets{one: {Presence: targetgroup.Draining}},
		},
		"a leaving pod that was never registered": {
			endpoints: listed(endpoints.Endpoint{Target: one, State: endpoints.Terminating, UID: "a"}),
		},
		"rule 10: an unready pod that lives is neither added nor removed": {
			endpoints: listed(endpoints.Endpoint{Target: one, State: endpoints.Undetermined, UID: "a"}, endpoints.Endpoint{Target: two, State: endpoints.Undetermined, UID: "b"}),
			group:     targetgroup.Targets{one: {Presence: targetgroup.Registered, Owner: "a"}},
		},
		"rule 7: a replaced pod stays until the wanted one is healthy": {
			endpoints: listed(endpoints.Endpoint{Target: one, State: endpoints.Unselected, UID: "a"}, endpoints.Endpoint{Target: two, State: endpoints.Desired, UID: "b"}),
			group:     targetgroup.Targets{one: {Presence: targetgroup.Registered, Owner: "a"}, two: {Presence: targetgroup.Registered, Owner: "b"}},
			want:      Plan{Changes: targetgroup.Changes{Unwanted: map[elbv2.Target]endpoints.State{one: endpoints.Unselected}}, ReplacedAt: noon, NextChange: 5 * time.Minute},
		},
		"rule 7: and goes then": {
			endpoints: listed(endpoints.Endpoint{Target: one, State: endpoints.Unselected, UID: "a"}, endpoints.Endpoint{Target: two, State: endpoints.Desired, UID: "b"}),
			group: targetgroup.Targets{
				one: {Presence: targetgroup.Registered, Owner: "a"}, two: {Presence: targetgroup.Registered, Owner: "b", Health: healthy, ReadAt: noon},
			},
			want: Plan{Changes: targetgroup.Changes{Unwanted: map[elbv2.Target]endpoints.State{one: endpoints.Unselected}, Deregister: targetgroup.Deregistrations{one: {Why: whyUnselected}}}},
		},
		"rule 7: no wanted pod at all keeps the replaced ones": {
			endpoints: listed(endpoints.Endpoint{Target: one, State: endpoints.Unselected, UID: "a"}),
			group:     targetgroup.Targets{one: {Presence: targetgroup.Registered, Owner: "a"}},
			want:      Plan{Changes: targetgroup.Changes{Unwanted: map[elbv2.Target]endpoints.State{one: endpoints.Unselected}}, ReplacedAt: noon, NextChange: 5 * time.Minute},
		},
		"rule 7: health from before the handover proves nothing": {
			endpoints: listed(endpoints.Endpoint{Target: one, State: endpoints.Unselected, UID: "a"}, endpoints.Endpoint{Target: two, State: endpoints.Desired, UID: "b"}),
			group: targetgroup.Targets{
				one: {Presence: targetgroup.Registered, Owner: "a", Unwanted: endpoints.Unselected, UnwantedSince: noon},
				two: {Presence: targetgroup.Registered, Owner: "b", Health: healthy, ReadAt: noon.Add(-time.Second)},
			},
			want: Plan{Changes: targetgroup.Changes{Unwanted: map[elbv2.Target]endpoints.State{one: endpoints.Unselected}}, ReplacedAt: noon, NextChange: 5 * time.Minute},
		},
		"rule 2: an unready pod at a reused address": {
			endpoints: listed(endpoints.Endpoint{Target: one, State: endpoints.NotReady, UID: "b"}),
			group:     targetgroup.Targets{one: {Presence: targetgroup.Registered, Owner: "a"}},
			want:      Plan{Changes: targetgroup.Changes{Deregister: targetgroup.Deregistrations{one: {Why: whyReused}}, Unwanted: map[elbv2.Target]endpoints.State{one: endpoints.NotReady}}, NextChange: UnreadyPause},
		},
		"rule 7: but for a bounded time": {
			endpoints: listed(endpoints.Endpoint{Target: one, State: endpoints.Unselected, UID: "a"}),
			group: targetgroup.Targets{
				one: {Presence: targetgroup.Registered, Owner: "a", Unwanted: endpoints.Unselected, UnwantedSince: noon.Add(-5 * time.Minute)},
			},
			want: Plan{Changes: targetgroup.Changes{Unwanted: map[elbv2.Target]endpoints.State{one: endpoints.Unselected}, Deregister: targetgroup.Deregistrations{one: {Why: whyUnselected + whyInVain}}}, TimedOut: []elbv2.Target{one}},
		},
		"rule 7: time as something else does not count": {
			endpoints: listed(endpoints.Endpoint{Target: one, State: endpoints.Unselected, UID: "a"}),
			group: targetgroup.Targets{
				one: {Presence: targetgroup.Registered, Owner: "a", ReadAt: noon, Unwanted: endpoints.NotReady, UnwantedSince: noon.Add(-time.Hour)},
			},
			want: Plan{Changes: targetgroup.Changes{Unwanted: map[elbv2.Target]endpoints.State{one: endpoints.Unselected}}, ReplacedAt: noon, NextChange: 5 * time.Minute},
		},
		"rule 6: a pod that has just become unready stays for now": {
			endpoints: listed(endpoints.Endpoint{Target: one, State: endpoints.NotReady, UID: "a"}, endpoints.Endpoint{Target: two, State: endpoints.Desired, UID: "b"}),
			group: targetgroup.Targets{
				one: {Presence: targetgroup.Registered, Owner: "a", Unwanted: endpoints.NotReady, UnwantedSince: noon.Add(-time.Second)},
				two: {Presence: targetgroup.Registered, Owner: "b", Health: healthy},
			},
			want: Plan{Changes: targetgroup.Changes{Unwanted: map[elbv2.Target]endpoints.State{one: endpoints.NotReady}}, NextChange: UnreadyPause - time.Second},
		},
		"rule 6: and goes when enough others are healthy": {
			endpoints: listed(endpoints.Endpoint{Target: one, State: endpoints.NotReady, UID: "a"}, endpoints.Endpoint{Target: two, State: endpoints.Desired, UID: "b"}),
			group: targetgroup.Targets{
				one: {Presence: targetgroup.Registered, Owner: "a", ReadAt: noon, Unwanted: endpoints.NotReady, UnwantedSince: noon.Add(-UnreadyPause)},
				two: {Presence: targetgroup.Registered, Owner: "b", Health: healthy},
			},
			want: Plan{Changes: targetgroup.Changes{Unwanted: map[elbv2.Target]endpoints.State{one: endpoints.NotReady}, Deregister: targetgroup.Deregistrations{one: {Why: whyNotReady}}}},
		},
		"rule 6: ready pods that the load balancer finds unhealthy are not enough": {
			endpoints: listed(endpoints.Endpoint{Target: one, State: endpoints.NotReady, UID: "a"}, endpoints.Endpoint{Target: two, State: endpoints.Desired, UID: "b"}),
			group: targetgroup.Targets{
				one: {Presence: targetgroup.Registered, Owner: "a", ReadAt: noon, Unwanted: endpoints.NotReady, UnwantedSince: noon.Add(-UnreadyPause)},
				two: {Presence: targetgroup.Registered, Owner: "b", Health: elbv2.Health{State: elbv2.StateUnhealthy}},
			},
			want: Plan{Changes: targetgroup.Changes{Unwanted: map[elbv2.Target]endpoints.State{one: endpoints.NotReady}}, UnreadyKept: UnreadyKept{Now: true}},
		},
		"rule 6: when all are unready all stay": {
			endpoints: listed(endpoints.Endpoint{Target: one, State: endpoints.NotReady, UID: "a"}, endpoints.Endpoint{Target: two, State: endpoints.NotReady, UID: "b"}),
			group: targetgroup.Targets{
				one: {Presence: targetgroup.Registered, Owner: "a", ReadAt: noon, Unwanted: endpoints.NotReady, UnwantedSince: noon.Add(-time.Hour)},
				two: {Presence: targetgroup.Registered, Owner: "b", ReadAt: noon, Unwanted: endpoints.NotReady, UnwantedSince: noon.Add(-time.Hour)},
			},
			want: Plan{Changes: targetgroup.Changes{Unwanted: map[elbv2.Target]endpoints.State{one: endpoints.NotReady, two: endpoints.NotReady}}, UnreadyKept: UnreadyKept{Now: true}},
		},
		"rule 6: pods that a full group has no room for do not count": {
			endpoints: listed(endpoints.Endpoint{Target: one, State: endpoints.NotReady, UID: "a"}, endpoints.Endpoint{Target: two, State: endpoints.Desired, UID: "b"},
				endpoints.Endpoint{Target: three, State: endpoints.Desired, UID: "c"}, endpoints.Endpoint{Target: four, State: endpoints.Desired, UID: "d"}, endpoints.Endpoint{Target: five, State: endpoints.Desired, UID: "e"}),
			group: targetgroup.Targets{
				one: {Presence: targetgroup.Registered, Owner: "a", ReadAt: noon, Unwanted: endpoints.NotReady, UnwantedSince: noon.Add(-UnreadyPause)},
				two: {Presence: targetgroup.Registered, Owner: "b", Health: healthy},
			},
			limit: 2,
			want: Plan{
				Changes: targetgroup.Changes{Unwanted: map[elbv2.Target]endpoints.State{one: endpoints.NotReady}, Deregister: targetgroup.Deregistrations{one: {Why: whyNotReady}}},
				LeftOut: map[elbv2.Target]struct{}{three: {}, four: {}, five: {}},
			},
		},
		"rule 6: pods of a node that is down go without a pause and a reading": {
			endpoints: listed(endpoints.Endpoint{Target: one, State: endpoints.NotReady, NodeDown: true, UID: "a"}, endpoints.Endpoint{Target: two, State: endpoints.Desired, UID: "b"}),
			group: targetgroup.Targets{
				one: {Presence: targetgroup.Registered, Owner: "a"}, two: {Presence: targetgroup.Registered, Owner: "b", Health: healthy},
			},
			want: Plan{Changes: targetgroup.Changes{Unwanted: map[elbv2.Target]endpoints.State{one: endpoints.NotReady}, Deregister: targetgroup.Deregistrations{one: {Why: whyNodeDown}}}},
		},
		"rule 6: but not when too few others are healthy": {
			endpoints: listed(endpoints.Endpoint{Target: one, State: endpoints.NotReady, NodeDown: true, UID: "a"}, endpoints.Endpoint{Target: two, State: endpoints.Desired, UID: "b"}),
			group:     targetgroup.Targets{one: {Presence: targetgroup.Registered, Owner: "a"}, two: {Presence: targetgroup.Registered, Owner: "b"}},
			want:      Plan{Changes: targetgroup.Changes{Unwanted: map[elbv2.Target]endpoints.State{one: endpoints.NotReady}}, UnreadyKept: UnreadyKept{Now: true}},
		},
		"an unready pod is not added": {
			endpoints: listed(endpoints.Endpoint{Target: one, State: endpoints.NotReady, UID: "a"}),
		},
		"shared group: what is not ours is not touched": {
			endpoints: listed(
				endpoints.Endpoint{Target: one, State: endpoints.Terminating, UID: "a"}, endpoints.Endpoint{Target: two, State: endpoints.Unselected, UID: "b"},
				endpoints.Endpoint{Target: three, State: endpoints.NotReady, UID: "c"}),
			group: targetgroup.Targets{
				one: {Presence: targetgroup.Registered}, two: {Presence: targetgroup.Registered, Unwanted: endpoints.Unselected, UnwantedSince: noon.Add(-time.Hour)},
				three:                        {Presence: targetgroup.Registered, ReadAt: noon, Unwanted: endpoints.NotReady, UnwantedSince: noon.Add(-time.Hour)},
				{ID: "10.0.0.9", Port: 8080}: {Presence: targetgroup.Registered, ReadAt: noon, UnexplainedAt: noon.Add(-time.Hour)},
			},
			mine: none,
		},
		"shared group: before the first reading": {
			endpoints: listed(endpoints.Endpoint{Target: one, State: endpoints.Terminating, UID: "a"}), incomplete: true, mine: none,
		},
		"limit: what does not fit is left out, the same every time": {
			endpoints: listed(endpoints.Endpoint{Target: three, State: endpoints.Desired, UID: "c"}, endpoints.Endpoint{Target: two, State: endpoints.Desired, UID: "b"}),
			group:     targetgroup.Targets{one: {Presence: targetgroup.Registered, Owner: "a", Registering: true}},
			limit:     2,
			want:      Plan{Changes: targetgroup.Changes{Register: targetgroup.Registrations{two: "b"}}, LeftOut: map[elbv2.Target]struct{}{three: {}}},
		},
		"limit: a draining target takes no room": {
			endpoints: listed(endpoints.Endpoint{Target: two, State: endpoints.Desired, UID: "b"}),
			group:     targetgroup.Targets{one: {Presence: targetgroup.Draining}},
			limit:     1,
			want:      Plan{Changes: targetgroup.Changes{Register: targetgroup.Registrations{two: "b"}}},
		},
		"limit: lowered under what is there": {
			endpoints: listed(endpoints.Endpoint{Target: one, State: endpoints.Desired, UID: "a", Unproven: true}, endpoints.Endpoint{Target: two, State: endpoints.Desired, UID: "b"}),
			group:     targetgroup.Targets{one: {Presence: targetgroup.Registered}, {ID: "10.0.0.9", Port: 1}: {Presence: targetgroup.Registered, Registering: true}},
			limit:     1,
			want:      Plan{Changes: targetgroup.Changes{Register: targetgroup.Registrations{one: "a"}}, LeftOut: map[elbv2.Target]struct{}{two: {}}},
		},
		"rule 10: an unexplained target is only noted first": {
			group: targetgroup.Targets{one: {Presence: targetgroup.Registered, ReadAt: noon}},
			want:  Plan{Changes: targetgroup.Changes{Unexplained: map[elbv2.Target]struct{}{one: {}}}},
		},
		"rule 10: the same reading proves nothing": {
			group: targetgroup.Targets{one: {Presence: targetgroup.Registered, ReadAt: noon, UnexplainedAt: noon}},
			want:  Plan{Changes: targetgroup.Changes{Unexplained: map[elbv2.Target]struct{}{one: {}}}},
		},
		"an unexplained target goes when a later reading shows it still": {
			group: targetgroup.Targets{one: {Presence: targetgroup.Registered, ReadAt: noon.Add(time.Second), UnexplainedAt: noon, Health: elbv2.Health{State: elbv2.StateUnhealthy}}},
			want:  Plan{Changes: targetgroup.Changes{Deregister: targetgroup.Deregistrations{one: {Why: whyUnknown}}, Unexplained: map[elbv2.Target]struct{}{one: {}}}, Nobodys: []elbv2.Target{one}},
		},
		"a target of ours whose pod is gone goes at once": {
			group: targetgroup.Targets{one: {Presence: targetgroup.Registered, Owner: "a"}},
			want:  Plan{Changes: targetgroup.Changes{Deregister: targetgroup.Deregistrations{one: {Why: whyPodGone}}}},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			policy := testPolicy
			policy.MaxTargets = tc.limit
			if tc.mine == nil {
				tc.mine = all
			}
			group := targetgroup.Snapshot{Targets: tc.group, Tag: targetgroup.TagReading{ReadAt: noon}}
			if !tc.incomplete {
				group.ReadAt = noon
			}
			got := Make(Input{Endpoints: tc.endpoints, Group: group, Mine: tc.mine, Policy: policy, Now: noon})
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(Plan{}, "Leaving", "Foreign")); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}
