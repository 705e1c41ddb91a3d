// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/ingress/input"
	"github.com/targetgate/targetgate/balancers/stack"
)

func TestAccess(t *testing.T) {
	managed, shared := stack.Ref{Part: "ManagedLBSecurityGroup"}, stack.Ref{Part: "backend-sg"}
	for name, tc := range map[string]struct {
		annotations map[string]string
		options     func(*input.Options)
		groups      []stack.Ref
		made        []string
		peer        stack.Ref
	}{
		"none given": {groups: []stack.Ref{managed, shared}, made: []string{"k8s-edge-054a6b99ef", "k8s-traffic-prod1-6d7d57e991"}, peer: shared},
		"none given, without the shared one": {
			options: func(o *input.Options) { o.BackendSecurityGroups = false },
			groups:  []stack.Ref{managed}, made: []string{"k8s-edge-054a6b99ef"}, peer: managed,
		},
		"none given, a shared one that others have made": {
			options: func(o *input.Options) { o.BackendSecurityGroup = "sg-shared" },
			groups:  []stack.Ref{managed, {ID: "sg-shared"}}, made: []string{"k8s-edge-054a6b99ef"}, peer: stack.Ref{ID: "sg-shared"},
		},
		"IDs before names": {
			annotations: map[string]string{"security-groups": "blue, sg-2, green, sg-1"},
			groups:      []stack.Ref{{ID: "sg-2"}, {ID: "sg-1"}, {ID: "sg-blue"}, {ID: "sg-green"}},
		},
		"all of a name": {
			annotations: map[string]string{"security-groups": "twice, blue"},
			groups:      []stack.Ref{{ID: "sg-1"}, {ID: "sg-2"}, {ID: "sg-blue"}},
		},
		"each once": {
			annotations: map[string]string{"security-groups": "twice, sg-2, blue, sg-2, blue"},
			groups:      []stack.Ref{{ID: "sg-2"}, {ID: "sg-1"}, {ID: "sg-blue"}},
		},
		"given ones with rules": {
			annotations: map[string]string{"security-groups": "sg-1", "manage-backend-security-group-rules": "true"},
			groups:      []stack.Ref{{ID: "sg-1"}, shared}, made: []string{"k8s-traffic-prod1-6d7d57e991"}, peer: shared,
		},
		"given ones with rules by a flag": {
			annotations: map[string]string{"security-groups": "sg-1"}, options: func(o *input.Options) { o.ManageBackendRules = true },
			groups: []stack.Ref{{ID: "sg-1"}, shared}, made: []string{"k8s-traffic-prod1-6d7d57e991"}, peer: shared,
		},
		"given ones without rules in spite of the flag": {
			annotations: map[string]string{"security-groups": "sg-1", "manage-backend-security-group-rules": "false"},
			options:     func(o *input.Options) { o.ManageBackendRules = true }, groups: []stack.Ref{{ID: "sg-1"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := three(t)
			in.AWS.SecurityGroups = map[string][]string{"blue": {"sg-blue"}, "green": {"sg-green"}, "twice": {"sg-2", "sg-1"}}
			for key, value := range tc.annotations {
				annotate(&in, 0, annotation.Prefix+key, value)
			}
			if tc.options != nil {
				tc.options(&in.Options)
			}
			got, faults := Build(in)
			var made []string
			for _, group := range got.SecurityGroups {
				made = append(made, group.Name)
			}
			if diff := cmp.Diff(tc.groups, got.LoadBalancers[0].SecurityGroups) + cmp.Diff(tc.made, made); diff != "" || len(faults) > 0 {
				t.Errorf("faults %v, groups and what is made (-want +got):\n%s", faults, diff)
			}
			for _, binding := range got.Bindings {
				if binding.Spec.Peer != tc.peer || (binding.Spec.Networking != nil) != (tc.peer != stack.Ref{}) {
					t.Errorf("binding %s: peer %+v, ports %v; want %+v", binding.Name, binding.Spec.Peer, binding.Spec.Networking, tc.peer)
				}
			}
		})
	}
}

func TestInbound(t *testing.T) {
	for name, tc := range map[string]struct {
		annotations map[string]string
		want        []string
	}{
		"all":                  {want: []string{"80 0.0.0.0/0", "443 0.0.0.0/0"}},
		"all of both families": {annotations: map[string]string{"ip-address-type": "dualstack"}, want: []string{"80 0.0.0.0/0", "80 ::/0", "443 0.0.0.0/0", "443 ::/0"}},
		"addresses, as AWS spells them": {
			annotations: map[string]string{"inbound-cidrs": "10.1.2.3/8, 2001:DB8::1/32, 10.0.0.0/8"},
			want:        []string{"80 10.0.0.0/8", "443 10.0.0.0/8"},
		},
		"addresses of both families": {
			annotations: map[string]string{"inbound-cidrs": "10.0.0.0/8,2001:DB8::1/32", "ip-address-type": "dualstack"},
			want:        []string{"80 10.0.0.0/8", "80 2001:db8::/32", "443 10.0.0.0/8", "443 2001:db8::/32"},
		},
		"prefix lists alone":         {annotations: map[string]string{"security-group-prefix-lists": "pl-1,pl-2"}, want: []string{"80 pl-1", "80 pl-2", "443 pl-1", "443 pl-2"}},
		"addresses and prefix lists": {annotations: map[string]string{"security-group-prefix-lists": "pl-1", "inbound-cidrs": "10.0.0.0/8"}, want: []string{"80 10.0.0.0/8", "80 pl-1", "443 10.0.0.0/8", "443 pl-1"}},
		"another port": {
			annotations: map[string]string{"listen-ports": `[{"HTTP":80},{"HTTP":8080}]`, "inbound-cidrs": "10.0.0.0/8"},
			want:        []string{"80 10.0.0.0/8", "443 0.0.0.0/0", "8080 10.0.0.0/8"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := three(t)
			for i := range in.AWS.Subnets {
				in.AWS.Subnets[i].IPv6 = true
			}
			for key, value := range tc.annotations {
				annotate(&in, 0, annotation.Prefix+key, value)
			}
			got, faults := Build(in)
			var lines []string
			for _, rule := range got.SecurityGroups[0].Inbound {
				if rule.Protocol != "tcp" || rule.From != rule.To {
					t.Errorf("rule %+v", rule)
				}
				lines = append(lines, fmt.Sprintf("%d %s", rule.From, rule.Source))
			}
			if diff := cmp.Diff(tc.want, lines, cmpopts.EquateEmpty()); diff != "" || len(faults) > 0 {
				t.Errorf("faults %v, rules (-want +got):\n%s", faults, diff)
			}
		})
	}
}

// Members that name the same security groups in another order agree: the order is the first member's.
func TestOrderOfSecurityGroups(t *testing.T) {
	in := three(t)
	annotate(&in, 0, annotation.Prefix+"security-groups", "sg-2,sg-1")
	annotate(&in, 1, annotation.Prefix+"security-groups", "sg-1,sg-2")
	got, faults := Build(in)
	if diff := cmp.Diff([]stack.Ref{{ID: "sg-2"}, {ID: "sg-1"}}, got.LoadBalancers[0].SecurityGroups); diff != "" || len(faults) > 0 {
		t.Errorf("faults %v, security groups (-want +got):\n%s", faults, diff)
	}
}
