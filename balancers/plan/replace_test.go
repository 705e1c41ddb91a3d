// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

func isDeletion(s steps.Step) bool { _, deletes := s.Change.(steps.DeleteLoadBalancer); return deletes }

// A load balancer is being replaced, and a target group on the new one is to be replaced, too. That may never become healthy.
func TestAReplacedLoadBalancerWaitsForWhatServes(t *testing.T) {
	member := one("ns/k", "/k", 0)
	w := newWorld()
	w.settle(t, genStack{Members: []genMember{member}})
	plan, _ := Make(genStack{Internal: true, Members: []genMember{member}}.want(), w.seen(), Options{})
	if err := w.run(plan[:slices.IndexFunc(plan, isDeletion)], nothing); err != nil {
		t.Fatal(err)
	}
	member.Type = "instance"
	plan, _ = Make(genStack{Internal: true, Members: []genMember{member}}.want(), w.seen(), Options{})
	deleted := slices.IndexFunc(plan, isDeletion)
	isNew := func(s steps.Step) bool { return isWaiting(s) && s.Wait.Healthy.ID == "" && s.Wait.Healthy.Part != "" }
	if awaited := slices.IndexFunc(plan, isNew); awaited < deleted {
		t.Errorf("the end of the former load balancer waits for a target group that serves nobody yet:\n%s", lines(plan))
	}
}

// What stands in front is moved to the new load balancer when that serves.
func TestWhatIsInFrontWaitsForANewLoadBalancer(t *testing.T) {
	member := one("ns/k", "/k", 0)
	w := newWorld()
	w.settle(t, genStack{Front: 1, Members: []genMember{member}})
	plan, _ := Make(genStack{Internal: true, Front: 1, Members: []genMember{member}}.want(), w.seen(), Options{})
	first := slices.IndexFunc(plan, isWaiting)
	for i, step := range plan[first:] {
		if step.Anew {
			t.Errorf("step %d depends on no wait:\n%s", first+i, lines(plan))
		}
	}
}

// AWS does not change the Elastic IP address of a subnet.
func TestSubnetsKeepTheirElasticAddresses(t *testing.T) {
	wanted := genStack{Front: 1, Members: []genMember{one("ns/k", "/k", 0)}}
	w, err := settled(wanted)
	if err != nil {
		t.Fatal(err)
	}
	others := wanted.want()
	others.Front.LoadBalancers[0].Allocations = []string{"eipalloc-0a", "eipalloc-0b"}
	if plan, _ := Make(others, w.seen(), Options{}); len(plan) > 0 {
		t.Errorf("want no step, got\n%s", lines(plan))
	}
}

// A load balancer that is protected, or in use by something else, goes on to serve.
func TestWhatALoadBalancerNeedsThatStaysIsNotTakenAway(t *testing.T) {
	member := one("ns/k", "/k", 0)
	for name, test := range map[string]struct{ from, to genStack }{
		"no member is left":              {from: genStack{Members: []genMember{member}}},
		"nor what stands in front":       {from: genStack{Front: 1, Members: []genMember{member}}},
		"another one has replaced it":    {genStack{Members: []genMember{member}}, genStack{Internal: true, Members: []genMember{member}}},
		"the one in front is not wanted": {genStack{Front: 1, Members: []genMember{member}}, genStack{Members: []genMember{member}}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.settle(t, test.from)
			w.protected = true
			before := w.clone()
			p := passes{w, rand.New(rand.NewPCG(1, 1))}
			for range 10 {
				plan, _ := Make(test.to.want(), w.seen(), Options{})
				if err := p.pass(plan, func() error { return w.hasAllOf(before) }); err != nil {
					t.Fatalf("%v:\n%s", err, lines(plan))
				}
			}
			if w.refusals == 0 {
				t.Error("no load balancer was to be deleted")
			}
		})
	}
}

// hasAllOf reports whether the load balancers have all target groups, and these their bindings, that they had before.
func (w *world) hasAllOf(before *world) error {
	for _, g := range before.TargetGroups {
		if w.group(g.ARN) == nil {
			return errors.New("target group " + g.ARN + " is gone")
		}
	}
	for _, b := range before.Bindings {
		if !slices.ContainsFunc(w.Bindings, func(now stack.Binding) bool { return now.Group == b.Group }) {
			return errors.New("the binding of target group " + b.Group.ID + " is gone")
		}
	}
	return nil
}

