// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/endpoints"
	"github.com/targetgate/targetgate/targets/targetgroup"
)

// testNode is a node of a binding of type instance, whose target is in the group.
type testNode struct {
	state   endpoints.State
	refused bool          // by AWS
	leaves  bool          // others are to replace it, or it is about to end
	health  elbv2.State   // empty: it is not in the group
	read    time.Duration // how long before now that was read
}

const read = time.Second // before now

func nodeTarget(i int) elbv2.Target { return elbv2.Target{ID: fmt.Sprintf("i-%02d", i+1), Port: 30080} }

// nodesInput is what is known of the nodes; those that are unselected have been so for some time.
func nodesInput(nodes []testNode, unwanted time.Duration) Input {
	in := Input{
		Endpoints: map[elbv2.Target]endpoints.Endpoint{}, Group: targetgroup.Snapshot{Targets: targetgroup.Targets{}, ReadAt: noon},
		Nodes: true, Mine: all, Policy: testPolicy, Now: noon,
	}
	in.Group.Registration.Refusals = map[elbv2.Target]string{}
	for i, n := range nodes {
		id := nodeTarget(i)
		uid := types.UID(id.ID)
		in.Endpoints[id] = endpoints.Endpoint{Target: id, UID: uid, State: n.state, NodeLeaves: n.leaves}
		if n.refused {
			in.Group.Registration.Refusals[id] = "no such instance"
		}
		if n.health == "" {
			continue
		}
		t := targetgroup.Target{
			Presence: targetgroup.Registered, Owner: uid, OwnedAt: noon.Add(-time.Hour), ReadAt: noon.Add(-n.read),
			Health: elbv2.Health{State: n.health},
		}
		if n.state == endpoints.Unselected {
			t.Unwanted, t.UnwantedSince = n.state, noon.Add(-unwanted)
		}
		in.Group.Targets[id] = t
	}
	return in
}

