// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package balancers

import (
	"context"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/balancers/ingress/membership"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// counting counts the Ingresses and bindings that are listed.
type counting struct {
	client.Client
	listed int
}

func (c *counting) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	err := c.Client.List(ctx, list, opts...)
	switch list := list.(type) {
	case *networkingv1.IngressList:
		c.listed += len(list.Items)
	case *v1beta1.TargetGroupBindingList:
		c.listed += len(list.Items)
	}
	return err
}

// A pass and an event look at the Ingresses and bindings that they concern, however many others there are, also in the same namespace.
func TestOthersAreNotListed(t *testing.T) {
	web := ingressOf("web", edge)
	there := []client.Object{web, webService()}
	for n := range 50 {
		stranger := ingressOf(fmt.Sprint("other-", n), other)
		stranger.Spec.Rules[0].HTTP.Paths[0].Backend.Service.Name = fmt.Sprint("other-", n)
		there = append(there, stranger, bindingOf("shop", fmt.Sprint("other-", n), other, ""))
	}
	for name, do := range map[string]func(*bed) int{
		"a pass":           func(b *bed) int { b.mustPass(edge); return 1 },
		"of an Ingress":    func(b *bed) int { return len(b.front.RequestsFor(t.Context(), web)) },
		"of a Service":     func(b *bed) int { return len(b.front.RequestsFor(t.Context(), webService())) },
		"of its namespace": func(b *bed) int { return len(b.front.RequestsFor(t.Context(), namespaceOf("elsewhere"))) + 1 },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, there...)
			c := &counting{Client: b.Client}
			b.Client, b.front.Client = c, c
			if got := do(b); got != 1 || c.listed > 1 {
				t.Errorf("%d groups of %d Ingresses that were listed, want 1 of 1 at most", got, c.listed)
			}
		})
	}
}

// bindingOf is one with the labels of the group.
func bindingOf(namespace, name string, group stack.Group, arn string) *v1beta1.TargetGroupBinding {
	return &v1beta1.TargetGroupBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: membership.LabelsOf(group)},
		Spec:       v1beta1.TargetGroupBindingSpec{TargetGroupARN: arn},
	}
}

// Anybody can give a binding the labels of a group. Those that may be the group's are seen, so that they go with what they are for.
func TestWhichBindingsAreAGroups(t *testing.T) {
	alone := stack.Group{Namespace: "shop", Name: "alone"}
	single := ingressOf("alone", edge)
	delete(single.Annotations, "alb.ingress.kubernetes.io/group.name")
	moved := served(ingressOf("moved", other), oldHost, edge)
	moved.Namespace = "moved"
	bindings := []client.Object{
		bindingOf("shop", "mine", edge, "gone"), bindingOf("moved", "leaving", edge, "gone"), bindingOf("former", "former", edge, "arn-shop/a-web:80"),
		bindingOf("elsewhere", "stranger", edge, "arn-stranger"), bindingOf("shop", "unnamed", other, "arn-shop/a-web:80"),
		bindingOf("shop", "alone", alone, "gone"), bindingOf("elsewhere", "not-alone", alone, "arn-shop/a-web:80"),
	}
	for name, tc := range map[string]struct {
		group   stack.Group
		members []client.Object
		want    []string
	}{
		"a group":                 {edge, []client.Object{ingressOf("a", edge), moved}, []string{"former", "leaving", "mine"}},
		"a group that ends":       {edge, []client.Object{served(ingressOf("a", other), "", edge)}, []string{"former", "mine"}},
		"a group without members": {edge, nil, []string{"former", "leaving", "mine", "stranger"}},
		"one Ingress":             {alone, []client.Object{single}, []string{"alone"}},
		"one that is gone":        {alone, nil, []string{"alone"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, append(tc.members, append(bindings, webService())...)...)
			b.seeGroup(tc.group, "shop/a-web:80")
			b.mustPass(tc.group)
			var got []string
			for _, binding := range b.compared.Bindings {
				got = append(got, binding.Name)
			}
			if slices.Sort(got); !slices.Equal(got, tc.want) {
				t.Errorf("bindings %v, want %v", got, tc.want)
			}
		})
	}
}

func namespaceOf(name string) client.Object {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
}
