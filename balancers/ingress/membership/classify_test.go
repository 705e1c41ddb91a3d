// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package membership

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/targetgate/targetgate/balancers/fixture"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/v1beta1"
)

const testClasses = `
metadata: {name: alb}
spec: {controller: ingress.k8s.aws/alb}
---
metadata: {name: nginx}
spec: {controller: k8s.io/ingress-nginx}
---
metadata: {name: team}
spec: {controller: ingress.k8s.aws/alb, parameters: {apiGroup: elbv2.k8s.aws, kind: IngressClassParams, name: team}}
---
metadata: {name: without-params}
spec: {controller: ingress.k8s.aws/alb, parameters: {apiGroup: elbv2.k8s.aws, kind: IngressClassParams, name: gone}}
---
metadata: {name: other-params}
spec: {controller: ingress.k8s.aws/alb, parameters: {apiGroup: v1, kind: ConfigMap, name: team}}
---
metadata: {name: bad-group}
spec: {controller: ingress.k8s.aws/alb, parameters: {apiGroup: elbv2.k8s.aws, kind: IngressClassParams, name: bad-group}}`

const testParams = `
metadata: {name: team}
spec: {group: {name: team}, namespaceSelector: {matchLabels: {team: a}}}
---
metadata: {name: bad-group}
spec: {group: {name: Team}}`

func TestClassify(t *testing.T) {
	for name, tc := range map[string]struct {
		ingress  string // metadata and spec
		class    string // --ingress-class, alb unless said
		flag     bool   // class is said
		defaults []string
		want     string // the group; "" if it is not ours
		params   string
		fault    string
	}{
		"the annotation alone decides": {
			ingress: `{metadata: {annotations: {kubernetes.io/ingress.class: alb}}, spec: {ingressClassName: nginx}}`, want: "shop/web",
		},
		"the annotation of another":                   {ingress: `{metadata: {annotations: {kubernetes.io/ingress.class: nginx}}, spec: {ingressClassName: alb}}`},
		"the annotation as the flag says":             {ingress: `{metadata: {annotations: {kubernetes.io/ingress.class: mine}}}`, class: "mine", flag: true, want: "shop/web"},
		"the annotation with an empty flag":           {ingress: `{metadata: {annotations: {kubernetes.io/ingress.class: alb}}}`, flag: true, want: "shop/web"},
		"the class, whatever the flag":                {ingress: `{spec: {ingressClassName: alb}}`, class: "mine", flag: true, want: "shop/web"},
		"the class of another":                        {ingress: `{spec: {ingressClassName: nginx}}`},
		"the class of another, with our finalizer":    {ingress: `{metadata: {finalizers: [ingress.k8s.aws/resources]}, spec: {ingressClassName: nginx}}`},
		"a class that does not exist":                 {ingress: `{spec: {ingressClassName: gone}}`},
		"a class that does not exist, of one of ours": {ingress: `{metadata: {finalizers: [ingress.k8s.aws/resources]}, spec: {ingressClassName: gone}}`, fault: `spec.ingressClassName, value "gone"`},
		"no class":                     {ingress: `{}`},
		"no class, with an empty flag": {ingress: `{}`, flag: true, want: "shop/web"},
		"our default class":            {ingress: `{}`, defaults: []string{"alb"}, want: "shop/web"},
		"another's default class, with an empty flag":   {ingress: `{}`, flag: true, defaults: []string{"nginx"}},
		"two default classes":                           {ingress: `{}`, defaults: []string{"nginx", "alb"}, fault: "alb and nginx are both default classes"},
		"two default classes, and a class":              {ingress: `{spec: {ingressClassName: alb}}`, defaults: []string{"nginx", "alb"}, want: "shop/web"},
		"two default classes, and an annotation":        {ingress: `{metadata: {annotations: {kubernetes.io/ingress.class: alb}}}`, defaults: []string{"nginx", "alb"}, want: "shop/web"},
		"params in a namespace that they select":        {ingress: `{metadata: {namespace: a}, spec: {ingressClassName: team}}`, want: "team", params: "team"},
		"params in another namespace":                   {ingress: `{spec: {ingressClassName: team}}`, fault: "IngressClassParams team, spec.namespaceSelector, value \"team=a\": does not select namespace shop"},
		"params that do not exist":                      {ingress: `{spec: {ingressClassName: without-params}}`, fault: `spec.parameters.name, value "gone"`},
		"parameters of another kind":                    {ingress: `{spec: {ingressClassName: other-params}}`, fault: "must be IngressClassParams of elbv2.k8s.aws"},
		"a group by annotation":                         {ingress: `{metadata: {annotations: {alb.ingress.kubernetes.io/group.name: edge}}, spec: {ingressClassName: alb}}`, want: "edge"},
		"a group by params before the annotation":       {ingress: `{metadata: {namespace: a, annotations: {alb.ingress.kubernetes.io/group.name: edge}}, spec: {ingressClassName: team}}`, want: "team", params: "team"},
		"a group name that is none":                     {ingress: `{metadata: {annotations: {alb.ingress.kubernetes.io/group.name: Edge}}, spec: {ingressClassName: alb}}`, fault: `group.name, value "Edge"`},
		"a group name of params that is none":           {ingress: `{spec: {ingressClassName: bad-group}}`, params: "bad-group", fault: `IngressClassParams bad-group, spec.group.name, value "Team"`},
		"an order that is none stays in its group":      {ingress: `{metadata: {annotations: {alb.ingress.kubernetes.io/group.order: "1001"}}, spec: {ingressClassName: alb}}`, want: "shop/web", fault: "must be an integer from -1000 to 1000"},
		"one that is being deleted":                     {ingress: `{metadata: {deletionTimestamp: "2026-01-01T00:00:00Z"}, spec: {ingressClassName: alb}}`},
		"one of a missing class that is being deleted":  {ingress: `{metadata: {deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: [ingress.k8s.aws/resources]}, spec: {ingressClassName: gone}}`},
		"an annotation of ours that is empty":           {ingress: `{metadata: {annotations: {kubernetes.io/ingress.class: ""}}}`},
		"an annotation that is empty as the empty flag": {ingress: `{metadata: {annotations: {kubernetes.io/ingress.class: ""}}}`, flag: true},
	} {
		t.Run(name, func(t *testing.T) {
			ingress := fixture.Parse[networkingv1.Ingress](t, tc.ingress)[0]
			if ingress.Name = "web"; ingress.Namespace == "" {
				ingress.Namespace = "shop"
			}
			objects := Objects{
				Ingresses: []*networkingv1.Ingress{ingress}, Class: "alb",
				Classes:    fixture.Parse[networkingv1.IngressClass](t, testClasses),
				Params:     fixture.Parse[v1beta1.IngressClassParams](t, testParams),
				Namespaces: map[string]map[string]string{"a": {"team": "a"}},
			}
			if tc.flag {
				objects.Class = tc.class
			}
			for _, class := range objects.Classes {
				for _, name := range tc.defaults {
					if class.Name == name {
						class.Annotations = map[string]string{"ingressclass.kubernetes.io/is-default-class": "true"}
					}
				}
			}
			got := Classify(objects)[0]
			group, params, fault := "", "", ""
			if got.Ours {
				group = got.Group.String()
			}
			if got.Params != nil {
				params = got.Params.Name
			}
			if got.Fault != nil {
				fault = got.Fault.Error()
			}
			if group != tc.want || params != tc.params || (fault == "") != (tc.fault == "") || !strings.Contains(fault, tc.fault) {
				t.Errorf("group %q, params %q, fault %q; want %q, %q, %q", group, params, fault, tc.want, tc.params, tc.fault)
			}
		})
	}
}

