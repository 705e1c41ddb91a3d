// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/endpoints"
	"github.com/targetgate/targetgate/targets/targetgroup"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// leavingPolicy is the program's by default.
var leavingPolicy = Policy{MinReadyPercent: 50, Lead: Lead{ALB: 20 * time.Second, NLB: 200 * time.Second}, KeepUntilReplaced: true}

// deletedPod is one that was deleted then, and sleeps for that long.
func deletedPod(deleted time.Time, sleep time.Duration) endpoints.Endpoint {
	const grace = 600
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		OwnerReferences: madeBy("web"), DeletionTimestamp: ptr.To(metav1.NewTime(deleted.Add(grace * time.Second))), DeletionGracePeriodSeconds: ptr.To[int64](grace),
	}}
	return endpoints.Endpoint{Target: one, UID: "a", State: endpoints.Terminating, Pod: pod, ServesUntil: deleted.Add(sleep)}
}

// madeBy is the controller of a pod: the ReplicaSet of that name.
func madeBy(set string) []metav1.OwnerReference {
	return []metav1.OwnerReference{{Kind: "ReplicaSet", Name: set, UID: types.UID(set), Controller: ptr.To(true)}}
}

// newcomer is a pod of the ReplicaSet, created then, whose containers are not ready.
func newcomer(set string, created time.Time) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		UID: types.UID(fmt.Sprintf("new %s %s", set, created)), OwnerReferences: madeBy(set), CreationTimestamp: metav1.NewTime(created),
	}}
}

func TestDeadlineOfADeregistration(t *testing.T) {
	alb, nlb := &v1beta1.TargetGroupSettings{Protocol: "HTTP"}, &v1beta1.TargetGroupSettings{Protocol: "TCP"}
	now, at := endpoints.Endpoint{State: endpoints.Terminating}, func(d time.Duration) time.Time { return noon.Add(d) }
	onNode := endpoints.Endpoint{State: endpoints.Terminating, Pod: &corev1.Pod{}, ServesUntil: at(2 * time.Minute)}
	tests := map[string]struct {
		endpoint endpoints.Endpoint
		settings *v1beta1.TargetGroupSettings
		seen     time.Time
		want     time.Time
	}{
		"nothing is known of its end":              {endpoint: now, settings: alb},
		"ALB":                                      {endpoint: deletedPod(noon, 30*time.Second), settings: alb, want: at(9500 * time.Millisecond)},
		"NLB":                                      {endpoint: deletedPod(noon, 210*time.Second), settings: nlb, want: at(9500 * time.Millisecond)},
		"the protocol is not known":                {endpoint: deletedPod(noon, 210*time.Second), want: at(9500 * time.Millisecond)},
		"the sleep is too short":                   {endpoint: deletedPod(noon, 20*time.Second), settings: alb},
		"NLB, and the sleep is too short":          {endpoint: deletedPod(noon, 130*time.Second), settings: nlb},
		"our clock is behind the API server's":     {endpoint: deletedPod(noon, 30*time.Second), settings: alb, seen: at(-5 * time.Second), want: at(4500 * time.Millisecond)},
		"our clock is ahead of the API server's":   {endpoint: deletedPod(noon, 30*time.Second), settings: alb, seen: at(5 * time.Second), want: at(9500 * time.Millisecond)},
		"NLB, its node goes and leaves too little": {endpoint: onNode, settings: nlb},
		"its node goes, and it is not deleted":     {endpoint: onNode, settings: alb, want: at(99500 * time.Millisecond)},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			in := Input{Policy: leavingPolicy, Group: targetgroup.Snapshot{Settings: tc.settings}, Now: noon}
			if got := in.deadline(tc.endpoint, leaver{deletedAt: tc.seen}); !got.Equal(tc.want) {
				t.Errorf("deadline %s, want %s", got, tc.want)
			}
		})
	}
}

