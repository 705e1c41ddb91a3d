// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package balancers

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/targetgate/targetgate/balancers/ingress/membership"
	"github.com/targetgate/targetgate/balancers/stack"
	ingressapi "github.com/targetgate/targetgate/balancers/v1beta1"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

func TestWhichGroupsAChangeConcerns(t *testing.T) {
	classed := ingressOf("classed", stack.Group{Name: "classed"})
	delete(classed.Annotations, "kubernetes.io/ingress.class")
	classed.Spec.IngressClassName = ptr.To("public")
	api := ingressOf("api", stack.Group{Name: "api"})
	api.Spec.Rules[0].HTTP.Paths[0].Backend.Service = &networkingv1.IngressServiceBackend{Name: "forward", Port: networkingv1.ServiceBackendPort{Name: "use-annotation"}}
	api.Annotations["alb.ingress.kubernetes.io/actions.forward"] = `{"type":"forward","forwardConfig":{"targetGroups":[{"serviceName":"api","servicePort":80}]}}`
	foreign := ingressOf("foreign", stack.Group{Name: "foreign"})
	foreign.Annotations["kubernetes.io/ingress.class"] = "nginx"
	away := ingressOf("away", stack.Group{Name: "away"})
	away.Namespace = "elsewhere"
	class := &networkingv1.IngressClass{
		ObjectMeta: metav1.ObjectMeta{Name: "public"},
		Spec: networkingv1.IngressClassSpec{
			Controller: membership.Controller,
			Parameters: &networkingv1.IngressClassParametersReference{APIGroup: ptr.To("elbv2.k8s.aws"), Kind: "IngressClassParams", Name: "params"},
		},
	}
	params := &ingressapi.IngressClassParams{ObjectMeta: metav1.ObjectMeta{Name: "params"}}
	b := newBed(t, served(ingressOf("a", edge), "", other), classed, api, foreign, away, class, params)
	service := func(name string) *corev1.Service {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
	}
	gone, never := stack.Group{Name: "gone"}, stack.Group{Name: "never"}
	b.memories.of(gone, b.clock.Now())
	b.memories.of(edge, b.clock.Now())
	binding := func(namespace string, labels map[string]string) *v1beta1.TargetGroupBinding {
		return &v1beta1.TargetGroupBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Labels: labels}}
	}
	deleted := served(ingressOf("deleted", edge), "", edge)
	deleted.DeletionTimestamp = ptr.To(metav1.Now())
	ctx, alone := t.Context(), stack.Group{Namespace: "shop", Name: "a"}
	for name, tc := range map[string]struct {
		got  []reconcile.Request
		want []string
	}{
		"an Ingress: its group, and the one whose finalizer it has": {b.front.RequestsFor(ctx, b.get("a")), []string{"/edge", "/other"}},
		"an Ingress that is deleted: that of its finalizer":         {b.front.RequestsFor(ctx, deleted), []string{"/edge"}},
		"an Ingress of another class: none":                         {b.front.RequestsFor(ctx, foreign), nil},
		"a Service of paths":                                        {b.front.RequestsFor(ctx, service("web")), []string{"/classed", "/edge", "/other"}},
		"a Service of an action":                                    {b.front.RequestsFor(ctx, service("api")), []string{"/api"}},
		"a Service that no Ingress names":                           {b.front.RequestsFor(ctx, service("db")), nil},
		"a class":                                                   {b.front.RequestsFor(ctx, class), []string{"/api", "/away", "/classed", "/edge", "/other"}},
		"params":                                                    {b.front.RequestsFor(ctx, params), []string{"/api", "/away", "/classed", "/edge", "/other"}},
		"params that no class names":                                {b.front.RequestsFor(ctx, &ingressapi.IngressClassParams{ObjectMeta: metav1.ObjectMeta{Name: "x"}}), nil},
		"a namespace":                                               {b.front.RequestsFor(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "elsewhere"}}), []string{"/away"}},
		"a binding of a group":                                      {b.front.RequestsFor(ctx, binding("shop", membership.LabelsOf(edge))), []string{"/edge"}},
		"a binding of a group that is left":                         {b.front.RequestsFor(ctx, binding("shop", membership.LabelsOf(other))), []string{"/other"}},
		"a binding with the labels of others' group":                {b.front.RequestsFor(ctx, binding("elsewhere", membership.LabelsOf(edge))), nil},
		"a binding of a group that ends":                            {b.front.RequestsFor(ctx, binding("elsewhere", membership.LabelsOf(gone))), []string{"/gone"}},
		"a binding of a group that there is not":                    {b.front.RequestsFor(ctx, binding("elsewhere", membership.LabelsOf(never))), nil},
		"a binding of one Ingress":                                  {b.front.RequestsFor(ctx, binding("shop", membership.LabelsOf(alone))), []string{"shop/a"}},
		"a binding with the labels of an Ingress elsewhere":         {b.front.RequestsFor(ctx, binding("elsewhere", membership.LabelsOf(alone))), nil},
		"a binding that users made":                                 {b.front.RequestsFor(ctx, binding("shop", map[string]string{"a": "b"})), nil},
		"a binding with half a label":                               {b.front.RequestsFor(ctx, binding("shop", map[string]string{"ingress.k8s.aws/stack-name": "a"})), nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, request := range tc.got {
				got = append(got, request.String())
			}
			slices.Sort(got)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}