func TestGroups(t *testing.T) {
	ingresses := fixture.Parse[networkingv1.Ingress](t, `
metadata: {namespace: b, name: second, annotations: {alb.ingress.kubernetes.io/group.name: edge}}
spec: {ingressClassName: alb}
---
metadata: {namespace: a, name: third, annotations: {alb.ingress.kubernetes.io/group.name: edge, alb.ingress.kubernetes.io/group.order: "10"}}
spec: {ingressClassName: alb}
---
metadata: {namespace: z, name: first, annotations: {alb.ingress.kubernetes.io/group.name: edge, alb.ingress.kubernetes.io/group.order: "-1"}}
spec: {ingressClassName: alb}
---
metadata: {namespace: a, name: moving, annotations: {alb.ingress.kubernetes.io/group.name: other}, finalizers: [group.ingress.k8s.aws/edge, group.ingress.k8s.aws/other]}
spec: {ingressClassName: alb}
---
metadata: {namespace: a, name: deleted, deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: [group.ingress.k8s.aws/edge]}
spec: {ingressClassName: alb}
---
metadata: {namespace: a, name: left, finalizers: [group.ingress.k8s.aws/edge]}
spec: {ingressClassName: nginx}
---
metadata: {namespace: a, name: unknown, annotations: {alb.ingress.kubernetes.io/group.name: Edge}, finalizers: [group.ingress.k8s.aws/edge]}
spec: {ingressClassName: alb}
---
metadata: {namespace: a, name: alone}
spec: {ingressClassName: alb}
---
metadata: {namespace: a, name: foreign}
spec: {ingressClassName: nginx}`)
	got := map[string]string{}
	for group, members := range Groups(Classify(Objects{Ingresses: ingresses, Classes: fixture.Parse[networkingv1.IngressClass](t, testClasses), Class: "alb"})) {
		var text []string
		for _, member := range members.Active {
			name := NameOf(member.Ingress)
			if member.Fault != nil {
				name += "(held)"
			}
			text = append(text, name)
		}
		text = append(text, "|")
		for _, ingress := range members.Inactive {
			text = append(text, NameOf(ingress))
		}
		got[group.String()] = strings.Join(text, " ")
	}
	if diff := cmp.Diff(map[string]string{
		"edge":    "z/first a/unknown(held) b/second a/third | a/deleted a/left a/moving",
		"other":   "a/moving |",
		"a/alone": "a/alone |",
	}, got); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
}

