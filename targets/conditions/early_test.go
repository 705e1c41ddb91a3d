// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package conditions

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/endpoints"
	"github.com/targetgate/targetgate/targets/fixture"
	"github.com/targetgate/targetgate/targets/targetgroup"
)

// second is that many seconds after the pod was created.
func second(n int) time.Time { return fixture.Noon.Add(time.Duration(n) * time.Second) }

// says is the gate's condition, which turned at that second.
func says(status corev1.ConditionStatus, reason string, turned int) corev1.PodCondition {
	return corev1.PodCondition{Type: fixture.Gate, Status: status, Reason: reason, LastTransitionTime: metav1.NewTime(second(turned))}
}

func gated(uid types.UID, conditions ...corev1.PodCondition) *corev1.Pod {
	pod := fixture.Pod("web-0", "10.0.0.1")
	pod.UID, pod.Status.Conditions = uid, append(pod.Status.Conditions, conditions...)
	return pod
}

// Rule a: registered is said of this very pod first. Rule b: what is said later counts, too.
func TestOpenEarly(t *testing.T) {
	registering := says(corev1.ConditionFalse, elbv2.ReasonRegistrationInProgress, 1)
	checking := says(corev1.ConditionFalse, "Elb.InitialHealthChecking", 1)
	open := says(corev1.ConditionTrue, "TargetHealthy", 5)
	closedAgain := says(corev1.ConditionFalse, elbv2.ReasonRegistrationInProgress, 6)
	healthy, unhealthy := elbv2.StateHealthy, elbv2.StateUnhealthy
	type look struct {
		at  int
		pod *corev1.Pod
	}
	tests := map[string]struct {
		looks   []look
		state   elbv2.State
		readAt  int
		change  func(*endpoints.Endpoint)
		unknown bool
		opens   bool
		awaits  bool
	}{
		"healthy after the incumbent said registered": {looks: []look{{2, gated("a", registering)}}, state: healthy, readAt: 3, opens: true},
		"healthy before that":                         {looks: []look{{2, gated("a", registering)}}, state: healthy, readAt: 1, awaits: true},
		"healthy at that moment":                      {looks: []look{{2, gated("a", registering)}}, state: healthy, readAt: 2, awaits: true},
		"not healthy":                                 {looks: []look{{2, gated("a", registering)}}, state: unhealthy, readAt: 3, awaits: true},
		"no word of the target":                       {looks: []look{{2, gated("a", registering)}}, readAt: 3, unknown: true, awaits: true},
		"the incumbent has said nothing":              {looks: []look{{2, gated("a")}}, state: healthy, readAt: 3},
		"the incumbent has said something else":       {looks: []look{{2, gated("a", checking)}}, state: healthy, readAt: 3},
		"the incumbent says something else by now":    {looks: []look{{2, gated("a", registering)}, {3, gated("a", checking)}}, state: healthy, readAt: 4, opens: true},
		"healthy before it says something else":       {looks: []look{{2, gated("a", registering)}, {4, gated("a", checking)}}, state: healthy, readAt: 3, awaits: true},
		"said of an earlier pod of that name":         {looks: []look{{2, gated("b", registering)}, {3, gated("a", checking)}}, state: healthy, readAt: 4},
		"registered, and unknown to AWS's checks":     {looks: []look{{2, gated("a", says(corev1.ConditionUnknown, elbv2.ReasonRegistrationInProgress, 1))}}, state: healthy, readAt: 3},
		"nothing new at the next look":                {looks: []look{{2, gated("a", registering)}, {9, gated("a", registering)}}, state: healthy, readAt: 3, opens: true},
		"open":                                        {looks: []look{{2, gated("a", registering)}, {5, gated("a", open)}}, state: healthy, readAt: 9},
		"closed again, read before": {
			looks: []look{{2, gated("a", registering)}, {5, gated("a", open)}, {7, gated("a", closedAgain)}}, state: healthy, readAt: 6, awaits: true,
		},
		"closed again, read since": {
			looks: []look{{2, gated("a", registering)}, {5, gated("a", open)}, {7, gated("a", closedAgain)}}, state: healthy, readAt: 8, opens: true,
		},
		"closed again, and rightly": {
			looks: []look{{2, gated("a", registering)}, {5, gated("a", open)}, {7, gated("a", closedAgain)}}, state: unhealthy, readAt: 8, awaits: true,
		},
		"closed again between two looks": {looks: []look{{2, gated("a", registering)}, {7, gated("a", closedAgain)}}, state: healthy, readAt: 6, awaits: true},
		"not ready":                      {looks: []look{{2, gated("a", registering)}}, state: healthy, readAt: 3, change: func(ep *endpoints.Endpoint) { ep.State = endpoints.NotReady }},
		"two pods at the address":        {looks: []look{{2, gated("a", registering)}}, state: healthy, readAt: 3, change: func(ep *endpoints.Endpoint) { ep.Shared = true }},
		"another pod at the address":     {looks: []look{{2, gated("a", registering)}}, state: healthy, readAt: 3, change: func(ep *endpoints.Endpoint) { ep.UID = "b" }},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var seen Sights
			var pod *corev1.Pod
			for _, l := range tc.looks {
				pod = l.pod
				seen = seen.See([]*corev1.Pod{pod}, fixture.Gate, second(l.at))
			}
			ep := endpoints.Endpoint{Target: fixture.One, State: endpoints.Desired, UID: pod.UID, Pod: pod}
			if tc.change != nil {
				tc.change(&ep)
			}
			group := targetgroup.Snapshot{ReadAt: second(tc.readAt), Targets: targetgroup.Targets{}}
			if !tc.unknown {
				group.Targets[fixture.One] = targetgroup.Target{
					Presence: targetgroup.Registered, Health: elbv2.Health{State: tc.state}, ReadAt: second(tc.readAt),
				}
			}
			updates, awaited := OpenEarly(map[elbv2.Target]endpoints.Endpoint{fixture.One: ep}, group, seen)
			if opens := len(updates) == 1 && updates[0].Opens(); opens != tc.opens || len(updates) > 1 || len(awaited) == 1 != tc.awaits {
				t.Errorf("opens %t and awaits %d, want %t and %t", opens, len(awaited), tc.opens, tc.awaits)
			}
			if tc.opens || tc.awaits {
				if !seen.Await() {
					t.Error("nothing would be read")
				}
			}
			if a, isAwaited := awaited[fixture.One]; isAwaited && !a.ReadAt.Equal(group.ReadAt) {
				t.Errorf("the target counts as read at %v, want %v", a.ReadAt, group.ReadAt)
			}
		})
	}
}

