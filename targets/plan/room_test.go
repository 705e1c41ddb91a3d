// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/endpoints"
	"github.com/targetgate/targetgate/targets/targetgroup"
)

// handover is a Service that selects other pods now, as passes find it every few seconds.
type handover struct {
	now    time.Time
	policy Policy
	pods   map[elbv2.Target]endpoints.Endpoint
	group  targetgroup.Targets
	mine   func(elbv2.Target) bool
	checks time.Duration // until new pods are healthy
}

// newHandover has olds pods registered, which were read a minute ago, and news pods that are to replace them.
func newHandover(most, olds, news int, health elbv2.State) *handover {
	h := &handover{now: noon, policy: testPolicy, mine: all, checks: 15 * time.Second, pods: map[elbv2.Target]endpoints.Endpoint{}, group: targetgroup.Targets{}}
	h.policy.MaxTargets = most
	for i := range olds {
		target := h.add("10.0.0.%d", i, endpoints.Unselected)
		h.group[target] = targetgroup.Target{
			Presence: targetgroup.Registered, Owner: types.UID(target.ID), Health: elbv2.Health{State: health}, ReadAt: noon.Add(-time.Minute),
		}
	}
	for i := range news {
		h.add("10.0.1.%d", i, endpoints.Desired)
	}
	return h
}

func (h *handover) add(address string, i int, s endpoints.State) elbv2.Target {
	target := elbv2.Target{ID: fmt.Sprintf(address, i), Port: 80}
	h.pods[target] = endpoints.Endpoint{Target: target, UID: types.UID(target.ID), State: s}
	return target
}

// pass makes a plan and carries it out.
func (h *handover) pass() Plan {
	p := Make(Input{
		Endpoints: h.pods, Group: targetgroup.Snapshot{Targets: h.group, ReadAt: h.now}, Mine: h.mine, Policy: h.policy, Now: h.now,
	})
	for target, t := range h.group {
		if why := p.Unwanted[target]; t.Unwanted != why {
			t.Unwanted, t.UnwantedSince = why, h.now
		}
		if _, leaves := p.Deregister[target]; leaves {
			t = targetgroup.Target{Presence: targetgroup.Draining}
		}
		h.group[target] = t
	}
	for target, uid := range p.Register {
		h.group[target] = targetgroup.Target{
			Presence: targetgroup.Registered, Owner: uid, OwnedAt: h.now, Health: elbv2.Health{State: elbv2.StateInitial},
		}
	}
	return p
}

// read reads the group a while later.
func (h *handover) read() {
	h.now = h.now.Add(5 * time.Second)
	for target, t := range h.group {
		t.ReadAt = h.now
		if h.pods[target].State == endpoints.Desired && h.now.Sub(t.OwnedAt) > h.checks {
			t.Health = healthy
		}
		h.group[target] = t
	}
}

// serving is how many targets the load balancer sends to, and how many of each kind are registered.
func (h *handover) serving() (serving, olds, news int) {
	well := 0
	for target, t := range h.group {
		switch {
		case t.Presence != targetgroup.Registered:
			continue
		case h.pods[target].State == endpoints.Desired:
			news++
		default:
			olds++
		}
		if t.Health == healthy {
			well++
		}
	}
	if well == 0 {
		return olds, olds, news
	}
	return well, olds, news
}

// Rule 7, where new targets find no room before old ones go.
func TestFullGroupIsReplacedStepByStep(t *testing.T) {
	tests := map[string]struct {
		most, olds, news int
		health           elbv2.State
		least            int // that serve
	}{
		"as many as before":                {most: 4, olds: 4, news: 4, health: elbv2.StateHealthy, least: 2},
		"an odd number":                    {most: 5, olds: 5, news: 5, health: elbv2.StateHealthy, least: 3},
		"more than ever fit":               {most: 4, olds: 4, news: 9, health: elbv2.StateHealthy, least: 2},
		"fewer than before":                {most: 6, olds: 6, news: 3, health: elbv2.StateHealthy, least: 2},
		"there is room for one":            {most: 6, olds: 5, news: 6, health: elbv2.StateHealthy, least: 3},
		"none is healthy: all are sent to": {most: 4, olds: 4, news: 4, health: elbv2.StateUnhealthy, least: 2},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			h := newHandover(tc.most, tc.olds, tc.news, tc.health)
			if p := h.pass(); len(p.Deregister) > 0 {
				t.Errorf("a reading of before let %v go", p.Deregister)
			}
			for range 20 {
				h.read()
				h.pass()
				if serving, olds, news := h.serving(); serving < tc.least || olds+news > tc.most {
					t.Fatalf("at %s: %d serve, want %d; %d old and %d new targets are registered, must be %d", h.now, serving, tc.least, olds, news, tc.most)
				}
			}
			if _, olds, news := h.serving(); olds > 0 || news != min(tc.most, tc.news) {
				t.Errorf("in the end %d old and %d new targets are registered, want 0 and %d", olds, news, min(tc.most, tc.news))
			}
		})
	}
}

