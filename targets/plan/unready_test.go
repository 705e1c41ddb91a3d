// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/endpoints"
	"github.com/targetgate/targetgate/targets/targetgroup"
)

// served is a target that serves since then, or until then: times are seconds before noon, 0 for until is now.
type served struct {
	from, until int
	never       bool // it never served
	before      bool // all that was before our time
	kept        bool // it has to stay
	state       endpoints.State
}

func secondsAgo(s int) time.Time { return noon.Add(-time.Duration(s) * time.Second) }

// servedInput is that at noon. Those that do not serve are unready since they stopped, or for an hour.
func servedInput(all []served, percent int) Input {
	in := Input{
		Endpoints: map[elbv2.Target]endpoints.Endpoint{}, Gate: readiness.GateFor("web"), Mine: func(elbv2.Target) bool { return true }, Now: noon,
		Group: targetgroup.Snapshot{Targets: targetgroup.Targets{}, ReadAt: noon}, Policy: Policy{MinReadyPercent: percent},
	}
	for i, s := range all {
		target := elbv2.Target{ID: fmt.Sprintf("10.0.0.%d", i), Port: 80}
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("web-%d", i), UID: types.UID(target.ID)}}
		ready := corev1.PodCondition{Type: corev1.ContainersReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(secondsAgo(s.from))}
		ep := endpoints.Endpoint{Target: target, UID: pod.UID, State: endpoints.Desired, Pod: pod}
		t := targetgroup.Target{Presence: targetgroup.Registered, Owner: pod.UID, OwnedAt: secondsAgo(7200), Health: healthy, ReadAt: noon, Served: !s.never}
		if t.Served {
			t.ServedFrom = secondsAgo(s.from)
		}
		if s.until > 0 || s.never {
			ready.Status, ready.LastTransitionTime = corev1.ConditionFalse, metav1.NewTime(secondsAgo(s.until))
			ep.State, t.Health = endpoints.NotReady, elbv2.Health{State: elbv2.StateUnhealthy}
			t.Unwanted, t.UnwantedSince = endpoints.NotReady, secondsAgo(max(s.until, 3600*b2i(s.never)))
			if t.Served {
				t.ServedUntil = secondsAgo(s.until)
			}
		}
		if s.before {
			t.Owner, t.OwnedAt, t.Served, t.ServedFrom, t.ServedUntil = "", time.Time{}, false, time.Time{}, time.Time{}
			pod.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: readiness.GateFor("web")}}
			if !s.never {
				pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: readiness.GateFor("web"), Status: corev1.ConditionTrue})
			}
		}
		if s.state != endpoints.Undetermined {
			ep.State = s.state
		}
		pod.Status.Conditions = append(pod.Status.Conditions, ready)
		in.Endpoints[target], in.Group.Targets[target] = ep, t
	}
	return in
}

