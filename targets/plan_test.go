// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/endpoints"
)

var (
	noon    = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	one     = elbv2.Target{ID: "10.0.0.1", Port: 8080}
	two     = elbv2.Target{ID: "10.0.0.2", Port: 8080}
	three   = elbv2.Target{ID: "10.0.0.3", Port: 8080}
	healthy = elbv2.Health{State: elbv2.StateHealthy}
)

func listed(list ...endpoints.Endpoint) map[elbv2.Target]endpoints.Endpoint {
	out := map[elbv2.Target]endpoints.Endpoint{}
	for _, ep := range list {
		out[ep.Target] = ep
	}
	return out
}

var testPolicy = Policy{MinReadyPercent: 50, ReplacementTimeout: 5 * time.Minute, ReadyWhenUnattached: true}

// planOf is the plan for a group that has been read and is ours alone.
func planOf(listed map[elbv2.Target]endpoints.Endpoint, entries map[elbv2.Target]entry) plan {
	return makePlan(planInput{endpoints: listed, entries: entries, complete: true, mine: all, policy: testPolicy, now: noon})
}

func all(elbv2.Target) bool { return true }

func none(elbv2.Target) bool { return false }

func TestMakePlan(t *testing.T) {
	deletedAtNoon := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		DeletionTimestamp: ptr.To(metav1.NewTime(noon.Add(30 * time.Second))), DeletionGracePeriodSeconds: ptr.To[int64](30),
	}}
	tests := map[string]struct {
		endpoints  map[elbv2.Target]endpoints.Endpoint
		entries    map[elbv2.Target]entry
		incomplete bool
		limit      int                     // of targets in the group
		mine       func(elbv2.Target) bool // all when nil
		want       plan
	}{
		"new pod is registered for itself": {
			endpoints: listed(endpoints.Endpoint{Target: one, State: endpoints.Desired, UID: "a"}),
			want:      plan{register: registrations{one: "a"}},
		},
		"nothing is registered before the first reading": {
			endpoints:  listed(endpoints.Endpoint{Target: one, State: endpoints.Desired, UID: "a"}),
			incomplete: true,
		},
		"registered for this pod: nothing to do": {
			endpoints: listed(endpoints.Endpoint{Target: one, State: endpoints.Desired, UID: "a"}),
			entries:   map[elbv2.Target]entry{one: {presence: registered, owner: "a"}},
		},
		"registered before our time with proof: adopted without a call": {
			endpoints: listed(endpoints.Endpoint{Target: one, State: endpoints.Desired, UID: "a"}),
			entries:   map[elbv2.Target]entry{one: {presence: registered}},
			want:      plan{adopt: registrations{one: "a"}},
		},
		"rule 2: registered before our time without proof: registered again for itself": {
			endpoints: listed(endpoints.Endpoint{Target: one, State: endpoints.Desired, UID: "a", Unproven: true}),
			entries:   map[elbv2.Target]entry{one: {presence: registered}},
			want:      plan{register: registrations{one: "a"}},
		},
		"registered after all, by a call for this pod that was not answered: adopted": {
			endpoints: listed(endpoints.Endpoint{Target: one, State: endpoints.Desired, UID: "a", Unproven: true}),
			entries:   map[elbv2.Target]entry{one: {presence: registered, tried: "a"}},
			want:      plan{adopt: registrations{one: "a"}},
		},
		"rule 2: a reused address is deregistered before it is registered for the next pod": {
			endpoints: listed(endpoints.Endpoint{Target: one, State: endpoints.Desired, UID: "b"}),
			entries:   map[elbv2.Target]entry{one: {presence: registered, owner: "a"}},
			want:      plan{deregister: departures{one: {why: whyReused}}},
		},
		"a pod beside the owner is registered for its gate, and the target stays": {
			endpoints: listed(endpoints.Endpoint{Target: one, State: endpoints.Desired, UID: "b", BesideOwner: true, Unproven: true}),
			entries:   map[elbv2.Target]entry{one: {presence: registered, owner: "a"}},
			want:      plan{register: registrations{one: "b"}},
		},
		"a pod that was found healthy beside the owner takes the target over": {
			endpoints: listed(endpoints.Endpoint{Target: one, State: endpoints.Desired, UID: "b", Proven: true}),
			entries:   map[elbv2.Target]entry{one: {presence: registered, owner: "a"}},
			want:      plan{adopt: registrations{one: "b"}, adoptFrom: map[elbv2.Target]types.UID{one: "a"}},
		},
		"a pod that lived beside the owner takes the target over": {
			endpoints: listed(endpoints.Endpoint{Target: one, State: endpoints.Desired, UID: "b"}),
			entries:   map[elbv2.Target]entry{one: {presence: registered, owner: "a", shared: true}},
			want:      plan{adopt: registrations{one: "b"}, adoptFrom: map[elbv2.Target]types.UID{one: "a"}},
		},
		"several pods at an address are remembered": {
			endpoints: listed(endpoints.Endpoint{Target: one, State: endpoints.Desired, UID: "a", Shared: true}),
			entries:   map[elbv2.Target]entry{one: {presence: registered, owner: "a"}},
			want:      plan{shared: map[elbv2.Target]struct{}{one: {}}},
		},
		"draining target of a new pod is registered again": {
			endpoints: listed(endpoints.Endpoint{Target: one, State: endpoints.Desired, UID: "b"}),
			entries:   map[elbv2.Target]entry{one: {presence: draining}},
			want:      plan{register: registrations{one: "b"}},
		},
		"a call under way is waited for": {
			endpoints: listed(endpoints.Endpoint{Target: one, State: endpoints.Desired, UID: "a"}, endpoints.Endpoint{Target: two, State: endpoints.Desired, UID: "b"}),
			entries:   map[elbv2.Target]entry{one: {registering: true}, two: {presence: draining, deregistering: true}},
		},
		"rule 5: a leaving pod is deregistered": {
			endpoints: listed(endpoints.Endpoint{Target: one, State: endpoints.Terminating, UID: "a", Pod: deletedAtNoon}),
			entries:   map[elbv2.Target]entry{one: {presence: registered, owner: "a"}},
			want:      plan{deregister: departures{one: {whyTerminating, noon}}},
		},
		"rule 5: even before the first reading": {
			endpoints:  listed(endpoints.Endpoint{Target: one, State: endpoints.Terminating, UID: "a", Pod: deletedAtNoon}),
			incomplete: true,
			want:       plan{deregister: departures{one: {whyTerminating, noon}}},
		},
		"rule 5: again before the first reading after a failure": {
			endpoints:  listed(endpoints.Endpoint{Target: one, State: endpoints.Terminating, UID: "a"}),
			entries:    map[elbv2.Target]entry{one: {}},
			incomplete: true,
			want:       plan{deregister: departures{one: {why: whyTerminating}}},
		},
		"rule 5: while its registration is under way": {
			endpoints: listed(endpoints.Endpoint{Target: one, State: endpoints.Terminating, UID: "a"}),
			entries:   map[elbv2.Target]entry{one: {registering: true}},
			want:      plan{deregister: departures{one: {why: whyTerminating}}},
		},
		"a leaving pod is not deregistered over and over while its registration hangs": {
			endpoints: listed(endpoints.Endpoint{Target: one, State: endpoints.Terminating, UID: "a"}),
			entries:   map[elbv2.Target]entry{one: {presence: registered, registering: true, crossed: true}},
		},
		"a leaving pod that drains already": {
			endpoints: listed(endpoints.Endpoint{Target: one, State: endpoints.Terminating, UID: "a"}),
			entries:   map[elbv2.Target]entry{one: {presence: draining}},
		},
		"a leaving pod that was never registered": {
			endpoints: listed(endpoints.Endpoint{Target: one, State: endpoints.Terminating, UID: "a"}),
		},
		"rule 10: an unready pod that lives is neither added nor removed": {
			endpoints: listed(endpoints.Endpoint{Target: one, State: endpoints.Undetermined, UID: "a"}, endpoints.Endpoint{Target: two, State: endpoints.Undetermined, UID: "b"}),
			entries:   map[elbv2.Target]entry{one: {presence: registered, owner: "a"}},
		},
		"rule 7: a replaced pod stays until the wanted one is healthy": {
			endpoints: listed(endpoints.Endpoint{Target: one, State: endpoints.Unselected, UID: "a"}, endpoints.Endpoint{Target: two, State: endpoints.Desired, UID: "b"}),
			entries:   map[elbv2.Target]entry{one: {presence: registered, owner: "a"}, two: {presence: registered, owner: "b"}},
			want:      plan{lingering: map[elbv2.Target]endpoints.State{one: endpoints.Unselected}, handover: noon, nextChange: 5 * time.Minute},
		},
		"rule 7: and goes then": {
			endpoints: listed(endpoints.Endpoint{Target: one, State: endpoints.Unselected, UID: "a"}, endpoints.Endpoint{Target: two, State: endpoints.Desired, UID: "b"}),
			entries: map[elbv2.Target]entry{
				one: {presence: registered, owner: "a"}, two: {presence: registered, owner: "b", health: healthy, readAt: noon},
			},
			want: plan{lingering: map[elbv2.Target]endpoints.State{one: endpoints.Unselected}, deregister: departures{one: {why: whyUnselected}}},
		},
		"rule 7: no wanted pod at all keeps the replaced ones": {
			endpoints: listed(endpoints.Endpoint{Target: one, State: endpoints.Unselected, UID: "a"}),
			entries:   map[elbv2.Target]entry{one: {presence: registered, owner: "a"}},
			want:      plan{lingering: map[elbv2.Target]endpoints.State{one: endpoints.Unselected}, handover: noon, nextChange: 5 * time.Minute},
		},
		"rule 7: health from before the handover proves nothing": {
			endpoints: listed(endpoints.Endpoint{Target: one, State: endpoints.Unselected, UID: "a"}, endpoints.Endpoint{Target: two, State: endpoints.Desired, UID: "b"}),
			entries: map[elbv2.Target]entry{
				one: {presence: registered, owner: "a", lingering: endpoints.Unselected, lingeringSince: noon},
				two: {presence: registered, owner: "b", health: healthy, readAt: noon.Add(-time.Second)},
			},
			want: plan{lingering: map[elbv2.Target]endpoints.State{one: endpoints.Unselected}, handover: noon, nextChange: 5 * time.Minute},
		},
		"rule 2: an unready pod at a reused address": {
			endpoints: listed(endpoints.Endpoint{Target: one, State: endpoints.NotReady, UID: "b"}),
			entries:   map[elbv2.Target]entry{one: {presence: registered, owner: "a"}},
			want: plan{
				deregister: departures{one: {why: whyReused}}, lingering: map[elbv2.Target]endpoints.State{one: endpoints.NotReady}, nextChange: unreadyPause,
			},
		},
		"rule 7: but for a bounded time": {
			endpoints: listed(endpoints.Endpoint{Target: one, State: endpoints.Unselected, UID: "a"}),
			entries: map[elbv2.Target]entry{
				one: {presence: registered, owner: "a", lingering: endpoints.Unselected, lingeringSince: noon.Add(-5 * time.Minute)},
			},
			want: plan{
				lingering:  map[elbv2.Target]endpoints.State{one: endpoints.Unselected},
				deregister: departures{one: {why: whyTimedOut}}, timedOut: []elbv2.Target{one},
			},
		},
		"rule 7: time as something else does not count": {
			endpoints: listed(endpoints.Endpoint{Target: one, State: endpoints.Unselected, UID: "a"}),
			entries: map[elbv2.Target]entry{
				one: {presence: registered, owner: "a", readAt: noon, lingering: endpoints.NotReady, lingeringSince: noon.Add(-time.Hour)},
			},
			want: plan{lingering: map[elbv2.Target]endpoints.State{one: endpoints.Unselected}, handover: noon, nextChange: 5 * time.Minute},
		},
		"rule 6: a pod that has just become unready stays for now": {
			endpoints: listed(endpoints.Endpoint{Target: one, State: endpoints.NotReady, UID: "a"}, endpoints.Endpoint{Target: two, State: endpoints.Desired, UID: "b"}),
			entries: map[elbv2.Target]entry{
				one: {presence: registered, owner: "a", lingering: endpoints.NotReady, lingeringSince: noon.Add(-time.Second)},
				two: {presence: registered, owner: "b", health: healthy},
			},
			want: plan{lingering: map[elbv2.Target]endpoints.State{one: endpoints.NotReady}, nextChange: unreadyPause - time.Second},
		},
		"rule 6: and goes when enough others are healthy": {
			endpoints: listed(endpoints.Endpoint{Target: one, State: endpoints.NotReady, UID: "a"}, endpoints.Endpoint{Target: two, State: endpoints.Desired, UID: "b"}),
			entries: map[elbv2.Target]entry{
				one: {presence: registered, owner: "a", readAt: noon, lingering: endpoints.NotReady, lingeringSince: noon.Add(-unreadyPause)},
				two: {presence: registered, owner: "b", health: healthy},
			},
			want: plan{lingering: map[elbv2.Target]endpoints.State{one: endpoints.NotReady}, deregister: departures{one: {why: whyNotReady}}},
		},
		"rule 6: ready pods that the load balancer finds unhealthy are not enough": {
			endpoints: listed(endpoints.Endpoint{Target: one, State: endpoints.NotReady, UID: "a"}, endpoints.Endpoint{Target: two, State: endpoints.Desired, UID: "b"}),
			entries: map[elbv2.Target]entry{
				one: {presence: registered, owner: "a", readAt: noon, lingering: endpoints.NotReady, lingeringSince: noon.Add(-unreadyPause)},
				two: {presence: registered, owner: "b", health: elbv2.Health{State: elbv2.StateUnhealthy}},
			},
			want: plan{lingering: map[elbv2.Target]endpoints.State{one: endpoints.NotReady}, valve: true},
		},
		"rule 6: when all are unready all stay": {
			endpoints: listed(endpoints.Endpoint{Target: one, State: endpoints.NotReady, UID: "a"}, endpoints.Endpoint{Target: two, State: endpoints.NotReady, UID: "b"}),
			entries: map[elbv2.Target]entry{
				one: {presence: registered, owner: "a", readAt: noon, lingering: endpoints.NotReady, lingeringSince: noon.Add(-time.Hour)},
				two: {presence: registered, owner: "b", readAt: noon, lingering: endpoints.NotReady, lingeringSince: noon.Add(-time.Hour)},
			},
			want: plan{lingering: map[elbv2.Target]endpoints.State{one: endpoints.NotReady, two: endpoints.NotReady}, valve: true},
		},
		"rule 6: pods of a node that is down go without a pause and a reading": {
			endpoints: listed(endpoints.Endpoint{Target: one, State: endpoints.NotReady, NodeDown: true, UID: "a"}, endpoints.Endpoint{Target: two, State: endpoints.Desired, UID: "b"}),
			entries: map[elbv2.Target]entry{
				one: {presence: registered, owner: "a"}, two: {presence: registered, owner: "b", health: healthy},
			},
			want: plan{lingering: map[elbv2.Target]endpoints.State{one: endpoints.NotReady}, deregister: departures{one: {why: whyNodeDown}}},
		},
		"rule 6: but not when too few others are healthy": {
			endpoints: listed(endpoints.Endpoint{Target: one, State: endpoints.NotReady, NodeDown: true, UID: "a"}, endpoints.Endpoint{Target: two, State: endpoints.Desired, UID: "b"}),
			entries:   map[elbv2.Target]entry{one: {presence: registered, owner: "a"}, two: {presence: registered, owner: "b"}},
			want:      plan{lingering: map[elbv2.Target]endpoints.State{one: endpoints.NotReady}, valve: true},
		},
		"an unready pod is not added": {
			endpoints: listed(endpoints.Endpoint{Target: one, State: endpoints.NotReady, UID: "a"}),
		},
		"shared group: what is not ours is not touched": {
			endpoints: listed(
				endpoints.Endpoint{Target: one, State: endpoints.Terminating, UID: "a"}, endpoints.Endpoint{Target: two, State: endpoints.Unselected, UID: "b"},
				endpoints.Endpoint{Target: three, State: endpoints.NotReady, UID: "c"}),
			entries: map[elbv2.Target]entry{
				one: {presence: registered}, two: {presence: registered, lingering: endpoints.Unselected, lingeringSince: noon.Add(-time.Hour)},
				three:                        {presence: registered, readAt: noon, lingering: endpoints.NotReady, lingeringSince: noon.Add(-time.Hour)},
				{ID: "10.0.0.9", Port: 8080}: {presence: registered, readAt: noon, suspectedAt: noon.Add(-time.Hour)},
			},
			mine: none,
		},
		"shared group: before the first reading": {
			endpoints: listed(endpoints.Endpoint{Target: one, State: endpoints.Terminating, UID: "a"}), incomplete: true, mine: none,
		},
		"limit: what does not fit is left out, the same every time": {
			endpoints: listed(endpoints.Endpoint{Target: three, State: endpoints.Desired, UID: "c"}, endpoints.Endpoint{Target: two, State: endpoints.Desired, UID: "b"}),
			entries:   map[elbv2.Target]entry{one: {presence: registered, owner: "a", registering: true}},
			limit:     2,
			want:      plan{register: registrations{two: "b"}, leftOut: map[elbv2.Target]struct{}{three: {}}},
		},
		"limit: a draining target takes no room": {
			endpoints: listed(endpoints.Endpoint{Target: two, State: endpoints.Desired, UID: "b"}),
			entries:   map[elbv2.Target]entry{one: {presence: draining}},
			limit:     1,
			want:      plan{register: registrations{two: "b"}},
		},
		"limit: lowered under what is there": {
			endpoints: listed(endpoints.Endpoint{Target: one, State: endpoints.Desired, UID: "a", Unproven: true}, endpoints.Endpoint{Target: two, State: endpoints.Desired, UID: "b"}),
			entries:   map[elbv2.Target]entry{one: {presence: registered}, {ID: "10.0.0.9", Port: 1}: {presence: registered, registering: true}},
			limit:     1,
			want:      plan{register: registrations{one: "a"}, leftOut: map[elbv2.Target]struct{}{two: {}}},
		},
		"rule 10: a stranger is suspected first": {
			entries: map[elbv2.Target]entry{one: {presence: registered, readAt: noon}},
			want:    plan{suspects: map[elbv2.Target]struct{}{one: {}}},
		},
		"rule 10: the same reading proves nothing": {
			entries: map[elbv2.Target]entry{one: {presence: registered, readAt: noon, suspectedAt: noon}},
			want:    plan{suspects: map[elbv2.Target]struct{}{one: {}}},
		},
		"a stranger goes when a later reading shows it still": {
			entries: map[elbv2.Target]entry{one: {presence: registered, readAt: noon.Add(time.Second), suspectedAt: noon}},
			want: plan{
				deregister: departures{one: {why: whyUnknown}}, strangers: []elbv2.Target{one},
				suspects: map[elbv2.Target]struct{}{one: {}},
			},
		},
		"a target of ours whose pod is gone goes at once": {
			entries: map[elbv2.Target]entry{one: {presence: registered, owner: "a"}},
			want:    plan{deregister: departures{one: {why: whyPodGone}}},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			policy := testPolicy
			policy.MaxTargets = tc.limit
			if tc.mine == nil {
				tc.mine = all
			}
			got := makePlan(planInput{
				endpoints: tc.endpoints, entries: tc.entries, complete: !tc.incomplete, mine: tc.mine, policy: policy, now: noon,
			})
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(plan{}, departure{}), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}

func TestHealthOfAnswersForOnePodOnly(t *testing.T) {
	tests := map[string]struct {
		entry entry
		want  elbv2.Health
	}{
		"read after the registration": {
			entry: entry{presence: registered, owner: "a", ownedAt: noon, readAt: noon, health: healthy}, want: healthy,
		},
		"rule 2: read before the registration": {
			entry: entry{presence: registered, owner: "a", ownedAt: noon, readAt: noon.Add(-time.Millisecond), health: healthy},
		},
		"rule 2: another pod's": {entry: entry{presence: registered, owner: "b", health: healthy}},
		"draining":              {entry: entry{presence: draining, owner: "a", health: healthy}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.entry.healthOf(types.UID("a"))); diff != "" {
				t.Errorf("health (-want +got):\n%s", diff)
			}
		})
	}
}