// With the switch on, classes decide. What was made by the annotation stays until the Ingress has a class.
func TestTheClassAnnotationIsIgnored(t *testing.T) {
	const ownFinalizer = "finalizers: [ingress.k8s.aws/resources], "
	for name, tc := range map[string]struct {
		ingress, group, fault string
	}{
		"the annotation alone":            {ingress: `{metadata: {annotations: {kubernetes.io/ingress.class: alb}}}`},
		"beside another's class":          {ingress: `{metadata: {annotations: {kubernetes.io/ingress.class: alb}}, spec: {ingressClassName: nginx}}`},
		"beside a class of ours":          {ingress: `{metadata: {annotations: {kubernetes.io/ingress.class: nginx}}, spec: {ingressClassName: alb}}`, group: "shop/web"},
		"of one that was made before":     {ingress: `{metadata: {` + ownFinalizer + `annotations: {kubernetes.io/ingress.class: alb}}}`, fault: "names no IngressClass of controller"},
		"of one that has another's class": {ingress: `{metadata: {` + ownFinalizer + `annotations: {kubernetes.io/ingress.class: alb}}, spec: {ingressClassName: nginx}}`, fault: `value "nginx"`},
		"of one that has ours, too":       {ingress: `{metadata: {` + ownFinalizer + `annotations: {kubernetes.io/ingress.class: alb}}, spec: {ingressClassName: alb}}`, group: "shop/web"},
		"of one that was another's":       {ingress: `{metadata: {` + ownFinalizer + `annotations: {kubernetes.io/ingress.class: nginx}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			ingresses := fixture.Parse[networkingv1.Ingress](t, tc.ingress)
			ingresses[0].Namespace, ingresses[0].Name = "shop", "web"
			got := Classify(Objects{
				Classes: fixture.Parse[networkingv1.IngressClass](t, testClasses), Class: "alb", Ingresses: ingresses,
				Switches: Switches{IgnoreClassAnnotation: true},
			})[0]
			group, fault := "", ""
			if got.Ours {
				group = got.Group.String()
			}
			if got.Fault != nil {
				fault = got.Fault.Error()
			}
			if group != tc.group || (fault == "") != (tc.fault == "") || !strings.Contains(fault, tc.fault) {
				t.Errorf("group %q, fault %q; want %q, %q", group, fault, tc.group, tc.fault)
			}
		})
	}
}

// A group that params keep for their classes is for no other Ingress. One that was in it before stays as it is.
func TestAGroupThatIsKept(t *testing.T) {
	for name, tc := range map[string]struct {
		annotation string // of the params
		ingress    string
		ours       bool
		excluded   bool
	}{
		"of the class":            {"true", `{metadata: {namespace: a}, spec: {ingressClassName: team}}`, true, false},
		"of another class":        {"true", `{metadata: {annotations: {alb.ingress.kubernetes.io/group.name: team}}, spec: {ingressClassName: alb}}`, false, true},
		"by the class annotation": {"true", `{metadata: {annotations: {kubernetes.io/ingress.class: alb, alb.ingress.kubernetes.io/group.name: team}}}`, false, true},
		"of another group":        {"true", `{metadata: {annotations: {alb.ingress.kubernetes.io/group.name: other}}, spec: {ingressClassName: alb}}`, true, false},
		"that is not kept":        {"", `{metadata: {annotations: {alb.ingress.kubernetes.io/group.name: team}}, spec: {ingressClassName: alb}}`, true, false},
		"that is kept otherwise":  {"false", `{metadata: {annotations: {alb.ingress.kubernetes.io/group.name: team}}, spec: {ingressClassName: alb}}`, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			objects := Objects{
				Classes: fixture.Parse[networkingv1.IngressClass](t, testClasses), Params: fixture.Parse[v1beta1.IngressClassParams](t, testParams),
				Namespaces: map[string]map[string]string{"a": {"team": "a"}}, Class: "alb", Ingresses: fixture.Parse[networkingv1.Ingress](t, tc.ingress),
			}
			objects.Params[0].Annotations = map[string]string{ExclusiveAnnotation: tc.annotation}
			got := Classify(objects)[0]
			if got.Ours != tc.ours || got.Excluded != tc.excluded || got.Excluded != (got.Fault != nil) {
				t.Errorf("ours %v, excluded %v, fault %v", got.Ours, got.Excluded, got.Fault)
			}
			objects.Ingresses[0].Finalizers = []string{"group.ingress.k8s.aws/team"}
			members := Groups(Classify(objects))[stack.Group{Name: "team"}]
			if tc.excluded && (len(members.Active) != 1 || members.Active[0].Fault == nil) {
				t.Errorf("members %+v, want the one that was there held", members)
			}
		})
	}
}
