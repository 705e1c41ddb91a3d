// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
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

// Security groups may be refused. Until the load balancer has them, bindings let in those that it has. What sg-user is let in to is the
// user's business.
func TestBindingsLetInTheLoadBalancerThroughout(t *testing.T) {
	for name, test := range map[string]struct{ from, to stack.Stack }{
		"targets are the user's business":    {given("sg-backend", "sg-own", "sg-backend"), given("", "sg-user")},
		"they are not any more":              {given("", "sg-user"), given("sg-backend", "sg-own", "sg-backend")},
		"there is a backend security group":  {given("sg-own", "sg-own"), given("sg-backend", "sg-own", "sg-backend")},
		"there is no backend security group": {given("sg-backend", "sg-own", "sg-backend"), given("sg-own", "sg-own")},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			first, _ := Make(test.from, w.seen(), Options{})
			if err := w.run(first, nothing); err != nil {
				t.Fatal(err)
			}
			plan, _ := Make(test.to, w.seen(), Options{})
			if err := w.run(plan, w.letIn); err != nil || len(plan) != 2 {
				t.Errorf("%v:\n%s", err, lines(plan))
			}
		})
	}
}

// letIn says whether targets let in the load balancer.
func (w *world) letIn() error {
	groups := w.LoadBalancers[0].SecurityGroups
	for _, b := range w.Bindings {
		if !slices.Contains(groups, stack.Ref{ID: "sg-user"}) && (b.Spec.Networking == nil || !slices.Contains(groups, b.Spec.Peer)) {
			return fmt.Errorf("a binding lets in %+v, and the load balancer has %v", b.Spec, groups)
		}
	}
	return nil
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
