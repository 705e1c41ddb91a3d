// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package balancers

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/balancers/apply"
	"github.com/targetgate/targetgate/balancers/plan"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

// planning has the bed plan for real.
func (b *bed) planning() *bed {
	b.MakePlan = func(wanted, seen stack.Stack) (steps.Plan, []plan.Overflow) {
		return plan.Make(wanted, seen, plan.Options{})
	}
	return b
}

func (b *bed) propose(group stack.Group) Proposal {
	b.t.Helper()
	out, err := b.Propose(b.t.Context(), group)
	if err != nil {
		b.t.Fatal(err)
	}
	return out
}

func TestAProposalIsWhatThePassAppliesAndWritesNothing(t *testing.T) {
	bad := ingressOf("bad", edge)
	bad.Annotations["alb.ingress.kubernetes.io/scheme"] = "public"
	left := served(ingressOf("left", other), oldHost, edge)
	left.Status.LoadBalancer.Ingress[0].Ports = nil
	b := newBed(t, webService(), ingressOf("good", edge), bad, left).planning()
	b.see(edge, balancer("old", true, 80))
	proposed := b.propose(edge)
	if len(b.writes)+len(b.events) > 0 {
		t.Errorf("proposing writes %v, tells %v", b.writes, b.events)
	}
	if diff := cmp.Diff(proposed, b.propose(edge)); diff != "" {
		t.Errorf("a second proposal (-first +second):\n%s", diff)
	}
	var applied steps.Plan
	b.apply = func(pass apply.Pass) apply.Result {
		applied = pass.Plan
		return apply.Result{}
	}
	b.mustPass(edge)
	if diff := cmp.Diff(applied, proposed.Plan); diff != "" || len(applied) == 0 {
		t.Errorf("%d steps are applied (-applied +proposed):\n%s", len(applied), diff)
	}
	if !slices.Equal(proposed.Members, []string{"shop/bad", "shop/good"}) || !slices.Equal(proposed.Leaving, []string{"shop/left"}) {
		t.Errorf("members %v, leaving %v", proposed.Members, proposed.Leaving)
	}
	if slices.ContainsFunc(proposed.Writes, func(w Write) bool { return w.Ingress == "shop/left" }) {
		t.Errorf("writes %v, want none of what another group has", proposed.Writes)
	}
	if len(proposed.Faults) != 1 || proposed.Faults[0].Member != "shop/bad" {
		t.Errorf("faults %v, want that of the bad member", proposed.Faults)
	}
}

// What is proposed for Ingresses is what passes write to them.
func TestAProposalNamesTheWritesOfIngresses(t *testing.T) {
	gone := served(ingressOf("gone", edge), oldHost, edge)
	delete(gone.Annotations, "kubernetes.io/ingress.class")
	for _, c := range []struct {
		name    string
		objects []client.Object
		seen    []stack.LoadBalancer
		want    []Write
	}{
		{
			name: "all is right", objects: []client.Object{served(ingressOf("a", edge), oldHost, edge)},
			seen: []stack.LoadBalancer{balancer("old", true, 80)},
		},
		{name: "new", objects: []client.Object{ingressOf("a", edge)}, want: []Write{
			{"shop/a", "add the finalizer group.ingress.k8s.aws/edge"},
			{"shop/a", "write the name of the new load balancer to the status, once it serves"},
		}},
		{
			name: "it joins", objects: []client.Object{served(ingressOf("a", edge), oldHost, edge), ingressOf("b", edge)},
			seen: []stack.LoadBalancer{balancer("old", true, 80)}, want: []Write{
				{"shop/b", "add the finalizer group.ingress.k8s.aws/edge"},
				{"shop/b", "write " + oldHost + " with ports 80 to the status"},
			},
		},
		{name: "it leaves", objects: []client.Object{gone}, seen: []stack.LoadBalancer{balancer("old", true, 80)}, want: []Write{
			{"shop/gone", "empty the status"}, {"shop/gone", "remove the finalizer group.ingress.k8s.aws/edge"},
		}},
	} {
		b := newBed(t, append(c.objects, webService())...).planning()
		b.see(edge, c.seen...)
		if diff := cmp.Diff(c.want, b.propose(edge).Writes); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestPortsOfAProposedStatusAreThoseAfterTheSteps(t *testing.T) {
	a := served(ingressOf("a", edge), oldHost, edge)
	a.Annotations["alb.ingress.kubernetes.io/listen-ports"] = `[{"HTTP": 8080}]`
	b := newBed(t, webService(), a).planning()
	lb := balancer("old", true, 80)
	lb.Listeners[0].ARN = "arn-listener"
	b.see(edge, lb)
	want := []Write{{"shop/a", "write " + oldHost + " with ports 8080 to the status"}}
	if diff := cmp.Diff(want, b.propose(edge).Writes); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestALoadBalancerWithoutIngressIsProposedToBeLeftAlone(t *testing.T) {
	b := newBed(t).planning()
	b.see(edge, balancer("old", true, 80))
	if p := b.propose(edge); !p.Orphaned || len(p.Plan)+len(p.Writes) > 0 {
		t.Errorf("%+v, want nothing done to what has no Ingress", p)
	}
}

func TestGroupsThatAnObjectConcerns(t *testing.T) {
	plain := ingressOf("plain", other)
	plain.Spec.Rules[0].HTTP.Paths[0].Backend.Service.Name = "api"
	moved := served(ingressOf("moved", other), "", edge)
	b := newBed(t, ingressOf("a", edge), plain, moved, webService())
	for _, c := range []struct {
		name   string
		object client.Object
		want   []stack.Group
	}{
		{"all", nil, []stack.Group{edge, other}},
		{"an Ingress", plain, []stack.Group{other}},
		{"an Ingress that moves", moved, []stack.Group{edge, other}},
		{"a Service", webService(), []stack.Group{edge, other}},
	} {
		got, err := b.front.GroupsOf(t.Context(), c.object)
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", c.name, err, diff)
		}
	}
}

// Whoever asks is told whom it concerns that AWS does not answer.
func TestAProposalThatFailsHasItsMembers(t *testing.T) {
	b := newBed(t, webService(), ingressOf("a", edge))
	b.viewErr = errors.New("no answer")
	if p, err := b.Propose(t.Context(), edge); err == nil || !slices.Equal(p.Members, []string{"shop/a"}) {
		t.Errorf("members %v, error %v", p.Members, err)
	}
}
