// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/targetgate/targetgate/balancers/ingress/membership"
	"github.com/targetgate/targetgate/balancers/lookup"
	"github.com/targetgate/targetgate/balancers/stack"
)

func byName(services ...*corev1.Service) map[types.NamespacedName]*corev1.Service {
	out := map[types.NamespacedName]*corev1.Service{}
	for _, service := range services {
		out[types.NamespacedName{Namespace: service.Namespace, Name: service.Name}] = service
	}
	return out
}

// membersOf are the members of the only group of these Ingresses, which say their group or class themselves.
func membersOf(t testing.TB, objects membership.Objects, ingresses []*networkingv1.Ingress) (stack.Group, []membership.Member) {
	t.Helper()
	objects.Ingresses = ingresses
	groups := membership.Groups(membership.Classify(objects))
	if len(groups) != 1 {
		t.Fatalf("%d groups, want 1", len(groups))
	}
	for group, members := range groups {
		return group, members.Active
	}
	return stack.Group{}, nil
}

// vpcSubnets are two public and two private subnets in two zones, with role tags.
func vpcSubnets() []lookup.Subnet {
	const zone = "availability-zone"
	public, private := map[string]string{"kubernetes.io/role/elb": "1"}, map[string]string{"kubernetes.io/role/internal-elb": ""}
	return []lookup.Subnet{
		{ID: "subnet-a1", Zone: "eu-west-1a", Locale: zone, Free: 100, Public: true, Tags: public},
		{ID: "subnet-b1", Zone: "eu-west-1b", Locale: zone, Free: 100, Public: true, Tags: public},
		{ID: "subnet-a2", Zone: "eu-west-1a", Locale: zone, Free: 100, Tags: private},
		{ID: "subnet-b2", Zone: "eu-west-1b", Locale: zone, Free: 100, Tags: private},
	}
}

func certARN(name string) string { return "arn:aws:acm:eu-west-1:1:certificate/" + name }

func aclARN(name string) string { return "arn:aws:wafv2:eu-west-1:1:regional/webacl/" + name + "/1" }
