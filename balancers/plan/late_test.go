// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"
	"strings"
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

// A member has left whose name begins with that of the one whose new rule waits. What it has left is not that one's own.
func TestALateRuleHoldsUpNoOtherOfALongerName(t *testing.T) {
	m, gone, k := one("ns/m", "/*", 2), one("ns/m-s1", "/a", 0), one("ns/k", "/k", 1)
	w := newWorld()
	w.settle(t, genStack{Members: []genMember{gone, k}})
	plan, _ := Make(genStack{Members: []genMember{m, k}}.want(), w.seen(), Options{})
	if first := texts(plan[:slices.IndexFunc(plan, isWaiting)]); !slices.Contains(first, "delete target group ns/m-s1-s0:80 (T1)") {
		t.Errorf("before the wait: %q, want the target group deleted of the member that has left", first)
	}
}

// untilWait does the steps of plans to the stack before the first that waits, as often as that, and returns the last plan.
func untilWait(t *testing.T, w *world, wanted stack.Stack, passes int) (plan steps.Plan) {
	t.Helper()
	for range passes {
		plan, _ = Make(wanted, w.seen(), Options{})
		if err := w.run(plan[:slices.IndexFunc(plan, isWaiting)], nothing); err != nil {
			t.Fatal(err)
		}
	}
	return plan
}

// Two new rules of a member ask for a login, and one of them stands before a rule of another member: the next pass knows that it waits.
func TestALateRuleWithALoginWaitsOn(t *testing.T) {
	k, n := one("ns/k", "/a", 0), one("ns/n", "/a*", 2)
	k.Rules[0].Port, n.Rules[0].Port, n.Rules[0].Auth = 443, 443, "one"
	n.Rules = append(n.Rules, n.Rules[0])
	n.Rules[1].Path = "/*"
	w := newWorld()
	w.settle(t, genStack{Members: []genMember{k}})
	w.rest()
	w.client = w.LoadBalancers[0].ARN
	untilWait(t, w, genStack{Members: []genMember{n, k}}.want(), 2)
	if got := w.answer(request{443, "a.test", "/a"}); got != "s0" {
		t.Errorf("the path is answered by %q, want the Service that answers until the others are healthy", got)
	}
}

// Rules go to another port of a Service, and there is one more: a pass that ends at a wait has made them, and the next one knows them.
func TestARuleToAnotherPortIsMadeOnce(t *testing.T) {
	before := one("ns/m", "/b", 1)
	after := before
	after.Backend, after.Rules = 81, append(one("", "/a", 1).Rules, before.Rules...)
	w := newWorld()
	w.settle(t, genStack{Members: []genMember{before}})
	w.rest()
	for _, text := range texts(untilWait(t, w, genStack{Members: []genMember{after}}.want(), 2)) {
		if strings.HasPrefix(text, "create rule") || strings.HasPrefix(text, "delete rule") {
			t.Errorf("the second pass is to %s", text)
		}
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

// A load balancer was to be replaced, and is to stay after all. The other one is to go.
func TestALateRuleOfALoadBalancerThatStaysWaitsOn(t *testing.T) {
	a, k := one("ns/a", "/a", 0), one("ns/k", "/k", 1)
	w := newWorld()
	w.settle(t, genStack{Members: []genMember{a, k}})
	w.rest()
	w.client = w.LoadBalancers[0].ARN
	wanted := genStack{Members: []genMember{one("ns/n", "/*", 2), a, k}}
	untilWait(t, w, wanted.want(), 1)
	other := wanted
	other.Internal = true
	untilWait(t, w, other.want(), 1)
	if len(w.LoadBalancers) != 2 {
		t.Fatalf("%d load balancers, want another one", len(w.LoadBalancers))
	}
	untilWait(t, w, wanted.want(), 2)
	if got := w.answer(request{80, "a.test", "/a"}); got != "s0" {
		t.Errorf("the path is answered by %q, want the Service that answers until the other one is healthy", got)
	}
}

// Another one has replaced a load balancer that is protected. Clients come to it, and its rules wait as others do.
func TestALateRuleWaitsThoughAReplacedLoadBalancerStays(t *testing.T) {
	a, k := one("ns/a", "/a", 0), one("ns/k", "/k", 1)
	w := newWorld()
	w.settle(t, genStack{Members: []genMember{a, k}})
	plan, _ := Make(genStack{Internal: true, Members: []genMember{a, k}}.want(), w.seen(), Options{})
	if err := w.run(plan[:slices.IndexFunc(plan, isDeletion)], nothing); err != nil {
		t.Fatal(err)
	}
	w.leave(&w.LoadBalancers[0])
	w.rest()
	wanted := genStack{Internal: true, Members: []genMember{one("ns/n", "/*", 2), a, k}}
	untilWait(t, w, wanted.want(), 2)
	if got := w.answer(request{80, "a.test", "/a"}); got != "s0" {
		t.Errorf("the path is answered by %q, want the Service that answers until the other one is healthy", got)
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

// A Service gets requests rewritten for it alone, also while it serves what another one is to.
func TestWhatServesMeanwhileGetsRequestsAsBefore(t *testing.T) {
	rewritten := func(services int, rules ...genRule) genStack {
		return genStack{Rewritten: services, Members: []genMember{{Name: "ns/m", Type: "ip", Rules: rules}}}
	}
	to := func(path string, service int) genRule { return one("", path, service).Rules[0] }
	for name, tc := range map[string]struct {
		from, to genStack
		want     []string
	}{
		"a path goes to a Service with a rewrite": {rewritten(0, to("/a", 0)), rewritten(2, to("/a", 1)), []string{"s0", "s1 as /s1"}},
		"a path goes to one without":              {rewritten(1, to("/a", 0)), rewritten(0, to("/a", 1)), []string{"s0 as /s0", "s1"}},
		"a new path beneath a rewritten one":      {rewritten(1, to("/*", 0)), rewritten(1, to("/a", 1), to("/*", 0)), []string{"s0 as /s0", "s1"}},
		"the default action, which has none":      {rewritten(1, to("/*", 0)), rewritten(0, to("", 1)), []string{"s0 as /s0", "s1"}},
	} {
		t.Run(name, func(t *testing.T) { checkAnswers(t, request{80, "a.test", "/a"}, tc.from, tc.to, tc.want) })
	}
}

// checkAnswers verifies who answers a request, one after the other, while one stack becomes another by passes of which the first ones end at
// a wait.
func checkAnswers(t *testing.T, r request, from, to genStack, want []string) {
	t.Helper()
	w := newWorld()
	w.settle(t, from)
	w.rest()
	w.client = w.LoadBalancers[0].ARN
	answers := []string{}
	note := func() error {
		if now := w.answer(r); !slices.Contains(answers, now) {
			answers = append(answers, now)
		}
		return nil
	}
	for range 2 {
		plan, _ := Make(to.want(), w.seen(), Options{})
		if err := w.run(plan[:max(0, slices.IndexFunc(plan, isWaiting))], note); err != nil {
			t.Fatalf("%v\n%s", err, lines(plan))
		}
	}
	plan, _ := Make(to.want(), w.seen(), Options{})
	if err := w.run(plan, note); err != nil || !slices.Equal(answers, want) {
		t.Errorf("%v: answered by %q, want %q\n%s", err, answers, want, lines(plan))
	}
	if again, _ := Make(to.want(), w.seen(), Options{}); len(again) > 0 {
		t.Errorf("planned again:\n%s", lines(again))
	}
}