func TestPodIsCutShortByTheGracePeriodOfItsDeletion(t *testing.T) {
	tests := map[string]struct {
		sleep, grace, own int64
		want              bool
	}{
		"its own":                           {sleep: 30, grace: 60, own: 60},
		"shorter than the sleep":            {sleep: 30, grace: 10, own: 60, want: true},
		"shorter, but the sleep ends first": {sleep: 10, grace: 30, own: 60},
		"shorter, and there is enough time": {sleep: 60, grace: 40, own: 90},
		"its own is shorter than its sleep": {sleep: 30, grace: 10, own: 10},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			ep := deletedPod(noon, time.Duration(min(tc.sleep, tc.grace))*time.Second)
			ep.Pod.DeletionTimestamp, ep.Pod.DeletionGracePeriodSeconds = ptr.To(metav1.NewTime(noon.Add(time.Duration(tc.grace)*time.Second))), &tc.grace
			ep.Pod.Spec.TerminationGracePeriodSeconds = &tc.own
			p := Make(Input{
				Endpoints: listed(ep), Mine: all, Policy: leavingPolicy, Now: noon,
				Group: targetgroup.Snapshot{
					ReadAt: noon, Settings: &v1beta1.TargetGroupSettings{Protocol: "HTTP"},
					Targets: targetgroup.Targets{one: {Presence: targetgroup.Registered, Owner: "a", Health: healthy}},
				},
			})
			if got := len(p.CutShort) == 1; got != tc.want {
				t.Errorf("cut short: %t, want %t", got, tc.want)
			}
		})
	}
}

// cluster is one binding's pods, as passes find them second by second.
type cluster struct {
	now     time.Time
	policy  Policy
	pods    map[elbv2.Target]endpoints.Endpoint
	group   targetgroup.Targets
	leaving Leaving
	plan    Plan
	added   int
}

func newCluster(replicas int) *cluster {
	c := &cluster{now: noon, policy: leavingPolicy, pods: map[elbv2.Target]endpoints.Endpoint{}, group: targetgroup.Targets{}}
	for range replicas {
		c.add()
	}
	c.pass()
	c.wait(2 * settledFor)
	return c
}

// add has a pod that is healthy at once.
func (c *cluster) add() elbv2.Target {
	c.added++
	target := elbv2.Target{ID: fmt.Sprintf("10.0.0.%d", c.added), Port: 80}
	uid := types.UID(target.ID)
	c.pods[target] = endpoints.Endpoint{Target: target, UID: uid, State: endpoints.Desired, Pod: &corev1.Pod{}}
	c.group[target] = targetgroup.Target{Presence: targetgroup.Registered, Owner: uid, Health: healthy}
	return target
}

// remove has the pod deleted, with a sleep that leaves it 9.5 s to its deadline.
func (c *cluster) remove(target elbv2.Target) {
	ep := deletedPod(c.now, 30*time.Second)
	ep.Target, ep.UID = target, c.pods[target].UID
	c.pods[target] = ep
}

func (c *cluster) wait(d time.Duration) {
	c.now = c.now.Add(d)
	c.pass()
}

// pass makes a plan, and deregisters what it lets go.
func (c *cluster) pass() {
	c.plan = Make(Input{
		Workloads: map[string][]*corev1.Pod{"ReplicaSet web": slices.Repeat([]*corev1.Pod{newcomer("web", c.now)}, 10)},
		Endpoints: c.pods, Mine: all, Policy: c.policy, Leaving: c.leaving, Now: c.now,
		Group: targetgroup.Snapshot{Targets: c.group, ReadAt: c.now, Settings: &v1beta1.TargetGroupSettings{Protocol: "HTTP"}},
	})
	c.leaving = c.plan.Leaving
	for target, d := range c.plan.Deregister {
		if !d.Stays {
			c.group[target] = targetgroup.Target{Presence: targetgroup.Draining}
		}
	}
}

// serving is how many targets are registered and healthy.
func (c *cluster) serving() (n int) {
	for _, t := range c.group {
		if t.Presence == targetgroup.Registered && t.Health == healthy {
			n++
		}
	}
	return n
}

func (c *cluster) gone() (gone []string) {
	for target, t := range c.group {
		if t.Presence == targetgroup.Draining {
			gone = append(gone, target.ID[len("10.0.0."):])
		}
	}
	slices.Sort(gone)
	return gone
}

