// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/ingress/input"
	"github.com/targetgate/targetgate/balancers/ingress/membership"
	"github.com/targetgate/targetgate/balancers/stack"
)

// What AWS alone knows is taken for granted, and so are Services that may come.
func TestCheckAlone(t *testing.T) {
	plain := func(annotations map[string]string) *networkingv1.Ingress {
		out := &networkingv1.Ingress{}
		out.Namespace, out.Name, out.Annotations = "shop", "web", annotations
		out.Spec.Rules = []networkingv1.IngressRule{{Host: "a.example.com", IngressRuleValue: networkingv1.IngressRuleValue{
			HTTP: &networkingv1.HTTPIngressRuleValue{Paths: []networkingv1.HTTPIngressPath{{
				Path: "/", PathType: new(networkingv1.PathTypePrefix),
				Backend: networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{
					Name: "web", Port: networkingv1.ServiceBackendPort{Number: 80},
				}},
			}}},
		}}}
		return out
	}
	for name, tc := range map[string]struct {
		annotations map[string]string
		want        string // of the only fault, "" for none
	}{
		"nothing":                    {},
		"names that AWS knows":       {annotations: map[string]string{"security-groups": "web", "subnets": "one,two"}},
		"hosts without certificates": {annotations: map[string]string{"listen-ports": `[{"HTTPS": 443}]`}},
		"a wrong value":              {annotations: map[string]string{"scheme": "public"}, want: "scheme"},
		"an unknown annotation":      {annotations: map[string]string{"sceme": "internal"}, want: "sceme"},
		"rules for groups of others": {annotations: map[string]string{"manage-backend-security-group-rules": "true"}},
		"what is not supported":      {annotations: map[string]string{"auth-type": "oidc"}, want: "auth-type"},
	} {
		t.Run(name, func(t *testing.T) {
			annotations := map[string]string{}
			for key, value := range tc.annotations {
				annotations[annotation.Prefix+key] = value
			}
			faults := CheckAlone(stack.Group{Name: "edge"}, membership.Member{Ingress: plain(annotations)}, nil, input.DefaultOptions("prod", "vpc-1"))
			if tc.want == "" && len(faults) > 0 || tc.want != "" && (len(faults) != 1 || !strings.Contains(faults[0].Error(), tc.want)) {
				t.Errorf("faults %v, want one of %q", faults, tc.want)
			}
		})
	}
}

// Names of Ingresses may have 253 characters, labels of bindings 63 and tags of target groups 256.
func TestLongNames(t *testing.T) {
	for name, tc := range map[string]struct {
		group stack.Group
		name  string
		want  string // of the only fault, "" for none
	}{
		"a label's longest":    {group: stack.Group{Namespace: "shop", Name: strings.Repeat("a", 63)}, name: strings.Repeat("a", 63)},
		"longer than a label":  {group: stack.Group{Namespace: "shop", Name: strings.Repeat("a", 64)}, name: strings.Repeat("a", 64), want: "has 64 characters, and an Ingress without a group may have 63"},
		"a tag's longest":      {group: stack.Group{Name: "edge"}, name: strings.Repeat("a", 256-len("shop/-a:80"))},
		"longer than a tag":    {group: stack.Group{Name: "edge"}, name: strings.Repeat("a", 257-len("shop/-a:80")), want: "would have 257 characters, and AWS allows 256"},
		"a member with a name": {group: stack.Group{Name: "edge"}, name: strings.Repeat("a", 64)},
	} {
		t.Run(name, func(t *testing.T) {
			in := three(t)
			member := in.Members[0]
			member.Ingress.Name = tc.name
			delete(member.Ingress.Annotations, annotation.ListenPorts.FullName())
			faults := CheckAlone(tc.group, member, in.Services, in.Options)
			if tc.want == "" && len(faults) > 0 || tc.want != "" && (len(faults) != 1 || !strings.Contains(faults[0].Error(), tc.want)) {
				t.Errorf("faults %v, want one of %q", faults, tc.want)
			}
		})
	}
}
