// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package balancers

import (
	"slices"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/targetgate/targetgate/balancers/ingress/membership"
	"github.com/targetgate/targetgate/balancers/stack"
)

// Admission may be down, or be passed in several steps: a new member that a switch forbids is no part of the group, whatever finalizers
// somebody gave it. It is told why. Who was served before goes on.
func TestASwitchHoldsInEachPass(t *testing.T) {
	group := membership.Switches{ForbidGroupName: true}
	class := membership.Switches{ForbidClassAnnotation: true}
	own := stack.Group{Namespace: "shop", Name: "a"}
	const host = "k8s-edge.elb.amazonaws.com"
	for name, tc := range map[string]struct {
		switches membership.Switches
		ingress  *networkingv1.Ingress
		part     string // of a target group that is there
		in       bool
	}{
		"new in the group":                      {switches: group, ingress: ingressOf("a", edge)},
		"with a finalizer that it was given":    {switches: group, ingress: served(ingressOf("a", edge), "", edge)},
		"served elsewhere":                      {switches: group, ingress: served(ingressOf("a", edge), "k8s-a.elb.amazonaws.com", own, edge)},
		"served here before":                    {switches: group, ingress: served(ingressOf("a", edge), host, edge), in: true},
		"with a target group here":              {switches: group, ingress: served(ingressOf("a", edge), "", edge), part: "shop/a-web:80", in: true},
		"new by the class annotation":           {switches: class, ingress: ingressOf("a", edge)},
		"by it, with a finalizer":               {switches: class, ingress: served(ingressOf("a", edge), "", edge)},
		"by it, served before":                  {switches: class, ingress: served(ingressOf("a", edge), host, edge), in: true},
		"by it, and moves from another group":   {switches: class, ingress: served(ingressOf("a", edge), "k8s-a.elb.amazonaws.com", own), in: true},
		"new in the group, and nothing forbids": {ingress: ingressOf("a", edge), in: true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, webService(), tc.ingress, served(ingressOf("b", edge), host, edge))
			b.see(edge, balancer("edge", true, 80))
			b.see(own, balancer("a", true, 80))
			if tc.part != "" {
				b.seeGroup(edge, tc.part)
			}
			b.front.Switches = tc.switches
			for _, request := range b.front.RequestsFor(t.Context(), tc.ingress) {
				b.mustPass(stack.Group(request.NamespacedName))
			}
			b.mustPass(edge)
			var members []string
			for _, m := range b.wanted.Members {
				members = append(members, m.Name)
			}
			told := slices.ContainsFunc(b.events, func(e string) bool {
				return strings.HasPrefix(e, "a ") && strings.Contains(e, "forbidden by --disable")
			})
			if slices.Contains(members, "shop/a") != tc.in || told == tc.in || !slices.Contains(members, "shop/b") {
				t.Errorf("members %q, want shop/b, and shop/a to be one: %t; events %q", members, tc.in, b.events)
			}
		})
	}
}
