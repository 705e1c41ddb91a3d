// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package membership

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/targetgate/targetgate/balancers/fixture"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/v1beta1"
)

func TestGroupsHeld(t *testing.T) {
	shop := types.NamespacedName{Namespace: "shop", Name: "web"}
	var ofGroups []string
	var groups []stack.Group
	for n := range 17 {
		groups = append(groups, stack.Group{Name: fmt.Sprint("group-", n)})
		ofGroups = append(ofGroups, FinalizerOf(groups[n]))
	}
	tests := map[string]struct {
		finalizers []string
		want       []stack.Group
	}{
		"none":                    {},
		"foreign":                 {finalizers: []string{"foregroundDeletion", "ingress.k8s.aws/other"}},
		"its own":                 {finalizers: []string{"ingress.k8s.aws/resources"}, want: []stack.Group{{Namespace: "shop", Name: "web"}}},
		"moving into a group":     {finalizers: []string{"ingress.k8s.aws/resources", "group.ingress.k8s.aws/edge"}, want: []stack.Group{{Namespace: "shop", Name: "web"}, {Name: "edge"}}},
		"no name":                 {finalizers: []string{"group.ingress.k8s.aws/"}},
		"a name that none can be": {finalizers: []string{"group.ingress.k8s.aws/Edge"}},
		"as many as count":        {finalizers: ofGroups[:16], want: groups[:16]},
		"more than count":         {finalizers: ofGroups, want: groups[:16]},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := GroupsHeld(shop, tc.finalizers)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("groups (-want +got):\n%s", diff)
			}
			for i, group := range got {
				if FinalizerOf(group) != tc.finalizers[i] {
					t.Errorf("group %s has finalizer %s, want %s", group, FinalizerOf(group), tc.finalizers[i])
				}
			}
		})
	}
}

func TestTheIngressesOfAGroup(t *testing.T) {
	all := fixture.Parse[networkingv1.Ingress](t, `
metadata: {namespace: shop, name: web}
---
metadata: {namespace: shop, name: moves, annotations: {alb.ingress.kubernetes.io/group.name: edge}, finalizers: [ingress.k8s.aws/resources]}
---
metadata: {namespace: shop, name: stays, annotations: {alb.ingress.kubernetes.io/group.name: edge}}
---
metadata: {namespace: shop, name: goes, finalizers: [group.ingress.k8s.aws/edge, group.ingress.k8s.aws/other]}
---
metadata: {namespace: a, name: web, annotations: {alb.ingress.kubernetes.io/group.name: edge}}
spec: {ingressClassName: team}
---
metadata: {namespace: a, name: api}
spec: {ingressClassName: team}`)
	for _, ingress := range all[:4] {
		ingress.Spec.IngressClassName = new("alb")
	}
	objects := Objects{
		Ingresses: all, Class: "alb", Classes: fixture.Parse[networkingv1.IngressClass](t, testClasses),
		Params: fixture.Parse[v1beta1.IngressClassParams](t, testParams), Namespaces: map[string]map[string]string{"a": {"team": "a"}},
	}
	groups := Groups(Classify(objects))
	if len(groups) != 6 {
		t.Fatalf("%d groups, want those of web, moves, goes, edge, other and team", len(groups))
	}
	for group, want := range groups {
		of := objects.Of(group)
		if diff := cmp.Diff(want, Groups(Classify(of))[group]); diff != "" {
			t.Errorf("members of %s among all Ingresses and among its own (-all +own):\n%s", group, diff)
		}
		if group.Name != "team" && len(of.Ingresses) > 4 {
			t.Errorf("%d Ingresses may be of %s", len(of.Ingresses), group)
		}
	}
}

// Whoever may not read classes goes by finalizers.
func TestAnIngressIsInTheGroupWhoseFinalizerItHas(t *testing.T) {
	const implicit, edge = "ingress.k8s.aws/resources", "group.ingress.k8s.aws/edge"
	for name, tc := range map[string]struct {
		finalizers []string
		group      string // that it names
		want       stack.Group
		not        bool
	}{
		"none":                       {not: true},
		"another's finalizer":        {finalizers: []string{"example.com/backup"}, not: true},
		"its own":                    {finalizers: []string{implicit}, want: stack.Group{Namespace: "shop", Name: "web"}},
		"of params":                  {finalizers: []string{edge}, want: stack.Group{Name: "edge"}},
		"of params, and not its own": {finalizers: []string{edge}, group: "mine", want: stack.Group{Name: "edge"}},
		"it has left a group":        {finalizers: []string{edge, implicit}, group: "edge", want: stack.Group{Name: "edge"}},
		"it has named another group": {finalizers: []string{implicit}, group: "edge", want: stack.Group{Namespace: "shop", Name: "web"}},
	} {
		ingress := &networkingv1.Ingress{}
		ingress.Namespace, ingress.Name, ingress.Finalizers = "shop", "web", tc.finalizers
		if tc.group != "" {
			ingress.Annotations = map[string]string{"alb.ingress.kubernetes.io/group.name": tc.group}
		}
		for _, class := range []string{"alb", "internal", ""} {
			got, is := AsHeld(ingress, class)
			c := Classify(Objects{Ingresses: []*networkingv1.Ingress{got}, Class: class})[0]
			if is == tc.not || !tc.not && (!c.Ours || c.Group != tc.want) {
				t.Errorf("%s, class %q: held %t, ours %t, group %v; want %v", name, class, is, c.Ours, c.Group, tc.want)
			}
		}
	}
}
