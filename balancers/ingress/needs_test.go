// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/types"

	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/ingress/input"
	"github.com/targetgate/targetgate/balancers/lookup"
	"github.com/targetgate/targetgate/balancers/stack"
)

func TestNeeds(t *testing.T) {
	named := func(names ...string) []types.NamespacedName {
		var out []types.NamespacedName
		for _, name := range names {
			out = append(out, types.NamespacedName{Namespace: "shop", Name: name})
		}
		return out
	}
	hosts := []string{"a.example.com", "b.example.com", "c.example.com"}
	seen := stack.Stack{LoadBalancers: []stack.LoadBalancer{{Scheme: "internal"}}}
	for name, tc := range map[string]struct {
		annotations map[string]string
		seen        stack.Stack
		want        input.Needs
	}{
		"nothing is seen yet":     {want: input.Needs{Services: named("a", "b", "c"), Needs: lookup.Needs{Hosts: hosts, Subnets: true}}},
		"a load balancer is seen": {seen: seen, want: input.Needs{Services: named("a", "b", "c"), Needs: lookup.Needs{Hosts: hosts}}},
		"of another scheme": {
			seen: seen, annotations: map[string]string{"scheme": "internet-facing"},
			want: input.Needs{Services: named("a", "b", "c"), Needs: lookup.Needs{Hosts: hosts, Subnets: true}},
		},
		"of another address type": {
			seen: seen, annotations: map[string]string{"ip-address-type": "dualstack"},
			want: input.Needs{Services: named("a", "b", "c"), Needs: lookup.Needs{Hosts: hosts, Subnets: true}},
		},
		"names": {
			seen: seen, annotations: map[string]string{
				"security-groups": "sg-1,blue", "subnets": "blue", "certificate-arn": certARN("a"),
				"actions.act": `{"type":"forward","forwardConfig":{"targetGroups":[
					{"serviceName":"x","servicePort":80,"weight":1},{"targetGroupName":"y","weight":1},{"targetGroupARN":"z","weight":1}]}}`,
			},
			want: input.Needs{
				Services: named("a", "b", "c", "x"), Needs: lookup.Needs{
					SecurityGroups: []string{"blue"}, TargetGroups: []string{"y"},
					Hosts: []string{"b.example.com", "c.example.com"}, Subnets: true,
				},
			},
		},
		"no HTTPS": {
			seen: seen, annotations: map[string]string{"listen-ports": `[{"HTTP":80}]`},
			want: input.Needs{Services: named("a", "b", "c"), Needs: lookup.Needs{Hosts: []string{"b.example.com", "c.example.com"}}},
		},
		"what cannot be read": {
			seen: seen, annotations: map[string]string{"listen-ports": `x`, "actions.act": "{", "scheme": "public"},
			want: input.Needs{Services: named("a", "b", "c"), Needs: lookup.Needs{Hosts: []string{"b.example.com", "c.example.com"}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := three(t)
			in.Seen = tc.seen
			for key, value := range tc.annotations {
				annotate(&in, 0, annotation.Prefix+key, value)
			}
			if diff := cmp.Diff(tc.want, input.NeedsOf(in), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("needs (-want +got):\n%s", diff)
			}
		})
	}
}
