// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package balancers

import (
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/targetgate/targetgate/balancers/apply"
	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/stack"
)

// vanish takes the finalizers off the Ingress and deletes it, with no pass between. It returns the last that a watch shows of it.
func (b *bed) vanish(name string) *networkingv1.Ingress {
	b.t.Helper()
	b.edit(name, func(i *networkingv1.Ingress) { i.Finalizers = nil })
	last := b.get(name)
	b.delete(name)
	return last
}

// Rule 33: what was made for an Ingress goes with it, though somebody took its finalizer off.
func TestAnIngressThatVanishesIsCleanedUp(t *testing.T) {
	web := stack.Group{Namespace: "shop", Name: "web"}
	alone := func(i *networkingv1.Ingress) *networkingv1.Ingress {
		delete(i.Annotations, annotation.GroupName.FullName())
		return i
	}
	for name, tc := range map[string]struct {
		group    stack.Group
		ingress  *networkingv1.Ingress
		do       func(b *bed)
		told     bool // the watch tells how Ingresses go
		orphaned bool
	}{
		"replaced and deleted": {group: edge, ingress: ingressOf("web", edge), do: func(b *bed) { b.vanish("web") }},
		"gone before its finalizer is put back": {group: edge, ingress: ingressOf("web", edge), do: func(b *bed) {
			b.edit("web", func(i *networkingv1.Ingress) { i.Finalizers = nil })
			b.patchErr = apierrors.NewNotFound(networkingv1.Resource("ingresses"), "web")
			b.mustPass(edge)
			b.patchErr = nil
			b.delete("web")
		}},
		"replaced and deleted, alone":   {group: web, ingress: alone(ingressOf("web", edge)), do: func(b *bed) { b.vanish("web") }},
		"replaced with another group":   {group: edge, ingress: ingressOf("web", edge), do: func(b *bed) { b.move("web", other.Name); b.vanish("web") }},
		"the watch says it was deleted": {told: true, group: edge, ingress: ingressOf("web", edge), do: func(b *bed) { b.endings.note(b.vanish("web"), true, false, b.clock.Now()) }},
		"taken off while it is being deleted": {told: true, group: edge, ingress: ingressOf("web", edge), do: func(b *bed) {
			b.delete("web")
			last := b.get("web")
			b.edit("web", func(i *networkingv1.Ingress) { i.Finalizers = nil })
			b.endings.note(last, b.front.HoldsOurs(last), true, b.clock.Now())
		}},
		"put back while the API server deletes it": {told: true, group: edge, ingress: ingressOf("web", edge), do: func(b *bed) {
			last := b.get("web")
			b.vanish("web")
			b.endings.notes(b.clock, b.front.HoldsOurs).Delete(event.DeleteEvent{Object: last})
		}},
		"the API server's data is lost": {told: true, orphaned: true, group: edge, ingress: ingressOf("web", edge), do: func(b *bed) {
			last := b.get("web")
			b.vanish("web")
			b.endings.notes(b.clock, b.front.HoldsOurs).Delete(event.DeleteEvent{Object: last, DeleteStateUnknown: true})
		}},
		"it is lost and restored elsewhere": {told: true, orphaned: true, group: edge, ingress: ingressOf("web", edge), do: func(b *bed) {
			last := b.get("web")
			b.vanish("web")
			restored := ingressOf("web", other)
			restored.UID = "another"
			if err := b.Client.Create(b.t.Context(), restored); err != nil {
				b.t.Fatal(err)
			}
			b.endings.notes(b.clock, b.front.HoldsOurs).Update(event.UpdateEvent{ObjectOld: last, ObjectNew: restored})
		}},
		"the watch has not told yet": {told: true, orphaned: true, group: edge, ingress: ingressOf("web", edge), do: func(b *bed) { b.vanish("web") }},
		"another controller's Ingress names the group": {orphaned: true, group: edge, ingress: ingressOf("web", edge), do: func(b *bed) {
			b.vanish("web")
			foreign := ingressOf("foreign", edge)
			foreign.Annotations["kubernetes.io/ingress.class"] = "other"
			if err := b.Client.Create(b.t.Context(), foreign); err != nil {
				b.t.Fatal(err)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, webService(), served(tc.ingress, oldHost, tc.group))
			b.endings.told = tc.told
			b.see(tc.group, balancer("old", true, 80))
			b.mustPass(tc.group)
			tc.do(b)
			before := b.planned
			result := b.mustPass(tc.group)
			if isOrphaned := b.planned == before; isOrphaned != tc.orphaned {
				t.Errorf("the load balancer is left alone: %t, want %t", isOrphaned, tc.orphaned)
			}
			if tc.orphaned && tc.told && len(b.endings.ends) == 0 && result.RequeueAfter != endingPause {
				t.Errorf("next pass in %v, want it soon", result.RequeueAfter)
			}
			if !tc.orphaned && len(b.wanted.Members)+len(b.wanted.LoadBalancers) > 0 {
				t.Errorf("wanted %+v, want nothing", b.wanted)
			}
			b.seen = map[string]stack.Stack{}
			b.mustPass(tc.group)
			if !tc.orphaned && b.memories.knows(tc.group) {
				t.Error("the group is remembered when nothing is left")
			}
		})
	}
}

