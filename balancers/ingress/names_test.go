// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"fmt"
	"strings"
	"testing"

	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/ingress/input"
	"github.com/targetgate/targetgate/balancers/parts"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/v1beta1"
)

// Whoever gives a load balancer a name, by an annotation or by params, before it is made or by two steps, does not give it the name of
// another group's.
func TestNobodyTakesTheNameOfAnotherGroup(t *testing.T) {
	own := three(t)
	cluster, group := own.Options.Cluster, own.Group
	other := input.LoadBalancerName(cluster, stack.Group{Namespace: "bank", Name: "web"}, annotation.Internal)
	for name, tc := range map[string]struct {
		name, seen string // seen is the name of the load balancer that is there, "" for none
		held       bool
		want       string // the name of one that is made
	}{
		"a free name": {name: "shop", want: "shop"},
		"its own":     {name: input.LoadBalancerName(cluster, group, annotation.Internal), want: input.LoadBalancerName(cluster, group, annotation.Internal)},
		"its own, of another scheme": {
			name: input.LoadBalancerName(cluster, group, annotation.InternetFacing), want: input.LoadBalancerName(cluster, group, annotation.InternetFacing),
		},
		"another group's":           {name: other, held: true},
		"in capitals":               {name: strings.ToUpper(other), held: true},
		"the security group's":      {name: parts.SecurityGroupName(cluster, group), held: true},
		"the beginning alone":       {name: "k8s-x", held: true},
		"one that begins alike":     {name: "k8sx", want: "k8sx"},
		"another group's, later":    {name: other, seen: "shop", want: input.LoadBalancerName(cluster, group, annotation.Internal)},
		"what it has already":       {name: "k8s-mine", seen: "k8s-mine", want: "k8s-mine"},
		"what it has, but the case": {name: "k8s-Mine", seen: "k8s-mine", want: input.LoadBalancerName(cluster, group, annotation.Internal)},
	} {
		for _, byParams := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, by params %v", name, byParams), func(t *testing.T) {
				in := three(t)
				for i := range in.Members {
					if byParams {
						in.Members[i].Params = &v1beta1.IngressClassParams{Spec: v1beta1.IngressClassParamsSpec{LoadBalancerName: tc.name}}
					} else {
						annotate(&in, i, annotation.LoadBalancerNameKey.FullName(), tc.name)
					}
				}
				if tc.seen != "" {
					in.Seen.LoadBalancers = []stack.LoadBalancer{{ARN: "arn", Name: tc.seen, Scheme: annotation.Internal, AddressType: "ipv4"}}
				}
				got, faults := Build(in)
				var told int
				for _, fault := range faults {
					if strings.Contains(fault.Reason, "must not begin with k8s-") && fault.IsWarning() != tc.held && fault.Value == tc.name {
						told++
					}
				}
				switch {
				case tc.held && (len(got.LoadBalancers) > 0 || told != len(in.Members)):
					t.Errorf("load balancers %v, faults %v, want all held", got.LoadBalancers, faults)
				case !tc.held && (len(got.LoadBalancers) != 1 || got.LoadBalancers[0].Name != tc.want):
					t.Errorf("load balancers %v, faults %v, want the name %s", got.LoadBalancers, faults, tc.want)
				case !tc.held && tc.want != tc.name && told != len(in.Members):
					t.Errorf("faults %v, want all told", faults)
				}
			})
		}
	}
}