// Rule 7 for nodes: one that others are to replace stays while it serves and none of them does.
func TestNodeStaysUntilOthersReplaceIt(t *testing.T) {
	const (
		healthy, unhealthy, initial, unused = elbv2.StateHealthy, elbv2.StateUnhealthy, elbv2.StateInitial, elbv2.StateUnused
		tainted                             = 10 * time.Second // before now
		inTime                              = whyNodeLeaves
		late                                = whyNodeLeaves + whyInVain
	)
	desired := func(health elbv2.State) testNode {
		return testNode{state: endpoints.Desired, health: health, read: read}
	}
	leaving := func(health elbv2.State) testNode {
		return testNode{state: endpoints.Unselected, leaves: true, health: health, read: read}
	}
	tests := map[string]struct {
		nodes []testNode
		since time.Duration // before now; 0 for tainted
		limit int
		want  map[int]string // why nodes are deregistered
	}{
		"the only one":                         {nodes: []testNode{leaving(healthy)}},
		"all, in one go":                       {nodes: []testNode{leaving(healthy), leaving(healthy), leaving(healthy)}},
		"another one is not ready":             {nodes: []testNode{leaving(healthy), {state: endpoints.NotReady}}},
		"another one is not registered yet":    {nodes: []testNode{leaving(healthy), desired("")}},
		"another one is new":                   {nodes: []testNode{leaving(healthy), desired(initial)}},
		"another one is healthy":               {nodes: []testNode{leaving(healthy), desired(healthy)}, want: map[int]string{0: inTime}},
		"it was, by a reading from before":     {nodes: []testNode{leaving(healthy), {state: endpoints.Desired, health: healthy, read: time.Minute}}},
		"of two others, one is new":            {nodes: []testNode{leaving(healthy), desired(healthy), desired(initial)}},
		"one of several has a pod, and leaves": {nodes: []testNode{leaving(healthy), desired(unhealthy), desired(unhealthy)}},
		"another one has a pod, too":           {nodes: []testNode{leaving(healthy), desired(healthy), desired(unhealthy)}, want: map[int]string{0: inTime}},
		"one without a pod":                    {nodes: []testNode{leaving(unhealthy), desired(healthy)}, want: map[int]string{0: inTime}},
		"none is healthy, so all are sent to":  {nodes: []testNode{leaving(unhealthy), desired(unhealthy)}},
		"one without a pod, and no others":     {nodes: []testNode{leaving(unhealthy)}},
		"a new one":                            {nodes: []testNode{leaving(initial), leaving(healthy), desired(unhealthy)}, want: map[int]string{0: inTime}},
		"without a pod, by an old reading": {
			nodes: []testNode{{state: endpoints.Unselected, leaves: true, health: unhealthy, read: time.Minute}, desired(unhealthy)},
		},
		"no load balancer":                 {nodes: []testNode{leaving(unused), desired(unused)}, want: map[int]string{0: inTime}},
		"several, for a healthy one":       {nodes: []testNode{leaving(healthy), leaving(unhealthy), desired(healthy)}, want: map[int]string{0: inTime, 1: inTime}},
		"several, and one has no pod":      {nodes: []testNode{leaving(healthy), leaving(unhealthy), desired(unhealthy)}, want: map[int]string{1: inTime}},
		"most at once, and too few others": {nodes: []testNode{leaving(healthy), leaving(healthy), desired(healthy), desired(unhealthy)}},
		"most at once, and enough others": {
			nodes: []testNode{leaving(healthy), leaving(healthy), desired(healthy), desired(healthy)}, want: map[int]string{0: inTime, 1: inTime},
		},
		"too few others, for as long as it takes": {nodes: []testNode{leaving(healthy), leaving(healthy), desired(healthy)}, since: testPolicy.ReplacementTimeout},
		"others have no pods, for as long":        {nodes: []testNode{leaving(healthy), desired(unhealthy)}, since: testPolicy.ReplacementTimeout},
		"alone, for as long":                      {nodes: []testNode{leaving(healthy)}, since: testPolicy.ReplacementTimeout},
		"a new one is awaited for a bounded time": {nodes: []testNode{leaving(healthy), desired(healthy), desired(initial)}, since: testPolicy.ReplacementTimeout, want: map[int]string{0: late}},
		"one without a pod, too":                  {nodes: []testNode{leaving(unhealthy), desired(healthy), desired(initial)}, since: testPolicy.ReplacementTimeout, want: map[int]string{0: late}},
		"AWS refuses another one":                 {nodes: []testNode{leaving(healthy), desired(healthy), {state: endpoints.Desired, refused: true}}, want: map[int]string{0: inTime}},
		"AWS refuses all others":                  {nodes: []testNode{leaving(healthy), {state: endpoints.Desired, refused: true}}},
		"excluded by label, alone for a bounded time": {
			nodes: []testNode{{state: endpoints.Unselected, health: healthy, read: read}}, since: testPolicy.ReplacementTimeout,
			want: map[int]string{0: whyUnselected + whyInVain},
		},
		"the group has no room for another one": {
			nodes: []testNode{leaving(healthy), desired(healthy), desired("")}, limit: 2, want: map[int]string{0: inTime},
		},
		"nor for any other": {nodes: []testNode{leaving(healthy), desired("")}, limit: 1},
		"excluded by label, and the only one with a pod": {
			nodes: []testNode{{state: endpoints.Unselected, health: healthy, read: read}, desired(unhealthy)},
		},
		"excluded by label, and another one has a pod": {
			nodes: []testNode{{state: endpoints.Unselected, health: healthy, read: read}, desired(healthy)}, want: map[int]string{0: whyUnselected},
		},
		"it is being deleted": {nodes: []testNode{{state: endpoints.Terminating, leaves: true, health: healthy}}, want: map[int]string{0: whyTerminating}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			since := max(tc.since, tainted)
			in := nodesInput(tc.nodes, since)
			in.Policy.MaxTargets = tc.limit
			got := Make(in)
			want, timedOut, waits := targetgroup.Deregistrations{}, []elbv2.Target{}, false
			for i, n := range tc.nodes {
				why, goes := tc.want[i]
				if goes {
					want[nodeTarget(i)] = targetgroup.Deregistration{Why: why}
				}
				if strings.HasSuffix(why, whyInVain) {
					timedOut = append(timedOut, nodeTarget(i))
				}
				waits = waits || n.state == endpoints.Unselected && !goes && since < testPolicy.ReplacementTimeout
			}
			if diff := cmp.Diff(want, got.Deregister, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("deregistrations (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(timedOut, got.TimedOut, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("of these, too late (-want +got):\n%s", diff)
			}
			if left := testPolicy.ReplacementTimeout - since; waits && got.NextChange != left || waits != got.ReplacedAt.Equal(noon.Add(-since)) {
				t.Errorf("waits since %s for %s, want it to wait: %t, for %s", got.ReplacedAt, got.NextChange, waits, left)
			}
		})
	}
}

// Karpenter takes its taint back when no node comes to replace the one that has it.
func TestNodeThatIsNotReplacedAfterAllStaysAsItIs(t *testing.T) {
	in := nodesInput([]testNode{{state: endpoints.Unselected, leaves: true, health: elbv2.StateHealthy, read: read}}, time.Minute)
	id := nodeTarget(0)
	in.Endpoints[id] = endpoints.Endpoint{Target: id, UID: types.UID(id.ID), State: endpoints.Desired}
	got := Make(in)
	if diff := cmp.Diff(Plan{Changes: targetgroup.Changes{Nodes: true}}, got, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(Plan{}, "Leaving", "Foreign")); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
}