// move replaces the Ingress by one of another group, without finalizers.
func (b *bed) move(name, group string) {
	b.t.Helper()
	b.edit(name, func(i *networkingv1.Ingress) {
		i.Finalizers = nil
		i.Annotations[annotation.GroupName.FullName()] = group
	})
}

// Rule 15: an Ingress that was replaced by one of another group is served by the old one until the new one serves it, with its finalizer or
// without.
func TestAnIngressThatIsReplacedIntoAnotherGroupIsServed(t *testing.T) {
	web := stack.Group{Namespace: "shop", Name: "web"}
	for name, from := range map[string]stack.Group{"from a group": edge, "from its own": web} {
		t.Run(name, func(t *testing.T) {
			ingress := ingressOf("web", from)
			if !from.IsExplicit() {
				delete(ingress.Annotations, annotation.GroupName.FullName())
			}
			b := newBed(t, webService(), served(ingress, oldHost, from))
			b.see(from, balancer("old", true, 80))
			b.mustPass(from)
			b.move("web", other.Name)
			b.mustPass(from)
			if len(b.wanted.Members) != 1 || !b.wanted.Members[0].Held {
				t.Errorf("members %+v, want the Ingress, held", b.wanted.Members)
			}
			b.see(other, balancer("new", true, 80))
			b.mustPass(other)
			b.writeHost("web", balancer("new", true).DNSName)
			b.clock.Step(time.Minute)
			b.mustPass(from)
			b.clock.Step(b.SettleTime + time.Minute)
			b.mustPass(from)
			if len(b.wanted.Members) != 0 {
				t.Errorf("members %+v after the settle time, want none", b.wanted.Members)
			}
		})
	}
}

// What has had the finalizer and does not name the group, such as an Ingress that somebody gave it, brings nothing down.
func TestAnIngressThatBorrowedTheFinalizerTakesNothingWithIt(t *testing.T) {
	borrowed := served(ingressOf("web", other), "", edge)
	borrowed.Annotations["kubernetes.io/ingress.class"] = ""
	delete(borrowed.Annotations, "kubernetes.io/ingress.class")
	borrowed.Spec.IngressClassName = ptr.To("none")
	b := newBed(t, borrowed)
	b.see(edge, balancer("old", true, 80))
	b.mustPass(edge)
	b.vanish("web")
	before := b.planned
	if b.mustPass(edge); b.planned != before {
		t.Error("the load balancer of the group is taken down")
	}
}

// A load balancer that is not gone yet is tried again.
func TestCleaningUpAfterAnIngressThatVanishedGoesOn(t *testing.T) {
	b := newBed(t, webService(), served(ingressOf("web", edge), oldHost, edge))
	b.see(edge, balancer("old", true, 80))
	b.mustPass(edge)
	b.vanish("web")
	b.apply = func(apply.Pass) apply.Result { return apply.Result{Again: time.Second} }
	for range 3 {
		before := b.planned
		if result := b.mustPass(edge); b.planned == before || result.RequeueAfter != time.Second {
			t.Errorf("%d plans, next in %v, want one and the next in 1s", b.planned-before, result.RequeueAfter)
		}
	}
}