func TestPodThatLeavesStaysUntilItIsReplaced(t *testing.T) {
	n := func(i int) elbv2.Target { return elbv2.Target{ID: fmt.Sprintf("10.0.0.%d", i), Port: 80} }
	tests := map[string]struct {
		replicas int
		do       func(*cluster)
		want     string // the pods whose targets have gone, in order
	}{
		"an eviction": {replicas: 2, do: func(c *cluster) { c.remove(n(1)) }},
		"an eviction, and the replacement is healthy": {replicas: 2, want: "1", do: func(c *cluster) {
			c.remove(n(1))
			c.wait(time.Second)
			c.add()
		}},
		"both are evicted, and one replacement is healthy: the last deadline stays": {replicas: 2, want: "1", do: func(c *cluster) {
			c.remove(n(1))
			c.wait(time.Second)
			c.remove(n(2))
			c.wait(time.Second)
			c.add()
		}},
		"the deadline is over": {replicas: 2, want: "1", do: func(c *cluster) {
			c.remove(n(1))
			c.wait(9500 * time.Millisecond)
		}},
		"a rolling update has more pods than replicas: none is missing": {replicas: 2, want: "1", do: func(c *cluster) {
			c.add()
			c.wait(time.Second)
			c.remove(n(1))
		}},
		"the same just after a start, when nobody knows how many there are usually": {replicas: 2, do: func(c *cluster) {
			c.leaving = Leaving{}
			c.add()
			c.wait(time.Second)
			c.remove(n(1))
		}},
		"right after a start, before a rolling update": {replicas: 2, want: "1", do: func(c *cluster) {
			c.leaving = Leaving{}
			c.wait(time.Second)
			c.add()
			c.wait(time.Second)
			c.remove(n(1))
		}},
		"right after a start, when the first number is one in the middle of a rolling update": {replicas: 2, want: "1 2", do: func(c *cluster) {
			c.leaving = Leaving{}
			c.add()
			c.wait(time.Second)
			c.remove(n(1))
			c.wait(10 * time.Second)
			c.wait(settledFor)
			c.wait(settledFor)
			c.add()
			c.wait(time.Second)
			c.remove(n(2))
		}},
		"more are healthy for a while, and one never is": {replicas: 2, do: func(c *cluster) {
			c.group[c.add()] = targetgroup.Target{Presence: targetgroup.Registered, Health: elbv2.Health{State: elbv2.StateUnused}}
			c.wait(time.Second)
			for range 4 {
				c.add()
				c.wait(10 * time.Second)
			}
			c.wait(settledFor)
			c.wait(settledFor)
			c.remove(n(1))
			c.remove(n(2))
			c.remove(n(4))
		}},
		"more are healthy for a moment, and one never is": {replicas: 2, want: "1 4", do: func(c *cluster) {
			c.group[c.add()] = targetgroup.Target{Presence: targetgroup.Registered, Health: elbv2.Health{State: elbv2.StateUnused}}
			c.wait(time.Second)
			c.wait(settledFor)
			c.add()
			c.wait(time.Second)
			c.remove(n(1))
			c.add()
			c.wait(settledFor / 2)
			c.remove(n(4))
		}},
		"more are healthy for a part of that time, and one never is": {replicas: 2, want: "1", do: func(c *cluster) {
			c.group[c.add()] = targetgroup.Target{Presence: targetgroup.Registered, Health: elbv2.Health{State: elbv2.StateUnused}}
			c.wait(time.Second)
			c.wait(settledFor) // the fewest are counted anew from here on: two
			c.add()
			c.wait(5 * time.Second)
			c.wait(settledFor)
			c.remove(n(1))
		}},
		"right after a start, while pods start": {replicas: 2, do: func(c *cluster) {
			c.leaving = Leaving{}
			third := c.add()
			ep := c.pods[third]
			ep.State = endpoints.NotReady
			c.pods[third] = ep
			delete(c.group, third)
			c.wait(time.Second)
			c.pods[third] = endpoints.Endpoint{Target: third, UID: ep.UID, State: endpoints.Desired, Pod: &corev1.Pod{}}
			c.group[third] = targetgroup.Target{Presence: targetgroup.Registered, Owner: ep.UID, Health: healthy}
			c.remove(n(1))
		}},
		"fewer are usual after a while, and one never is healthy": {replicas: 4, want: "1", do: func(c *cluster) {
			c.group[c.add()] = targetgroup.Target{Presence: targetgroup.Registered, Since: c.now, Health: elbv2.Health{State: elbv2.StateUnused}}
			c.wait(time.Second)
			delete(c.pods, n(2))
			delete(c.group, n(2))
			c.wait(longStart)
			c.wait(settledFor)
			c.add()
			c.wait(time.Second)
			c.remove(n(1))
		}},
		"more pods than before are usual after a while": {replicas: 2, do: func(c *cluster) {
			c.add()
			c.wait(time.Second)
			c.wait(settledFor)
			c.remove(n(1))
		}},
		"fewer were healthy for a while: that is not usual": {replicas: 2, do: func(c *cluster) {
			well := c.group[n(2)]
			ill := well
			ill.Health = elbv2.Health{State: elbv2.StateUnhealthy}
			c.group[n(2)] = ill
			c.wait(time.Second)
			c.wait(2 * settledFor)
			c.group[n(2)] = well
			c.wait(time.Second)
			c.remove(n(1))
		}},
		"it is switched off": {replicas: 2, want: "1", do: func(c *cluster) {
			c.policy.KeepUntilReplaced = false
			c.remove(n(1))
		}},
		"it is switched off for the pod": {replicas: 2, want: "1", do: func(c *cluster) {
			c.remove(n(1))
			ep := c.pods[n(1)]
			ep.LeavesAtOnce = true
			c.pods[n(1)] = ep
		}},
		"it is not healthy": {replicas: 2, want: "1", do: func(c *cluster) {
			c.group[n(1)] = targetgroup.Target{Presence: targetgroup.Registered, Owner: types.UID(n(1).ID), Health: elbv2.Health{State: elbv2.StateUnhealthy}}
			c.wait(time.Second)
			c.remove(n(1))
		}},
		"nothing is known of its end": {replicas: 2, want: "1", do: func(c *cluster) {
			c.remove(n(1))
			ep := c.pods[n(1)]
			ep.ServesUntil = time.Time{}
			c.pods[n(1)] = ep
		}},
		"the other one's node leaves: it is none that stays": {replicas: 2, do: func(c *cluster) {
			ep := c.pods[n(2)]
			ep.NodeLeaves = true
			c.pods[n(2)] = ep
			c.remove(n(1))
			c.wait(time.Second)
			c.add()
		}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			c := newCluster(tc.replicas)
			tc.do(c)
			c.pass()
			if diff := cmp.Diff(tc.want, strings.Join(c.gone(), " ")); diff != "" {
				t.Errorf("gone (-want +got):\n%s", diff)
			}
		})
	}
}