// New pods whose containers become ready one after the other are wanted from the beginning.
func TestFullGroupIsReplacedStepByStepWhilePodsStart(t *testing.T) {
	h := newHandover(20, 20, 0, elbv2.StateHealthy)
	h.checks = 110 * time.Second
	var news []elbv2.Target
	for i := range 20 {
		news = append(news, h.add("10.0.1.%d", i, endpoints.NotReady))
	}
	for i := range 60 {
		if i < len(news) {
			ep := h.pods[news[i]]
			ep.State = endpoints.Desired
			h.pods[news[i]] = ep
		}
		h.pass()
		h.read()
		if serving, olds, news := h.serving(); serving < 10 || olds+news > 20 {
			t.Fatalf("at %s: %d serve, want 10; %d old and %d new targets are registered, must be 20", h.now, serving, olds, news)
		}
	}
	if _, olds, news := h.serving(); olds > 0 || news != 20 {
		t.Errorf("in the end %d old and %d new targets are registered, want 0 and 20", olds, news)
	}
}

// What others have registered leaves no room.
func TestGroupThatOthersFillIsReplacedStepByStep(t *testing.T) {
	h := newHandover(10, 4, 8, elbv2.StateHealthy)
	for i := range 6 {
		h.group[elbv2.Target{ID: fmt.Sprintf("10.9.0.%d", i), Port: 80}] = targetgroup.Target{Presence: targetgroup.Registered, Health: healthy}
	}
	h.mine = func(target elbv2.Target) bool { _, ours := h.pods[target]; return ours }
	h.pass()
	h.read()
	if p := h.pass(); len(p.Deregister) != 2 {
		t.Errorf("%d of 4 old targets go, want half", len(p.Deregister))
	}
}

// A pod that the load balancer does not send to may go at once.
func TestFullGroupGetsRoomFromUnhealthyTargetsFirst(t *testing.T) {
	h := newHandover(4, 4, 2, elbv2.StateHealthy)
	for _, i := range []int{1, 3} {
		target := elbv2.Target{ID: fmt.Sprintf("10.0.0.%d", i), Port: 80}
		ill := h.group[target]
		ill.Health.State = elbv2.StateUnhealthy
		h.group[target] = ill
	}
	h.pass()
	h.read()
	p := h.pass()
	for target := range p.Deregister {
		if target.ID != "10.0.0.1" && target.ID != "10.0.0.3" {
			t.Errorf("%s goes, which is healthy", target)
		}
	}
	if len(p.Deregister) != 2 {
		t.Errorf("%v goes, want two to make room for two", p.Deregister)
	}
}

// A node that others are to replace stays until all others had their first health checks, whether there is room for them or not.
func TestNodesThatOthersAreToReplaceMakeNoRoom(t *testing.T) {
	h := newHandover(7, 1, 7, elbv2.StateHealthy)
	for target, ep := range h.pods {
		ep.NodeLeaves = ep.State == endpoints.Unselected
		h.pods[target] = ep
	}
	h.pass()
	for range 4 {
		h.read()
	}
	starting := elbv2.Target{ID: "10.0.1.0", Port: 80}
	one := h.group[starting]
	one.Health.State = elbv2.StateInitial
	h.group[starting] = one
	p := Make(Input{
		Endpoints: h.pods, Group: targetgroup.Snapshot{Targets: h.group, ReadAt: h.now}, Nodes: true, Mine: all, Policy: h.policy, Now: h.now,
	})
	if len(p.Deregister) > 0 || len(p.LeftOut) != 1 {
		t.Errorf("%v goes, and %d are left out; want none to go, and one to be left out", p.Deregister, len(p.LeftOut))
	}
}