// While another load balancer replaces the one behind, the one in front has the target groups of both, as many as there is room for: each
// counts as 50 targets.
func TestWhatIsInFrontMovesWithinTheQuota(t *testing.T) {
	member := genMember{Name: "ns/m", Type: "ip", Rules: []genRule{
		{Port: 80, Path: "/a", To: []genTarget{{0, 1}}}, {Port: 443, Path: "/a", To: []genTarget{{0, 1}}},
	}}
	for name, test := range map[string]struct {
		groups  int
		refused bool
	}{"room for both": {4, false}, "room for one": {3, false}, "room for none": {2, true}} {
		t.Run(name, func(t *testing.T) {
			w, options := newWorld(), Options{FrontTargets: 50 * test.groups}
			w.groups = test.groups
			w.settle(t, genStack{Front: 1, Members: []genMember{member}})
			planned, _ := Make(genStack{Internal: true, Front: 1, Members: []genMember{member}}.want(), w.seen(), options)
			if err := w.run(planned, nothing); (err != nil) != test.refused {
				t.Errorf("%v:\n%s", err, lines(planned))
			}
		})
	}
}

// A target group that takes over has to be named beside the one that serves. Where the quota has room for one more, they take over
// one after the other. Where it has none, AWS refuses that, and what serves stays.
func TestTargetGroupsAreReplacedWithinTheQuota(t *testing.T) {
	stackOf := func(kind string, services ...int) genStack {
		m := genMember{Name: "ns/m", Type: kind}
		for i, service := range services {
			m.Rules = append(m.Rules, genRule{Port: 80, Path: fmt.Sprint("/", i), To: []genTarget{{service, 1}}})
		}
		return genStack{Members: []genMember{m}}
	}
	from := stackOf("ip", 0, 1)
	for name, test := range map[string]struct {
		to      genStack
		quota   int
		waits   int
		refused bool
	}{
		"room for both":                  {stackOf("instance", 0, 1), 4, 2, false},
		"room for one":                   {stackOf("instance", 0, 1), 3, 2, false},
		"room for none":                  {stackOf("instance", 0, 1), 2, 2, true},
		"another Service":                {stackOf("ip", 0, 2), 3, 1, false},
		"another Service, room for none": {stackOf("ip", 0, 2), 2, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			w, options := newWorld(), Options{TargetGroups: test.quota}
			w.groups = test.quota
			w.settle(t, from)
			planned, _ := Make(test.to.want(), w.seen(), options)
			waits := 0
			for _, step := range planned {
				if step.Wait != nil && step.Wait.Healthy != (stack.Ref{}) {
					waits++
				}
			}
			err := w.run(planned, nothing)
			if (err != nil) != test.refused || waits != test.waits {
				t.Fatalf("%v: waits for %d, want %d:\n%s", err, waits, test.waits, lines(planned))
			}
			if test.refused {
				return
			}
			if again, _ := Make(test.to.want(), w.seen(), options); slices.ContainsFunc(again, func(s steps.Step) bool { return !s.Late }) {
				t.Errorf("then %q", texts(again))
			}
		})
	}
}

func TestWhichLoadBalancerIsUsed(t *testing.T) {
	staying := stack.LoadBalancer{ARN: "new"}
	inStatus := staying
	inStatus.InStatus = true
	front := func(target string, sends bool) *stack.Stack {
		nlb := stack.LoadBalancer{ARN: "nlb", Network: true}
		if sends {
			forward := &stack.Forward{Groups: []stack.Weighted{{Group: stack.Ref{ID: "tg"}, Weight: 1}}}
			nlb.Listeners = []stack.Listener{{Port: 80, Default: stack.Action{Forward: forward}}}
		}
		group := stack.TargetGroup{ARN: "tg", Target: stack.Ref{ID: target}}
		return &stack.Stack{LoadBalancers: []stack.LoadBalancer{nlb}, TargetGroups: []stack.TargetGroup{group}}
	}
	old := []stack.LoadBalancer{{ARN: "old"}}
	for name, tc := range map[string]struct {
		balancer *stack.LoadBalancer
		old      []stack.LoadBalancer
		front    *stack.Stack
		want     bool
	}{
		"it replaces none":                      {balancer: &staying, want: true},
		"it is yet to be made":                  {old: old},
		"it replaces another one":               {balancer: &staying, old: old},
		"its name is in a status":               {balancer: &inStatus, old: old, want: true},
		"what stands in front sends to it":      {balancer: &staying, old: old, front: front("new", true), want: true},
		"what stands in front is to send to it": {balancer: &staying, old: old, front: front("new", false)},
		"what stands in front sends to another": {balancer: &staying, old: old, front: front("old", true)},
	} {
		v := &view{balancer: tc.balancer, old: tc.old, seen: stack.Stack{Front: tc.front}}
		if got := v.isUsed(); got != tc.want {
			t.Errorf("%s: clients may come to it: %v", name, got)
		}
	}
}