// The notice to a node comes before the deletion of its pods, and does not count as that.
func TestDeadlineStandsWhenThePodIsDeletedAfterTheNotice(t *testing.T) {
	c := newCluster(2)
	target, ends := elbv2.Target{ID: "10.0.0.1", Port: 80}, c.now.Add(2*time.Minute)
	noticed := endpoints.Endpoint{Target: target, UID: c.pods[target].UID, State: endpoints.Terminating, NodeLeaves: true, Pod: &corev1.Pod{}, ServesUntil: ends}
	c.pods[target] = noticed
	c.wait(time.Minute)
	deleted := deletedPod(c.now, 210*time.Second)
	deleted.Target, deleted.UID, deleted.NodeLeaves, deleted.ServesUntil = target, noticed.UID, true, ends
	c.pods[target] = deleted
	c.wait(time.Second)
	if d, want := c.plan.Deregister[target], ends.Add(-20500*time.Millisecond); !d.Deadline.Equal(want) || !d.Stays {
		t.Errorf("%+v, want it to stay until %s", d, want)
	}
}

// A deletion after the notice is measured by our clock, as any other.
func TestDeadlineAfterTheNoticeIsTheEarlierOneOfBothClocks(t *testing.T) {
	c := newCluster(2)
	target := elbv2.Target{ID: "10.0.0.1", Port: 80}
	ep := endpoints.Endpoint{Target: target, UID: c.pods[target].UID, State: endpoints.Terminating, Pod: &corev1.Pod{}, ServesUntil: c.now.Add(2 * time.Minute)}
	c.pods[target] = ep
	c.wait(time.Minute)
	deleted := deletedPod(c.now.Add(5*time.Second), 50*time.Second) // the API server's clock is ahead
	deleted.Target, deleted.UID = target, ep.UID
	c.pods[target] = deleted
	c.pass()
	if d, want := c.plan.Deregister[target], c.now.Add(29500*time.Millisecond); !d.Deadline.Equal(want) {
		t.Errorf("deadline %s, want %s", d.Deadline, want)
	}
}

// Room that there will be anyway needs no target to go that serves.
func TestTargetsThatStayMakeNoRoomThatOthersMake(t *testing.T) {
	c := newCluster(5)
	c.policy.MaxTargets = 5
	n := func(i int) elbv2.Target { return elbv2.Target{ID: fmt.Sprintf("10.0.0.%d", i), Port: 80} }
	delete(c.group, c.add())
	delete(c.group, c.add())
	c.remove(n(1))
	ep := c.pods[n(1)]
	ep.ServesUntil = time.Time{}
	c.pods[n(1)] = ep
	underWay := c.group[n(2)]
	underWay.Deregistering = true
	c.remove(n(2))
	c.group[n(2)] = underWay
	c.remove(n(3))
	in := Input{
		Endpoints: c.pods, Mine: all, Policy: c.policy, Leaving: c.leaving, Now: c.now,
		Group: targetgroup.Snapshot{Targets: c.group, ReadAt: c.now, Settings: &v1beta1.TargetGroupSettings{Protocol: "HTTP"}},
	}
	if p := Make(in); len(p.LeftOut) != 2 || !p.Deregister[n(3)].Stays {
		t.Errorf("%d left out, and %+v, want the target to stay: two others go", len(p.LeftOut), p.Deregister)
	}
}

