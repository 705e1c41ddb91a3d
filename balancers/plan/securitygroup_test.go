// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

// given is a stack whose load balancer has these security groups, and whose bindings let in peer, or say nothing of it.
func given(peer string, groups ...string) stack.Stack {
	out := shop("/a").want()
	out.SecurityGroups, out.LoadBalancers[0].SecurityGroups = nil, nil
	for _, group := range groups {
		out.LoadBalancers[0].SecurityGroups = append(out.LoadBalancers[0].SecurityGroups, stack.Ref{ID: group})
	}
	for i := range out.Bindings {
		if out.Bindings[i].Spec.Networking = nil; peer != "" {
			out.Bindings[i].Spec.Networking, out.Bindings[i].Spec.Peer = []intstr.IntOrString{{}}, stack.Ref{ID: peer}
		}
	}
	return out
}

// Security groups may be refused, and rules come late. What sg-given is let in to is the user's business.
func TestTargetsLetInTheLoadBalancerThroughout(t *testing.T) {
	own := []string{"sg-1", "sg-2", "sg-3", "sg-4"}
	for name, test := range map[string]struct {
		from, to stack.Stack
		steps    int
	}{
		"targets are the user's business":    {given("sg-backend", "sg-own", "sg-backend"), given("", "sg-given"), 2},
		"they are not any more":              {given("", "sg-given"), given("sg-backend", "sg-own", "sg-backend"), 2},
		"there is a backend security group":  {given("sg-own", "sg-own"), given("sg-backend", "sg-own", "sg-backend"), 2},
		"there is no backend security group": {given("sg-backend", "sg-own", "sg-backend"), given("sg-own", "sg-own"), 2},
		"there is another one":               {given("sg-a", "sg-own", "sg-a"), given("sg-b", "sg-own", "sg-b"), 3},
		"there is room for another one": {
			given("sg-a", append(own[:3:3], "sg-a")...), given("sg-b", append(own[:3:3], "sg-b")...), 3,
		},
		"all are others":         {given("sg-own", "sg-own"), given("sg-backend", "sg-user", "sg-backend"), 3},
		"targets let in another": {given("sg-a", "sg-a", "sg-b"), given("sg-b", "sg-a", "sg-b"), 1},
		"nothing of targets":     {given("sg-a", "sg-user", "sg-a"), given("sg-a", "sg-other", "sg-a"), 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			first, _ := Make(test.from, w.seen(), Options{})
			if err := w.run(first, nothing); err != nil {
				t.Fatal(err)
			}
			w.rest()
			before := w.open()
			if len(before) != 1 || slices.Contains(slices.Collect(maps.Values(before)), false) {
				t.Fatalf("open at first: %v", before)
			}
			plan, _ := Make(test.to, w.seen(), Options{})
			if err := w.run(plan, func() error { return w.staysOpen(before) }); err != nil || len(plan) != test.steps {
				t.Errorf("%v:\n%s", err, lines(plan))
			}
			w.rest()
			if again, _ := Make(test.to, w.seen(), Options{}); len(again) > 0 {
				t.Errorf("then %q", texts(again))
			}
		})
	}
	w := newWorld()
	first, _ := Make(given("sg-a", append(own, "sg-a")...), w.seen(), Options{})
	if err := w.run(first, nothing); err != nil {
		t.Fatal(err)
	}
	w.rest()
	plan, _ := Make(given("sg-b", append(own, "sg-b")...), w.seen(), Options{})
	want := []string{"set security groups sg-1, sg-2, sg-3, sg-4, sg-b of load balancer lb-1", "update binding ns/ns/shop-s0:80ip"}
	if diff := cmp.Diff(want, texts(plan)); diff != "" {
		t.Errorf("without room for both (-want +got):\n%s", diff)
	}
}

