// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/targetgate/targetgate/balancers/ingress/membership"
	"github.com/targetgate/targetgate/balancers/stack"
)

var edge, other = stack.Group{Name: "edge"}, stack.Group{Name: "other"}

// web is an Ingress of the group edge.
func web() *networkingv1.Ingress {
	return &networkingv1.Ingress{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", Annotations: map[string]string{"alb.ingress.kubernetes.io/group.name": "edge"}},
		Spec:       networkingv1.IngressSpec{Rules: []networkingv1.IngressRule{{Host: "web.example.com"}}},
	}
}

// Its status counts, too: a group that it has left waits for that.
func TestOnlyWhatUsersSayIsAChange(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*networkingv1.Ingress)
		want   bool
	}{
		"nothing": {func(*networkingv1.Ingress) {}, false},
		"its status": {func(i *networkingv1.Ingress) {
			i.Status.LoadBalancer.Ingress = []networkingv1.IngressLoadBalancerIngress{{Hostname: "host"}}
		}, true},
		"a finalizer":   {func(i *networkingv1.Ingress) { i.Finalizers = []string{membership.FinalizerOf(edge)} }, false},
		"an annotation": {func(i *networkingv1.Ingress) { i.Annotations["a"] = "b" }, true},
		"its spec":      {func(i *networkingv1.Ingress) { i.Spec.Rules = nil }, true},
		"its deletion":  {func(i *networkingv1.Ingress) { i.DeletionTimestamp = ptr.To(metav1.Now()) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			before, after := web(), web()
			tc.change(after)
			var objects = [2]client.Object{before, after}
			if got := saysOtherwise(ingressSpec).Update(event.UpdateEvent{ObjectOld: objects[0], ObjectNew: objects[1]}); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

// An Ingress may be seen before its new namespace: until then no class with a namespaceSelector is for it, and it has no group.
func TestANewNamespaceIsAChange(t *testing.T) {
	if !labelsChanged().Create(event.CreateEvent{Object: &corev1.Namespace{}}) {
		t.Error("a new namespace is passed over")
	}
}

// Whoever may be a member is found: by the group's name, by its finalizer, and by the Ingress's own name.
func TestWhoMayBeAMemberIsFound(t *testing.T) {
	ingress := web()
	ingress.Finalizers = []string{membership.FinalizerOf(other)}
	for _, group := range []string{edge.Name, other.Name, ingress.Namespace + "/web"} {
		found := false
		for _, value := range ValuesOf(ingress, groupField) {
			found = found || value == group
		}
		if !found {
			t.Errorf("%s is not among %v", group, ValuesOf(ingress, groupField))
		}
	}
}