func b2i(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

func TestUnreadyPodsStayWhileTooFewOfThoseThatServedTogetherServe(t *testing.T) {
	serves := served{from: 7200}
	repeat := func(n int, s served) (out []served) {
		for range n {
			out = append(out, s)
		}
		return out
	}
	for name, tc := range map[string]struct {
		pods    []served
		percent int // 50 when 0, -1 for 0
	}{
		"a leader by its probe, and its successor serves":          {pods: []served{{from: 3600, until: 20}, {from: 19}}},
		"they served together for a moment":                        {pods: []served{{from: 3600, until: 20}, {from: 21}}},
		"the same, and all must serve":                             {pods: []served{{from: 3600, until: 20, kept: true}, {from: 21}}, percent: 100},
		"the successor does not serve yet":                         {pods: []served{{from: 3600, until: 20, kept: true}, {never: true}}},
		"three leaders in ten seconds":                             {pods: []served{{from: 3600, until: 25}, {from: 24, until: 20}, {from: 19, until: 15}, {from: 14}}},
		"none of ten serves":                                       {pods: repeat(10, served{from: 7200, until: 3600, kept: true})},
		"six of ten do not serve, one after the other":             {pods: append(repeat(3, served{from: 7200, until: 3600, kept: true}), append(repeat(3, served{from: 7200, until: 3570, kept: true}), repeat(4, serves)...)...)},
		"five of ten do not":                                       {pods: append(repeat(5, served{from: 7200, until: 3600}), repeat(5, serves)...)},
		"four of ten are ready again":                              {pods: append(repeat(6, served{from: 7200, until: 30, kept: true}), repeat(4, serves)...)},
		"one of three, and they must be 60 %":                      {pods: []served{{from: 60, until: 20}, serves, serves}, percent: 60},
		"one of three, and they must be 70 %":                      {pods: []served{{from: 60, until: 20, kept: true}, serves, serves}, percent: 70},
		"one by one, two minutes apart, and nobody has let one go": {pods: []served{{from: 7200, until: 400, kept: true}, {from: 7200, until: 280, kept: true}, {from: 7200, until: 160, kept: true}}},
		"one by one, and the others have gone":                     {pods: []served{{from: 7200, until: 40, kept: true}}},
		"none ever served":                                         {pods: repeat(4, served{never: true})},
		"many start":                                               {pods: append(repeat(9, served{never: true}), served{from: 600, until: 30}, serves)},
		"the others leave for another reason":                      {pods: []served{{from: 600, until: 30}, serves, {from: 600, until: 0, state: endpoints.Terminating}, {from: 600, state: endpoints.Unselected}}},
		"the valve is switched off":                                {pods: repeat(3, served{from: 7200, until: 3600}), percent: -1},
		"none serves, and all that was before our time":            {pods: repeat(3, served{from: 7200, until: 3600, before: true, kept: true})},
		"a leader and its successor, before our time":              {pods: []served{{until: 20, before: true}, {from: 19, before: true}}},
		"one that was never healthy, before our time":              {pods: []served{{never: true, before: true}, {from: 100, before: true}, {from: 100, before: true}}},
		"a mass failure long ago, and some are back, before our":   {pods: append(repeat(6, served{until: 3600, before: true, kept: true}), repeat(4, served{from: 7200, before: true})...)},
	} {
		t.Run(name, func(t *testing.T) {
			percent := tc.percent
			if percent == 0 {
				percent = 50
			}
			p := Make(servedInput(tc.pods, max(0, percent)))
			_, told := p.WhyKept()
			some := false
			for i, s := range tc.pods {
				target := elbv2.Target{ID: fmt.Sprintf("10.0.0.%d", i), Port: 80}
				_, goes := p.Deregister[target]
				unready := (s.until > 0 || s.never) && s.state == endpoints.Undetermined
				if unready && goes == s.kept {
					t.Errorf("target %d: deregistered %t, want %t", i, goes, !s.kept)
				}
				if s.kept != strings.Contains(told, fmt.Sprintf("web-%d", i)) {
					t.Errorf("target %d: kept %t, and told is %q", i, s.kept, told)
				}
				some = some || s.kept
			}
			if p.UnreadyKept.Now != some {
				t.Errorf("unready kept: %t, want %t", p.UnreadyKept.Now, some)
			}
		})
	}
}

// How many served together is counted in one sweep; here one by one.
func TestValveCountsWhatServedTogether(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 32))
		var pods []served
		for range 1 + random.IntN(30) {
			s := served{from: 1 + random.IntN(300)}
			if random.IntN(2) == 0 {
				s.until = random.IntN(s.from)
			}
			s.never = random.IntN(10) == 0
			pods = append(pods, s)
		}
		in := servedInput(pods, 100)
		v := in.valve()
		for i, s := range pods {
			want := 0
			for _, other := range pods {
				lately := min(s.from, s.until+60) // no earlier than that
				if !s.never && !other.never && other.from >= s.until && other.until <= lately {
					want++
				}
			}
			if _, got := v.needs(elbv2.Target{ID: fmt.Sprintf("10.0.0.%d", i), Port: 80}); got != want {
				t.Fatalf("seed %d, %d: %d, want %d of %+v", seed, i, got, want, pods)
			}
		}
	}
}
