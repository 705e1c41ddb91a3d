// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package balancers

import (
	"strings"
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/targetgate/targetgate/balancers/apply"
	"github.com/targetgate/targetgate/balancers/ingress/membership"
	"github.com/targetgate/targetgate/balancers/ingress/objects"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
	"github.com/targetgate/targetgate/targets/contest"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// What others take of what we write to an Ingress or a binding asks for a pass.
func TestWhichChangesByOthersAskForAPass(t *testing.T) {
	ours := served(ingressOf("a", edge), "k8s-a.elb.amazonaws.com", edge)
	for name, change := range map[string]func(*networkingv1.Ingress){
		"the finalizer is gone": func(i *networkingv1.Ingress) { i.Finalizers = nil },
		"another one is":        func(i *networkingv1.Ingress) { i.Finalizers[0] = membership.FinalizerOf(other) },
		"the status is gone":    func(i *networkingv1.Ingress) { i.Status = networkingv1.IngressStatus{} },
		"a port has an error":   func(i *networkingv1.Ingress) { i.Status.LoadBalancer.Ingress[0].Ports[0].Error = ptr.To("x") },
	} {
		after := ours.DeepCopy()
		change(after)
		if !objects.IngressChanged().Update(event.UpdateEvent{ObjectOld: ours, ObjectNew: after}) {
			t.Errorf("%s, and no pass follows", name)
		}
	}
	claimed := ingressOf("a", edge)
	if objects.IngressChanged().Update(event.UpdateEvent{ObjectOld: claimed, ObjectNew: served(claimed.DeepCopy(), "", edge)}) {
		t.Error("our own finalizer asks for a pass")
	}
	binding := &v1beta1.TargetGroupBinding{}
	binding.Labels = membership.LabelsOf(edge)
	if !objects.BindingChanged().Update(event.UpdateEvent{ObjectOld: binding, ObjectNew: &v1beta1.TargetGroupBinding{}}) {
		t.Error("the labels of a binding are gone, and no pass follows")
	}
}

// overwritten has somebody else take something in each second for ten minutes, and counts how often it was put back.
func (b *bed) overwritten(take func(i *networkingv1.Ingress) bool) (puts int, longest time.Duration) {
	b.t.Helper()
	var lostAt time.Time
	for range 600 {
		member := b.get("a")
		if take(member) {
			if !lostAt.IsZero() {
				puts, longest = puts+1, max(longest, b.clock.Since(lostAt))
			}
			for _, write := range []func() error{
				func() error { return b.Client.Status().Update(b.t.Context(), member) }, func() error { return b.Client.Update(b.t.Context(), member) },
			} {
				if err := client.IgnoreNotFound(write()); err != nil {
					b.t.Fatal(err)
				}
				lostAt, member = b.clock.Now(), b.get("a")
				take(member)
			}
		}
		b.mustPass(edge)
		b.clock.Step(time.Second)
	}
	return puts, longest
}

func TestWhoGoesOnToTakeItIsAnsweredMoreAndMoreSlowly(t *testing.T) {
	for name, take := range map[string]func(i *networkingv1.Ingress) bool{
		"finalizer": func(i *networkingv1.Ingress) bool {
			had := len(i.Finalizers) > 0
			i.Finalizers = nil
			return had
		},
		"status": func(i *networkingv1.Ingress) bool {
			had := len(i.Status.LoadBalancer.Ingress) > 0
			i.Status = networkingv1.IngressStatus{}
			return had
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, ingressOf("a", edge), webService())
			b.see(edge, balancer("a", true, 80))
			b.mustPass(edge)
			b.mustPass(edge)
			puts, longest := b.overwritten(take)
			if puts < 15 || puts > 30 || longest > 32*time.Second {
				t.Errorf("put back %d times in 10 minutes, after %s at most", puts, longest)
			}
			told := 0
			for _, e := range b.events {
				if strings.Contains(e, contest.Reason) {
					told++
				}
			}
			if told != 1 {
				t.Errorf("told %d times: %v", told, b.events)
			}
		})
	}
}

func TestBindingThatSomebodyElseChangesAgainAndAgain(t *testing.T) {
	b := newBed(t, ingressOf("a", edge), webService())
	b.see(edge, balancer("a", true, 80))
	wanted := stack.Binding{Namespace: "shop", Name: "k8s-web", Group: stack.Ref{ID: "arn-web"}, Spec: stack.BindingSpec{Service: "web"}}
	object := &v1beta1.TargetGroupBinding{}
	object.Namespace, object.Name, object.Labels, object.Spec.TargetGroupARN = "shop", "k8s-web", membership.LabelsOf(edge), "arn-web"
	object.Spec.ServiceRef.Name = "web"
	if err := b.Client.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	puts, isLost := 0, false
	b.apply = func(pass apply.Pass) apply.Result {
		if len(pass.Plan) > 0 {
			puts, isLost = puts+1, false
		}
		return apply.Result{Done: pass.Plan}
	}
	b.mustPass(edge) // it is as it is to be
	for range 600 {
		isLost = true
		b.steps = steps.Plan{{Change: steps.UpdateBinding{Binding: wanted}}}
		b.mustPass(edge)
		b.steps = nil
		if !isLost {
			b.mustPass(edge)
		}
		b.clock.Step(time.Second)
	}
	if puts < 15 || puts > 30 {
		t.Errorf("put back %d times in 10 minutes", puts)
	}
}