// What is not certain to be let in is awaited at the end of a plan, and holds up nothing else.
func TestASecurityGroupStaysUntilTargetsLetInAnother(t *testing.T) {
	w := newWorld()
	first, _ := Make(given("", "sg-given"), w.seen(), Options{})
	if err := w.run(first, nothing); err != nil {
		t.Fatal(err)
	}
	w.rest()
	wanted := given("sg-backend", "sg-own", "sg-backend")
	wanted.LoadBalancers[0].Subnets = []string{"s1"}
	const update, subnets = "update binding ns/ns/shop-s0:80ip", "set subnets s1 of load balancer lb-1"
	const exchange = "set security groups sg-own, sg-backend of load balancer lb-1"
	const late = exchange + ", once targets of target group ns/shop-s0:80 let it in"
	for _, pass := range []struct {
		what string
		want []string
	}{{"at first", []string{update, subnets, late}}, {"then", []string{late}}, {"when the rules are there", []string{exchange}}} {
		plan, _ := Make(wanted, w.seen(), Options{})
		if diff := cmp.Diff(pass.want, texts(plan)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", pass.what, diff)
		}
		if err := (passes{w, rand.New(rand.NewPCG(1, 1))}).pass(plan, nothing); err != nil {
			t.Fatal(err)
		}
		w.letIn = map[string]string{}
		if pass.what == "then" {
			w.grant()
		}
	}
}

// TestTargetsLetInWhatServes has the security groups of load balancers change in generated histories.
func TestTargetsLetInWhatServes(t *testing.T) {
	t.Parallel()
	for seed := range *pairs / 20 {
		r := rand.New(rand.NewPCG(seed, 31))
		w := aTurn(r)
		for i := range w.stacks {
			w.stacks[i].Backend, w.stacks[i].Given = pick(r, "sg-a", "sg-b"), r.IntN(3) == 0
		}
		check(t, w)
		checkHistory(t, history{w, r.Uint64()})
	}
}

// TestTargetsOfHeldMembersLetInWhatServes is that where another security group is to be let in, and a member keeps what it has. What stands in
// front would keep routes that nobody wants.
func TestTargetsOfHeldMembersLetInWhatServes(t *testing.T) {
	t.Parallel()
	for seed := range *pairs / 40 {
		r := rand.New(rand.NewPCG(seed, 32))
		from := generate(r)
		to := change(r, from)
		from.Backend, from.Given, from.Front, to.Backend, to.Given, to.Front = "sg-a", false, 0, "sg-b", false, 0
		if len(to.Members) > 0 {
			to.Members = slices.Clone(to.Members)
			to.Members[r.IntN(len(to.Members))].Held = true
		}
		check(t, way{stacks: []genStack{from, to}, room: 100})
	}
}

// A security group has room for 60 rules of IPv4, and 60 of IPv6.
func TestSourcesThatHaveNoRoomBesideTheFormerOnes(t *testing.T) {
	sources := func(from, to int, family string) (rules []stack.Inbound) {
		for i := from; i < to; i++ {
			rules = append(rules, stack.Inbound{From: 80, To: 80, Protocol: "tcp", Source: fmt.Sprintf(family, i)})
		}
		return rules
	}
	const v4, v6 = "10.0.%d.0/24", "fd00:%d::/64"
	grant, revoke := "steps.Authorize", "steps.Revoke"
	for name, test := range map[string]struct {
		from, to []stack.Inbound
		want     []string
	}{
		"others have room":              {sources(0, 30, v4), sources(30, 60, v4), []string{grant, revoke}},
		"others have none":              {sources(0, 31, v4), sources(31, 61, v4), []string{revoke, grant}},
		"others have none of IPv6":      {sources(0, 31, v6), sources(31, 61, v6), []string{revoke, grant}},
		"each family has room":          {sources(0, 60, v4), slices.Concat(sources(0, 50, v4), sources(0, 60, v6)), []string{grant, revoke}},
		"all together have more room":   {sources(0, 60, v4), sources(60, 121, v4), []string{grant, revoke}},
		"what stays takes no more room": {sources(0, 60, v4), sources(1, 61, v4), []string{revoke, grant}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			stacks := []stack.Stack{shop("/a").want(), shop("/a").want()}
			stacks[0].SecurityGroups[0].Inbound, stacks[1].SecurityGroups[0].Inbound = test.from, test.to
			first, _ := Make(stacks[0], w.seen(), Options{})
			if err := w.run(first, nothing); err != nil {
				t.Fatal(err)
			}
			plan, _ := Make(stacks[1], w.seen(), Options{})
			var got []string
			for _, step := range plan {
				got = append(got, fmt.Sprintf("%T", step.Change))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
			if err := w.run(plan, nothing); err != nil {
				t.Fatal(err)
			}
			if again, _ := Make(stacks[1], w.seen(), Options{}); len(again) > 0 {
				t.Errorf("then %q", texts(again))
			}
		})
	}
}

