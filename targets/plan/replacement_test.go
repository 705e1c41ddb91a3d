// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/endpoints"
	"github.com/targetgate/targetgate/targets/targetgroup"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// scene is a Deployment "web" with healthy pods of its ReplicaSet web-1, some of which were deleted at noon, with a sleep of ten minutes.
type scene struct {
	pods      map[elbv2.Target]endpoints.Endpoint
	group     targetgroup.Targets
	newcomers []*corev1.Pod
	leaving   Leaving
}

func of(hash string, created time.Time) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Labels: map[string]string{"pod-template-hash": hash}, CreationTimestamp: metav1.NewTime(created), OwnerReferences: madeBy("web-" + hash),
	}
}

func newScene(stay, leave int) *scene {
	s := &scene{pods: map[elbv2.Target]endpoints.Endpoint{}, group: targetgroup.Targets{}}
	for i := range stay + leave {
		target := elbv2.Target{ID: fmt.Sprintf("10.0.0.%d", i), Port: 80}
		ep := endpoints.Endpoint{Target: target, UID: types.UID(target.ID), State: endpoints.Desired, Pod: &corev1.Pod{ObjectMeta: of("1", noon.Add(-time.Hour))}}
		if i >= stay {
			ep.State, ep.ServesUntil = endpoints.Terminating, noon.Add(10*time.Minute)
			ep.Pod.DeletionTimestamp, ep.Pod.DeletionGracePeriodSeconds = ptr.To(metav1.NewTime(noon.Add(11*time.Minute))), ptr.To[int64](660)
		}
		s.pods[target], s.group[target] = ep, targetgroup.Target{Presence: targetgroup.Registered, Owner: ep.UID, Health: healthy, Served: true}
	}
	return s
}

// add has a newcomer, which is a target in that state, or none when it is empty.
func (s *scene) add(hash string, created time.Time, ready bool, state elbv2.State) {
	pod := &corev1.Pod{ObjectMeta: of(hash, created)}
	pod.UID = types.UID(fmt.Sprintf("new %d", len(s.newcomers)))
	if ready {
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.ContainersReady, Status: corev1.ConditionTrue}}
	}
	s.newcomers = append(s.newcomers, pod)
	if state != "" {
		target := elbv2.Target{ID: fmt.Sprintf("10.0.1.%d", len(s.newcomers)), Port: 80}
		s.pods[target] = endpoints.Endpoint{Target: target, UID: pod.UID, State: endpoints.Desired, Pod: pod}
		s.group[target] = targetgroup.Target{Presence: targetgroup.Registered, Owner: pod.UID, Health: elbv2.Health{State: state}, Since: noon}
	}
}

// stay is how many of those that were deleted are targets after that time.
func (s *scene) stay(after time.Duration) (n int) {
	for _, now := range []time.Time{noon, noon.Add(after)} { // it remembers the first
		p := Make(Input{
			Endpoints: s.pods, Mine: all, Policy: leavingPolicy, Leaving: s.leaving, Now: now,
			Workloads: map[string][]*corev1.Pod{"ReplicaSets of web": s.newcomers},
			Group:     targetgroup.Snapshot{Targets: s.group, ReadAt: now, Settings: &v1beta1.TargetGroupSettings{Protocol: "HTTP"}},
		})
		s.leaving, n = p.Leaving, 0
		for _, d := range p.Deregister {
			if d.Stays {
				n++
			}
		}
	}
	return n
}

func TestPodThatNobodyReplacesLeaves(t *testing.T) {
	for name, tc := range map[string]struct {
		do          func(*scene)
		soon, later int // how many of three that leave stay, after 4 s and after 6 s
	}{
		"a scale-in": {soon: 3},
		"an eviction of one of them": {soon: 3, later: 1, do: func(s *scene) {
			s.add("1", noon, false, "")
		}},
		"all are evicted": {soon: 3, later: 3, do: func(s *scene) {
			for range 3 {
				s.add("1", noon.Add(time.Second), false, "")
			}
		}},
		"a rollout without a surge": {soon: 3, later: 3, do: func(s *scene) {
			for range 3 {
				s.add("2", noon, false, "")
			}
		}},
		"a rollout that hangs by its probes": {soon: 3, do: func(s *scene) {
			s.add("2", noon.Add(-time.Minute), false, "")
		}},
		"a rollout that hangs by its health checks": {soon: 3, do: func(s *scene) {
			s.add("2", noon.Add(-time.Minute), true, elbv2.StateUnhealthy)
		}},
		"the last pod of a rollout waits for its first health check": {soon: 3, later: 1, do: func(s *scene) {
			s.add("2", noon.Add(-time.Minute), true, elbv2.StateInitial)
		}},
		"one of the same ReplicaSet was not Ready before": {soon: 3, later: 1, do: func(s *scene) {
			s.add("1", noon.Add(-time.Minute), false, "")
		}},
		"the replacement of one serves, and the others have none": {soon: 3, do: func(s *scene) {
			s.add("1", noon.Add(time.Second), true, elbv2.StateHealthy)
		}},
		"a newer one is not healthy": {soon: 3, later: 1, do: func(s *scene) {
			s.add("1", noon.Add(time.Second), true, elbv2.StateUnhealthy)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			for after, want := range map[time.Duration]int{ReplacementPause - time.Second: tc.soon, ReplacementPause + time.Second: tc.later} {
				s := newScene(2, 3)
				if tc.do != nil {
					tc.do(s)
				}
				if got := s.stay(after); got != want {
					t.Errorf("after %s %d stay, want %d", after, got, want)
				}
			}
		})
	}
}

// However many leave and whatever comes, no more stay than replacements are on their way.
func TestNoMoreStayThanAreReplaced(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 45))
		s := newScene(random.IntN(4), 1+random.IntN(6))
		coming := random.IntN(7)
		for range coming {
			s.add(fmt.Sprint(1+random.IntN(2)), noon.Add(time.Duration(random.IntN(5))*time.Second), false, "")
		}
		leave := 0
		for _, ep := range s.pods {
			if ep.State == endpoints.Terminating {
				leave++
			}
		}
		if got, want := s.stay(ReplacementPause+time.Second), min(leave, coming); got != want {
			t.Errorf("seed %d: %d of %d stay, want %d, as %d come", seed, got, leave, want, coming)
		}
	}
}
