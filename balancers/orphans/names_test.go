// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package orphans

import (
	"strings"
	"testing"

	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/ingress/input"
	"github.com/targetgate/targetgate/balancers/parts"
	"github.com/targetgate/targetgate/balancers/stack"
)

// Whatever name a load balancer has got from a controller, nothing more than the name and the group is needed to find that out.
func TestTheNamesOfAGroupAreKnown(t *testing.T) {
	for _, group := range []stack.Group{
		{Name: "edge"}, {Name: strings.Repeat("long", 9)}, {Namespace: "shop", Name: "web"}, {Namespace: "a-b-c-d-e-f-g-h-i", Name: "x"},
	} {
		var names []string
		for _, scheme := range []string{annotation.Internal, annotation.InternetFacing} {
			for _, cluster := range []string{"prod", "staging"} {
				names = append(names, input.LoadBalancerName(cluster, group, scheme), input.SpareLoadBalancerName(cluster, group, scheme),
					parts.FreeLoadBalancerName(cluster, group, scheme, "1"), parts.FreeLoadBalancerName(cluster, group, scheme, "2"))
			}
		}
		for _, name := range names {
			for _, front := range []bool{false, true} {
				if front {
					name = stack.FrontName(name)
				}
				if !IsNamed(group, &stack.LoadBalancer{Name: name, Network: front}) {
					t.Errorf("group %s: %s (in front: %v) is not known", group, name, front)
				}
				for _, other := range []string{
					"", "x", "K" + name[1:], name[1:], name + "0", name[:len(name)-1], strings.Replace(name, "k8s-", "k8s-x", 1), name[:len(name)-1] + "x",
				} {
					if IsNamed(group, &stack.LoadBalancer{Name: other, Network: front}) {
						t.Errorf("group %s: %s (in front: %v) is known", group, other, front)
					}
				}
				if IsNamed(group, &stack.LoadBalancer{Name: name, Network: !front}) {
					t.Errorf("group %s: %s is known as if it was in front: %v", group, name, !front)
				}
			}
		}
	}
}
