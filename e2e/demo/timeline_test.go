// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/targetgate/targetgate/e2e/emulator/dataplane"
	"github.com/targetgate/targetgate/e2e/emulator/state"
	"github.com/targetgate/targetgate/e2e/emulator/wire"
	"github.com/targetgate/targetgate/e2e/kubelet"
)

const (
	group      = "arn:group"
	otherGroup = "arn:other"
)

var (
	start  = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	oldKey = state.Key{ID: "10.1.0.2", Port: 8080}
	newKey = state.Key{ID: "10.1.0.3", Port: 8080}
)

func at(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }

func s(seconds int) time.Duration { return time.Duration(seconds) * time.Second }

func becameHealthy(key state.Key, group string, when time.Time) state.Event {
	return state.Event{
		Time: when, Kind: state.Changed, Group: group, Target: state.Target{Key: key}, To: state.Health{State: state.Healthy},
	}
}

// oneOfEach is an old pod that goes and a new one that comes, with things around that are none of their business.
func oneOfEach() evidence {
	return evidence{
		pods: []sighting{
			{UID: "new", Namespace: "web", Name: "web-2-new", IP: newKey.ID, Version: "2", GateOpen: at(5)},
			{UID: "old", Namespace: "web", Name: "web-1-old", IP: oldKey.ID, Version: "1"},
			{UID: "else", Namespace: "else", Name: "else-1-x", IP: "10.1.0.9", Version: "2"},
		},
		kubelet: []kubelet.Moment{
			{UID: "old", Event: kubelet.Ready, At: at(-9)},
			{UID: "new", Event: kubelet.Created, At: at(1)},
			{UID: "new", Event: kubelet.Bound, At: at(1)},
			{UID: "new", Event: kubelet.ContainersReady, At: at(2)},
			{UID: "new", Event: kubelet.Ready, At: at(6)},
			{UID: "new", Event: kubelet.Ready, At: at(60)},
			{UID: "old", Event: kubelet.DeletionSeen, At: at(7)},
			{UID: "old", Event: kubelet.SIGTERM, At: at(12)},
			{UID: "old", Event: kubelet.Gone, At: at(13)},
		},
		calls: []wire.Call{
			{Operation: "RegisterTargets", TargetGroup: group, Targets: []state.Key{newKey}, Answered: at(2), Code: "Throttling"},
			{Operation: "RegisterTargets", TargetGroup: otherGroup, Targets: []state.Key{newKey}, Answered: at(2)},
			{Operation: "RegisterTargets", TargetGroup: group, Targets: []state.Key{{ID: "10.9.9.9"}, newKey}, Answered: at(3)},
			{Operation: "DescribeTargetHealth", TargetGroup: group, Targets: []state.Key{newKey}, Answered: at(1)},
			{Operation: "DeregisterTargets", TargetGroup: group, Targets: []state.Key{oldKey}, Answered: at(8)},
		},
		journal: []state.Event{
			becameHealthy(newKey, otherGroup, at(3)), becameHealthy(newKey, group, at(4)), becameHealthy(newKey, group, at(9)),
		},
		requests: []dataplane.Request{
			{Start: at(1), Group: group, Target: oldKey, Status: 200},
			{Start: at(10), Group: group, Target: oldKey, Status: 502},
			{Start: at(9), Group: group, Target: oldKey, Status: 200},
			{Start: at(11), Group: otherGroup, Target: oldKey, Status: 502},
			{Start: at(15), Group: group, Target: newKey, Status: 200},
			{Start: at(16), Group: group, Status: 503},
		},
	}
}

func TestTimelinePutsMomentsTogether(t *testing.T) {
	want := []lane{{
		Pod: "web-1-old", Failed: []time.Duration{s(10)},
		At: map[moment]time.Duration{
			ready: s(-9), deleted: s(7), deregistered: s(8), lastRequest: s(10), sigterm: s(12), gone: s(13),
		},
	}, {
		Pod: "web-2-new", New: true,
		At: map[moment]time.Duration{
			created: s(1), containersReady: s(2), registered: s(3), healthy: s(4), gateOpen: s(5), ready: s(6),
		},
	}}
	got := timeline(oneOfEach(), "web", group, "2", start)
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(lane{})); diff != "" {
		t.Errorf("lanes (-want +got):\n%s", diff)
	}
}

func TestTimelineOrdersLanes(t *testing.T) {
	seen := evidence{
		pods: []sighting{
			{UID: "d", Namespace: "web", Name: "d", Version: "2"}, {UID: "c", Namespace: "web", Name: "c", Version: "2"},
			{UID: "b", Namespace: "web", Name: "b", Version: "1"}, {UID: "a", Namespace: "web", Name: "a", Version: "1"},
		},
		kubelet: []kubelet.Moment{
			{UID: "a", Event: kubelet.DeletionSeen, At: at(2)}, {UID: "b", Event: kubelet.DeletionSeen, At: at(1)},
			{UID: "c", Event: kubelet.Created, At: at(0)}, {UID: "d", Event: kubelet.Created, At: at(0)},
		},
	}
	var got []string
	for _, l := range timeline(seen, "web", group, "2", start) {
		got = append(got, l.Pod)
	}
	if diff := cmp.Diff([]string{"b", "a", "c", "d"}, got); diff != "" {
		t.Errorf("pods (-want +got):\n%s", diff)
	}
}

func TestTimelineLeavesOutPodsGoneBefore(t *testing.T) {
	seen := evidence{
		pods:    []sighting{{UID: "a", Namespace: "web", Name: "a", Version: "1"}},
		kubelet: []kubelet.Moment{{UID: "a", Event: kubelet.Gone, At: at(-1)}},
	}
	if got := timeline(seen, "web", group, "3", start); len(got) > 0 {
		t.Errorf("got %+v, want no lane", got)
	}
}

func TestTimelineOfPodWithoutAddress(t *testing.T) {
	seen := evidence{
		pods:     []sighting{{UID: "a", Namespace: "web", Name: "a", Version: "1"}},
		requests: []dataplane.Request{{Start: at(1), Group: group, Status: 503}},
	}
	got := timeline(seen, "web", group, "2", start)
	if len(got) != 1 || len(got[0].Failed) > 0 || len(got[0].At) > 0 {
		t.Errorf("got %+v, want one lane without moments", got)
	}
}
