// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package balancers

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/targetgate/targetgate/balancers/apply"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

func TestTheTenantOfAGroup(t *testing.T) {
	away := ingressOf("away", edge)
	away.Namespace = "elsewhere"
	b := newBed(t, webService(), ingressOf("a", edge), away)
	want := func(group stack.Group, want, when string) {
		t.Helper()
		if got := b.tenants.Of(requestOf(group)); got != want {
			t.Errorf("%s, a pass takes the turn of %q, want %q", when, got, want)
		}
	}
	want(stack.Group{Namespace: "shop", Name: "a"}, "shop", "of a group with a namespace")
	want(edge, "group edge", "while no member is known")
	b.front.RequestsFor(t.Context(), b.get("a"))
	want(edge, "shop", "when one member is known")
	b.front.RequestsFor(t.Context(), away)
	b.front.RequestsFor(t.Context(), away)
	want(edge, "elsewhere,shop", "when another one is known")
	b.mustPass(edge)
	want(edge, "elsewhere,shop", "after a pass")
	if err := b.Client.Delete(t.Context(), away); err != nil {
		t.Fatal(err)
	}
	for range 2 { // in the first one the member loses its finalizer
		b.mustPass(edge)
	}
	want(edge, "shop", "after one member has gone")
	b.delete("a")
	b.mustPass(edge)
	want(edge, "shop", "while the last member goes")
	b.mustPass(edge)
	want(edge, "group edge", "after the last member has gone")
}

// A pass gives way to another tenant when it has had its turn.
func TestALongPassGivesWayToAnotherTenant(t *testing.T) {
	for name, tc := range map[string]struct {
		took           time.Duration
		changed, waits bool
		want           bool
	}{
		"it is as old as a turn":                           {turn, true, true, true},
		"it is young":                                      {turn - 1, true, true, false},
		"it has changed nothing":                           {longTurn - 1, false, true, false},
		"it has changed nothing for long":                  {longTurn, false, true, true},
		"groups of its own tenant wait, however old it is": {time.Hour, true, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, webService(), ingressOf("a", edge))
			q := b.newQueue("", workqueue.DefaultTypedControllerRateLimiter[ctrl.Request]())
			defer q.ShutDown()
			q.Add(ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "shop", Name: "of the same"}})
			if tc.waits {
				q.Add(ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "elsewhere", Name: "web"}})
			}
			b.apply = func(pass apply.Pass) apply.Result {
				b.clock.Step(tc.took)
				if got := pass.Interrupted(tc.changed); got != tc.want {
					t.Errorf("interrupted: %v, want %v", got, tc.want)
				}
				return apply.Result{}
			}
			b.mustPass(edge)
		})
	}
}

// What the rest of a pass would have found is not known: no finalizer goes, no status changes, and nobody is told again.
func TestAnInterruptedPassDecidesNothing(t *testing.T) {
	b := newBed(t, webService(), ingressOf("a", edge), served(ingressOf("gone", edge), "", edge))
	b.delete("gone")
	b.apply = func(apply.Pass) apply.Result {
		b.see(edge, balancer("new", true, 80))
		return apply.Result{Done: []steps.Step{{}}, Interrupted: true, Again: time.Millisecond}
	}
	if result := b.mustPass(edge); result.RequeueAfter != time.Millisecond || !b.exists("gone") || b.get("a").Status.LoadBalancer.Ingress != nil {
		t.Errorf("again in %v, the deleted member is there: %v, status %v", result.RequeueAfter, b.exists("gone"), b.get("a").Status)
	}
	failing := refusedWith(steps.CreateLoadBalancer{}, "AccessDenied")
	b.apply = func(apply.Pass) apply.Result { return failing }
	if _, err := b.pass(edge); err == nil || len(take(&b.events)) == 0 {
		t.Fatalf("error %v, want it told", err)
	}
	b.apply = func(apply.Pass) apply.Result { return apply.Result{Interrupted: true, Again: time.Millisecond} }
	b.mustPass(edge)
	failing.Interrupted, failing.Again = true, time.Millisecond
	b.apply = func(apply.Pass) apply.Result { return failing }
	if result := b.mustPass(edge); result.RequeueAfter != time.Millisecond || len(b.events) > 0 {
		t.Errorf("again in %v with an error, want the rest done at once; events %q", result.RequeueAfter, b.events)
	}
}
