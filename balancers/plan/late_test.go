// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"
	"testing"

	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

// one is a member with one rule, to a Service of its own.
func one(name, path string, service int) genMember {
	return genMember{Name: name, Type: "ip", Rules: []genRule{{Port: 80, Path: path, To: []genTarget{{service, 1}}}}}
}

func isWaiting(s steps.Step) bool { return s.Wait != nil }

// untilMovedUp are the steps of a plan up to the first that moves a late rule up.
func untilMovedUp(plan steps.Plan) steps.Plan {
	return plan[:1+slices.IndexFunc(plan, func(s steps.Step) bool {
		_, moves := s.Change.(steps.SetPriorities)
		return moves && s.Why == movedUp
	})]
}

// A new rule waits for its targets before those of others, and one of these goes meanwhile.
func TestALateRuleHoldsUpNoOther(t *testing.T) {
	a, k, late := one("ns/a", "/a", 0), one("ns/k", "/k", 1), one("ns/n", "/*", 2)
	w := newWorld()
	w.settle(t, genStack{Members: []genMember{a, k}})
	plan, _ := Make(genStack{Members: []genMember{late, a, k}}.want(), w.seen(), Options{})
	if err := w.run(plan[:slices.IndexFunc(plan, isWaiting)], nothing); err != nil {
		t.Fatal(err)
	}
	plan, _ = Make(genStack{Members: []genMember{late, k}}.want(), w.seen(), Options{})
	first := texts(plan[:slices.IndexFunc(plan, isWaiting)])
	if !slices.Contains(first, "delete target group ns/a-s0:80 (T1)") {
		t.Errorf("before the wait: %q, want the target group deleted that its member does not want any more", first)
	}
}

// A rule waits for its targets, and answers what no other one does. New ones that are to come behind it take nothing of that.
func TestANewRuleTakesNothingFromOneThatWaits(t *testing.T) {
	k, late, m, fixed := one("ns/k", "/b", 1), one("ns/n", "/*", 2), one("ns/m", "/c", 3), one("ns/o", "/c*", 0)
	fixed.Rules[0].To, fixed.Rules[0].Other = nil, "fixed"
	w := newWorld()
	w.settle(t, genStack{Members: []genMember{k}})
	plan, _ := Make(genStack{Members: []genMember{late, k}}.want(), w.seen(), Options{})
	if err := w.run(plan[:slices.IndexFunc(plan, isWaiting)], nothing); err != nil {
		t.Fatal(err)
	}
	w.rest()
	wanted := genStack{Members: []genMember{late, m, fixed, k}}.want()
	plan, _ = Make(wanted, w.seen(), Options{})
	w.client = w.LoadBalancers[0].ARN
	c := []request{{80, "a.test", "/c"}}
	if err := w.run(plan, func() error { return w.keeps(map[request]string{c[0]: "s2"}, c) }); err != nil {
		t.Fatalf("%v\n%s", err, lines(plan))
	}
	if err := verify(w, wanted, nil, Options{}); err != nil {
		t.Error(err)
	}
}

// Each wait may take long, and each is a step.
func TestALateRuleWaitsForTenPairsAtMost(t *testing.T) {
	var others []genMember
	for i := range 12 {
		others = append(others, one(fmt.Sprint("ns/a", i), fmt.Sprint("/a", i), i+1))
	}
	w := newWorld()
	w.settle(t, genStack{Members: others})
	plan, _ := Make(genStack{Members: append([]genMember{one("ns/n", "/*", 0)}, others...)}.want(), w.seen(), Options{})
	n := 0
	for _, step := range plan {
		if isWaiting(step) && step.Wait.Healthy.Part == "ns/n-s0:80" {
			n++
		}
	}
	if n != 10 {
		t.Errorf("%d waits, want 10:\n%s", n, lines(plan))
	}
}

// Rules have no tags where the Region or the user has none for them.
func TestALateRuleWithoutTagsIsAwaitedAgain(t *testing.T) {
	a, k := one("ns/a", "/a", 0), one("ns/k", "/k", 1)
	w := newWorld()
	w.settle(t, genStack{Members: []genMember{a, k}})
	wanted := genStack{Members: []genMember{one("ns/n", "/*", 2), a, k}}.want()
	rules := wanted.LoadBalancers[0].Listeners[0].Rules
	for i := range rules {
		rules[i].Tags = nil
	}
	plan, _ := Make(wanted, w.seen(), Options{})
	if err := w.run(plan[:slices.IndexFunc(plan, isWaiting)], nothing); err != nil {
		t.Fatal(err)
	}
	again, _ := Make(wanted, w.seen(), Options{})
	if !slices.ContainsFunc(untilMovedUp(again), isWaiting) {
		t.Errorf("planned again, moved without a wait:\n%s", lines(again))
	}
}

// The first of two late rules is moved up, and a third one comes, which is to be tried after the second.
func TestALateRuleStandsBehindThoseOfEarlierPasses(t *testing.T) {
	a, k := one("ns/a", "/a", 0), one("ns/k", "/k", 1)
	first, second, third := one("ns/n1", "/a*", 2), one("ns/n2", "/k*", 3), one("ns/n3", "/*", 4)
	w := newWorld()
	w.settle(t, genStack{Members: []genMember{a, k}})
	plan, _ := Make(genStack{Members: []genMember{first, second, a, k}}.want(), w.seen(), Options{})
	if err := w.run(untilMovedUp(plan), nothing); err != nil {
		t.Fatal(err)
	}
	plan, _ = Make(genStack{Members: []genMember{first, second, third, a, k}}.want(), w.seen(), Options{})
	i := slices.IndexFunc(plan, func(s steps.Step) bool { _, creates := s.Change.(steps.CreateRule); return creates })
	if err := w.run(plan[:i+1], nothing); err != nil {
		t.Fatal(err)
	}
	priority := func(path string) int32 {
		rules := w.LoadBalancers[0].Listeners[0].Rules
		i := slices.IndexFunc(rules, func(r stack.Rule) bool { return r.Conditions[0].Values[0] == path })
		return rules[i].Priority
	}
	if second, third := priority("/k*"), priority("/*"); second < firstLate || third < second {
		t.Errorf("priorities %d and %d, want the third behind the second, and both from %d on", second, third, firstLate)
	}
}
