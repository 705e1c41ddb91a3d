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
	"github.com/targetgate/targetgate/balancers/ingress/membership"
	"github.com/targetgate/targetgate/balancers/queue"
	"github.com/targetgate/targetgate/balancers/steps"
)

func TestTheTenantOfAGroup(t *testing.T) {
	away := ingressOf("away", edge)
	away.Namespace = "elsewhere"
	away.Annotations["alb.ingress.kubernetes.io/group.order"] = "1" // behind those without an order
	b := newBed(t, webService(), ingressOf("a", edge), away)
	of := func(group membership.Group) string {
		return b.tenants.tenantOf(ctrl.Request{NamespacedName: types.NamespacedName(group)})
	}
	want := func(group membership.Group, want, when string) {
		t.Helper()
		if got := of(group); got != want {
			t.Errorf("%s, passes come in the turns of %q, want %q", when, got, want)
		}
	}
	want(membership.Group{Namespace: "shop", Name: "a"}, "shop", "of a group with a namespace")
	want(edge, "group edge", "while no member is known")
	b.ofIngress(t.Context(), away)
	want(edge, "elsewhere", "when one member is known")
	b.ofIngress(t.Context(), b.get("a"))
	want(edge, "elsewhere", "when another one is known")
	b.mustPass(edge)
	want(edge, "shop", "after a pass")
	b.delete("a")
	if err := b.Client.Delete(t.Context(), away); err != nil {
		t.Fatal(err)
	}
	for range 2 { // in the first one the members lose their finalizers
		b.mustPass(edge)
	}
	if len(b.tenants.of) > 0 {
		t.Errorf("%v are remembered of groups without members", b.tenants.of)
	}
}

// A pass that has had its turn is interrupted when another tenant waits, and goes on before other groups of its own.
func TestALongPassGivesWayToAnotherTenant(t *testing.T) {
	for name, tc := range map[string]struct {
		took  time.Duration
		waits bool
		want  bool
	}{
		"another waits":                         {turn, true, true},
		"another waits, and the pass is young":  {turn - 1, true, false},
		"nobody waits, however long it goes on": {time.Hour, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, webService(), ingressOf("a", edge))
			q := b.newQueue("", workqueue.DefaultTypedControllerRateLimiter[ctrl.Request]())
			defer q.ShutDown()
			q.Add(ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "shop", Name: "of the same"}})
			if tc.waits {
				q.Add(ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "elsewhere", Name: "web"}})
			}
			b.apply = func(pass apply.Pass) (result apply.Result) {
				b.clock.Step(tc.took)
				result.Interrupted = pass.Interrupted()
				result.Done = []steps.Step{{}}
				return result
			}
			b.ofIngress(t.Context(), b.get("a"))
			result := b.mustPass(edge)
			if got := result.Priority != nil && *result.Priority == queue.GoesOn; got != tc.want || result.Priority == nil {
				t.Errorf("interrupted: %v, want %v", got, tc.want)
			}
		})
	}
}