func TestSightsForgetPodsThatGo(t *testing.T) {
	registering := says(corev1.ConditionFalse, elbv2.ReasonRegistrationInProgress, 1)
	seen := Sights{}.See([]*corev1.Pod{gated("a", registering), gated("b", registering)}, fixture.Gate, second(2))
	leaving := gated("a", registering)
	leaving.DeletionTimestamp = ptr.To(metav1.NewTime(second(3)))
	if diff := cmp.Diff(0, len(seen.See([]*corev1.Pod{leaving}, fixture.Gate, second(3)))); diff != "" || len(seen) != 2 {
		t.Errorf("remembered pods (-want +got):\n%s", diff)
	}
}

// The cache may not show our own write for a while, in which it is not made again; but another's is answered at once.
func TestWriterAnswersAnotherWriterAtOnce(t *testing.T) {
	pod := fixture.Pod("web-0", "10.0.0.1")
	inWriterBed(t, func(b *writerBed) {
		tries := 0
		b.answer = func(*corev1.Pod) error { tries++; return nil }
		g := NewGates(web)
		for i, wanted := range []int{1, 1, 2, 2} {
			b.Write(g, []Update{{Pod: pod, Health: opening, Replaces: second(i / 2)}})
			if !b.isOpen(t, pod) || tries != wanted {
				t.Errorf("%d writes after update %d, want %d", tries, i, wanted)
			}
		}
	}, pod)
}