// Nodes that are to be replaced do not make up for one that is not ready.
func TestNodesToBeReplacedDoNotCountAsReady(t *testing.T) {
	in := nodesInput([]testNode{
		{state: endpoints.Unselected, leaves: true, health: elbv2.StateHealthy, read: read},
		{state: endpoints.Unselected, leaves: true, health: elbv2.StateHealthy, read: read},
		{state: endpoints.NotReady, health: elbv2.StateHealthy, read: read},
	}, 10*time.Second)
	unready := nodeTarget(2)
	target := in.Group.Targets[unready]
	target.Unwanted, target.UnwantedSince = endpoints.NotReady, noon.Add(-time.Minute)
	in.Group.Targets[unready] = target
	if got := Make(in); len(got.Deregister) > 0 || !got.UnreadyKept.Now {
		t.Errorf("deregistrations %v, unready ones kept: %t, want all to stay", got.Deregister, got.UnreadyKept.Now)
	}
}

// Pods that AWS refuses do not make up for those that they are to replace, as nodes need as many that are healthy.
func TestPodsStayWhileAWSRefusesTheirReplacements(t *testing.T) {
	in := nodesInput([]testNode{
		{state: endpoints.Unselected, health: elbv2.StateHealthy, read: read},
		{state: endpoints.Unselected, health: elbv2.StateHealthy, read: read},
		{state: endpoints.Desired, health: elbv2.StateHealthy, read: read},
		{state: endpoints.Desired, refused: true},
	}, 10*time.Second)
	if in.Nodes = false; len(Make(in).Deregister) > 0 {
		t.Errorf("deregistrations %v, want none", Make(in).Deregister)
	}
}

// With externalTrafficPolicy Local, the only node with a pod serves on when the API server does not hear from it any more.
func TestTheOnlyHealthyNodeStaysThoughItIsNotReady(t *testing.T) {
	for wanted, stays := range map[elbv2.State]bool{elbv2.StateUnhealthy: true, elbv2.StateHealthy: false} {
		in := nodesInput([]testNode{
			{state: endpoints.Desired, health: wanted, read: read},
			{state: endpoints.Desired, health: elbv2.StateUnhealthy, read: read},
			{state: endpoints.NotReady, health: elbv2.StateHealthy, read: read},
		}, 0)
		unready := nodeTarget(2)
		target := in.Group.Targets[unready]
		target.Unwanted, target.UnwantedSince = endpoints.NotReady, noon.Add(-time.Minute)
		in.Group.Targets[unready] = target
		if got := Make(in); len(got.Deregister) == 0 != stays || got.UnreadyKept.Now != stays {
			t.Errorf("another one is %s: deregistrations %v, unready ones kept: %t, want it to stay: %t", wanted, got.Deregister, got.UnreadyKept.Now, stays)
		}
	}
}

// Whether a node that is to be replaced has to wait for a healthy one depends on its own health, too.
func TestAwaitedAreTheNodesThatAreToBeReplaced(t *testing.T) {
	nodes := []testNode{
		{state: endpoints.Unselected, health: elbv2.StateHealthy, read: time.Minute}, // before it was tainted
		{state: endpoints.Unselected, health: elbv2.StateUnhealthy, read: read},
		{state: endpoints.Unselected, health: elbv2.StateHealthy, read: read},
		{state: endpoints.Desired, health: elbv2.StateUnhealthy, read: read},
		{state: endpoints.Desired, health: elbv2.StateHealthy, read: read},
		{state: endpoints.NotReady, health: elbv2.StateUnhealthy, read: read},
		{state: endpoints.Unselected, health: elbv2.StateUnhealthy, read: read}, // a pod
	}
	in := nodesInput(nodes, 10*time.Second)
	pod := in.Endpoints[nodeTarget(6)]
	pod.Pod = &corev1.Pod{}
	in.Endpoints[pod.Target] = pod
	for replacedAt, want := range map[time.Time][]int{{}: nil, noon.Add(-10 * time.Second): {0, 1, 3}} {
		wanted := targetgroup.Targets{}
		for _, i := range want {
			wanted[nodeTarget(i)] = in.Group.Targets[nodeTarget(i)]
		}
		if diff := cmp.Diff(wanted, Awaited(in.Endpoints, in.Group.Targets, "gate", replacedAt, nil)); diff != "" {
			t.Errorf("replaced since %s: awaited (-want +got):\n%s", replacedAt, diff)
		}
	}
}
