// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package input

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/targetgate/targetgate/balancers/ingress/membership"
	"github.com/targetgate/targetgate/balancers/parts"
	"github.com/targetgate/targetgate/balancers/stack"
)

// Names that aws-load-balancer-controller v3.5.0 gives. A resource that we make has to be found by it, and the other way round.
func TestNamesAreTheIncumbents(t *testing.T) {
	checkout, edge := stack.Group{Namespace: "shop", Name: "checkout-web"}, stack.Group{Name: "team.public-edge"}
	api := TargetGroup{
		Ingress:    types.NamespacedName{Namespace: "shop", Name: "checkout-web"},
		Service:    types.NamespacedName{Namespace: "shop", Name: "checkout-api"},
		ServiceUID: "11111111-2222-3333-4444-555555555555", ServicePort: intstr.FromInt32(80),
		Port: 8080, TargetType: "ip", Protocol: "HTTP", ProtocolVersion: "HTTP1",
	}
	nodes := api
	nodes.ServicePort, nodes.Port, nodes.TargetType = intstr.FromString("http"), 31080, "instance"
	upstream := TargetGroup{
		Ingress:    types.NamespacedName{Namespace: "ns-1", Name: "name-1"},
		Service:    types.NamespacedName{Namespace: "ns-1", Name: "name-1"},
		ServiceUID: "my-uuid", ServicePort: intstr.FromString("http"),
		Port: 8080, TargetType: "ip", Protocol: "HTTP", ProtocolVersion: "HTTP1",
	}
	controlled := upstream
	controlled.ControlPort = 80

	for want, got := range map[string]string{
		"k8s-awesomen-ing1-43b698093c":           LoadBalancerName("", stack.Group{Namespace: "awesome-ns", Name: "ing-1"}, "internet-facing"),
		"k8s-explicitgroup-5bf9e53c23":           LoadBalancerName("", stack.Group{Name: "explicit-group"}, "internal"),
		"k8s-shop-checkout-a9c512984d":           LoadBalancerName("prod-1", checkout, "internet-facing"),
		"k8s-shop-checkout-d746830bd3":           LoadBalancerName("prod-1", checkout, "internal"),
		"k8s-teampublicedge-51ab79f31c":          LoadBalancerName("prod-1", edge, "internet-facing"),
		"k8s-shop-checkout-fdc98f7815":           parts.SecurityGroupName("prod-1", checkout),
		"k8s-teampublicedge-ebc6aed305":          parts.SecurityGroupName("prod-1", edge),
		"k8s-traffic-testCluster-411a1bcdb1":     stack.BackendSecurityGroupName("testCluster"),
		"k8s-traffic-prod1-6d7d57e991":           stack.BackendSecurityGroupName("prod-1"),
		"k8s-ns1-name1-2c37289a00":               upstream.NameIn("", stack.Group{}),
		"k8s-ns1-name1-7ed91338c9":               controlled.NameIn("", stack.Group{}),
		"k8s-shop-checkout-1356adbdcd":           api.NameIn("prod-1", checkout),
		"k8s-shop-checkout-3c46868efb":           nodes.NameIn("prod-1", edge),
		"shop/checkout-web-checkout-api:80":      api.ResourceTag(),
		"shop/checkout-web-checkout-api:http":    nodes.ResourceTag(),
		"group.ingress.k8s.aws/team.public-edge": membership.FinalizerOf(edge),
		"ingress.k8s.aws/resources":              membership.FinalizerOf(checkout),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func FuzzNamesFit(f *testing.F) {
	f.Add("prod-1", "shop", "checkout-web", "a-very-long-service-name")
	f.Add("", "", "ünïcode.group", "")
	f.Fuzz(func(t *testing.T, cluster, namespace, name, service string) {
		group := stack.Group{Namespace: namespace, Name: name}
		target := TargetGroup{Service: types.NamespacedName{Namespace: namespace, Name: service}}
		for _, got := range []string{LoadBalancerName(cluster, group, "internal"), parts.SecurityGroupName(cluster, group), target.NameIn(cluster, group)} {
			if len(got) > 32 {
				t.Errorf("%q is too long for AWS", got)
			}
		}
		if got := stack.BackendSecurityGroupName(cluster); len(got) > 255 {
			t.Errorf("%q is too long for EC2", got)
		}
	})
}