// The clocks of nodes say when containers became ready.
func TestRegistrationWaitsNoLongerBecauseOfAClockThatIsAhead(t *testing.T) {
	for ahead, want := range map[time.Duration]time.Duration{-time.Second: 2 * time.Second, time.Hour: registrationWait} {
		pod := &corev1.Pod{Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{
			Type: corev1.ContainersReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(noon.Add(ahead)),
		}}}}
		in := Input{Now: noon, Endpoints: listed(endpoints.Endpoint{Target: one, Pod: pod})}
		if got := registerBy(in, targetgroup.Registrations{one: "a"}); !got.Equal(noon.Add(want)) {
			t.Errorf("a clock is ahead by %s: to be registered by %s, want %s from now", ahead, got, want)
		}
	}
}

// A target that stays may take the room of what it waits for.
func TestTargetsThatStayLeaveRoomForTheirReplacements(t *testing.T) {
	c := newCluster(3)
	c.policy.MaxTargets = 3
	first, second, comer := elbv2.Target{ID: "10.0.0.1", Port: 80}, elbv2.Target{ID: "10.0.0.2", Port: 80}, c.add()
	delete(c.group, comer)
	c.remove(second)
	c.now = c.now.Add(time.Second)
	c.remove(first)
	c.plan = Make(Input{
		Endpoints: c.pods, Mine: all, Policy: c.policy, Leaving: c.leaving, Now: c.now,
		Group: targetgroup.Snapshot{Targets: c.group, ReadAt: c.now, Settings: &v1beta1.TargetGroupSettings{Protocol: "HTTP"}},
	})
	if d := c.plan.Deregister; d[second].Stays || !d[first].Stays || len(c.plan.LeftOut) != 1 {
		t.Errorf("%+v and %d left out, want the target with the first deadline to make room for the one that is", d, len(c.plan.LeftOut))
	}
}

// Before the first reading nobody knows who is healthy: pods with time left stay until then.
func TestPodThatLeavesStaysUntilTheGroupIsRead(t *testing.T) {
	in := Input{
		Endpoints: listed(deletedPod(noon, 30*time.Second)), Mine: all, Policy: leavingPolicy, Now: noon,
		Group: targetgroup.Snapshot{Settings: &v1beta1.TargetGroupSettings{Protocol: "HTTP"}},
	}
	if d := Make(in).Deregister[one]; !d.Stays || d.Deadline.IsZero() {
		t.Errorf("%+v, want it to stay until its deadline", d)
	}
	in.Now = noon.Add(9500 * time.Millisecond)
	if d := Make(in).Deregister[one]; d.Stays {
		t.Errorf("%+v, want it to go when its deadline has passed", d)
	}
}

// Whatever comes and goes: no target goes before its deadline while fewer others stay than there were usually, and none stays for longer.
func TestNoTargetGoesBeforeItIsReplacedOrDue(t *testing.T) {
	for seed := range uint64(500) {
		random := rand.New(rand.NewPCG(seed, 19))
		replicas := 1 + random.IntN(4)
		c := newCluster(replicas)
		full := c.now
		for range 40 {
			c.now = c.now.Add(time.Duration(random.IntN(4000)) * time.Millisecond)
			serving, before := c.serving(), len(c.gone())
			alive := slices.Collect(func(yield func(elbv2.Target) bool) {
				for target, ep := range c.pods {
					if ep.State == endpoints.Desired && !yield(target) {
						return
					}
				}
			})
			if len(alive) == replicas {
				full = c.now
			}
			switch {
			case random.IntN(2) == 0 && len(alive) > 0 && c.now.Sub(full) < settledFor/2: // fewer would be the usual number else
				slices.SortFunc(alive, func(a, b elbv2.Target) int { return strings.Compare(a.String(), b.String()) })
				c.remove(alive[random.IntN(len(alive))])
			case len(alive) < replicas:
				c.add()
				serving++
			}
			due := 0
			for target, ep := range c.pods {
				if t := c.group[target]; ep.State == endpoints.Terminating && t.Presence == targetgroup.Registered && !ep.ServesUntil.Add(-20500*time.Millisecond).After(c.now) {
					due++
				}
			}
			c.pass()
			if went := len(c.gone()) - before; went < due || went > due && c.serving() < min(replicas, serving-due) {
				t.Fatalf("seed %d: %d went, %d of them due; %d of %d serve", seed, went, due, c.serving(), replicas)
			}
		}
	}
}