// A target group of another address family replaces the former one, as AWS and bindings do not change it.
func TestAnotherAddressFamilyIsAnotherTargetGroup(t *testing.T) {
	w := newWorld()
	family := func(of string) stack.Stack {
		out := shop("/a").want()
		out.TargetGroups[0].AddressType = of
		return out
	}
	first, _ := Make(family("ipv4"), w.seen(), Options{})
	if err := w.run(first, nothing); err != nil {
		t.Fatal(err)
	}
	plan, _ := Make(family("ipv6"), w.seen(), Options{})
	creates := func(s steps.Step) bool { _, ok := s.Change.(steps.CreateTargetGroup); return ok }
	updates := func(s steps.Step) bool { _, ok := s.Change.(steps.UpdateBinding); return ok }
	if !slices.ContainsFunc(plan, creates) || slices.ContainsFunc(plan, updates) {
		t.Errorf("got %q", texts(plan))
	}
	if again, _ := Make(family("ipv4"), w.seen(), Options{}); len(again) > 0 {
		t.Errorf("without a change: %q", texts(again))
	}
}

// Somebody makes security groups with the tags of those that a stack has. Whatever their IDs, no load balancer gets one of them.
func TestAnotherSecurityGroupWithTheSameTagsIsNotTaken(t *testing.T) {
	wanted := shop("/a").want()
	shared := stack.SecurityGroup{
		Name: "k8s-traffic", Shared: true, Tags: map[string]string{stack.ClusterTag: "c", stack.SharedResourceTag: stack.SharedPart},
	}
	wanted.SecurityGroups = append(wanted.SecurityGroups, shared)
	wanted.LoadBalancers[0].SecurityGroups = append(wanted.LoadBalancers[0].SecurityGroups, stack.Ref{Part: stack.SharedPart})
	w := newWorld()
	first, _ := Make(wanted, w.seen(), Options{})
	if err := w.run(first, nothing); err != nil {
		t.Fatal(err)
	}
	w.LoadBalancers[0].SecurityGroups[1].ID = w.SecurityGroups[1].ID // the world knows parts of stacks alone
	for _, group := range wanted.SecurityGroups {
		group.Name, group.ID, group.Inbound = "another", "sg-0 "+group.Name, nil
		w.SecurityGroups = slices.Insert(w.SecurityGroups, 0, group)
	}
	again, _ := Make(wanted, w.seen(), Options{})
	if len(again) != 1 || (again[0].Change != steps.DeleteSecurityGroup{Group: stack.Ref{ID: "sg-0 sg", Part: stack.SecurityGroupPart}}) {
		t.Errorf("steps %v, want that the one that no other stack may have is deleted", again)
	}
}

// Nor does one with the tags of a target group take its place, though somebody has taken ours out of the rules as well.
func TestAnotherTargetGroupWithTheSameTagsIsNotTaken(t *testing.T) {
	wanted := shop("/a").want()
	w := newWorld()
	first, _ := Make(wanted, w.seen(), Options{})
	if err := w.run(first, nothing); err != nil {
		t.Fatal(err)
	}
	another := w.TargetGroups[0]
	another.Name, another.ARN, another.LoadBalancers = "another", "tg-0", nil
	w.TargetGroups = slices.Insert(w.TargetGroups, 0, another)
	for i := range w.LoadBalancers[0].Listeners {
		for j := range w.LoadBalancers[0].Listeners[i].Rules {
			w.LoadBalancers[0].Listeners[i].Rules[j].Action = stack.Action{Fixed: &stack.FixedResponse{Status: "503"}}
		}
	}
	again, _ := Make(wanted, w.seen(), Options{})
	var deleted []string
	for _, step := range again {
		if c, ok := step.Change.(steps.DeleteTargetGroup); ok {
			deleted = append(deleted, c.Group.ID)
		}
	}
	if !slices.Equal(deleted, []string{"tg-0"}) {
		t.Errorf("target groups %v are deleted, want the one that somebody else has made:\n%s", deleted, lines(again))
	}
}
