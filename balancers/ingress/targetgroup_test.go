// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/ingress/input"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/v1beta1"
)

// The first member of three has its target group and binding as they are without annotations, apart from what changes.
func TestTargetGroup(t *testing.T) {
	nodePorts := func(in *input.Input) {
		serviceOf(in.Services, "a").Spec.Ports = []corev1.ServicePort{
			{Name: "http", Port: 80, TargetPort: intstr.FromString("web"), NodePort: 30080},
			{Name: "admin", Port: 9000, TargetPort: intstr.FromInt32(9001), NodePort: 30090},
		}
	}
	for name, tc := range map[string]struct {
		ingress, service map[string]string
		params           v1beta1.IngressClassParamsSpec
		do               func(*input.Input)
		want             func(*stack.TargetGroup, *stack.BindingSpec)
	}{
		"as it is without annotations": {want: func(*stack.TargetGroup, *stack.BindingSpec) {}},
		"a number that is there for UDP, too": {
			do: func(in *input.Input) {
				ports := &serviceOf(in.Services, "a").Spec.Ports
				*ports = append([]corev1.ServicePort{{Name: "h3", Port: 80, Protocol: corev1.ProtocolUDP, TargetPort: intstr.FromInt32(8443)}}, *ports...)
			},
			want: func(*stack.TargetGroup, *stack.BindingSpec) {},
		},
		"the Service counts before the Ingress": {
			ingress: map[string]string{"healthcheck-path": "/ingress", "success-codes": "200-299", "target-group-attributes": "a=1,b=2"},
			service: map[string]string{"healthcheck-path": "/service", "target-group-attributes": "a=3"},
			want: func(g *stack.TargetGroup, _ *stack.BindingSpec) {
				g.HealthCheck.Path, g.HealthCheck.Matcher, g.Attributes = "/service", "200-299", map[string]string{"a": "3"}
			},
		},
		"all of a health check": {
			service: map[string]string{
				"healthcheck-port": "9000", "healthcheck-protocol": "HTTPS", "healthcheck-interval-seconds": "30", "healthcheck-timeout-seconds": "6",
				"healthy-threshold-count": "3", "unhealthy-threshold-count": "4",
			},
			want: func(g *stack.TargetGroup, b *stack.BindingSpec) {
				g.HealthCheck = stack.HealthCheck{Port: "9000", Protocol: "HTTPS", Path: "/", Interval: 30, Timeout: 6, Healthy: 3, Unhealthy: 4, Matcher: "200"}
				b.Networking = append(b.Networking, intstr.FromInt32(9000))
			},
		},
		"health checks by the protocol of targets": {
			service: map[string]string{"backend-protocol": "HTTPS"},
			want: func(g *stack.TargetGroup, b *stack.BindingSpec) {
				g.Protocol, g.HealthCheck.Protocol, b.Protocol = "HTTPS", "HTTPS", "HTTPS"
			},
		},
		"gRPC": {
			ingress: map[string]string{"listen-ports": `[{"HTTPS":443}]`}, service: map[string]string{"backend-protocol-version": "GRPC"},
			want: func(g *stack.TargetGroup, _ *stack.BindingSpec) {
				g.ProtocolVersion, g.HealthCheck.Path, g.HealthCheck.Matcher = "GRPC", "/AWS.ALB/healthcheck", "12"
			},
		},
		"gRPC with a path of its own": {
			ingress: map[string]string{"listen-ports": `[{"HTTPS":443}]`}, service: map[string]string{"backend-protocol-version": "GRPC", "healthcheck-path": "/x", "success-codes": "0"},
			want: func(g *stack.TargetGroup, _ *stack.BindingSpec) {
				g.ProtocolVersion, g.HealthCheck.Path, g.HealthCheck.Matcher = "GRPC", "/x", "0"
			},
		},
		"nodes": {
			ingress: map[string]string{"target-type": "instance", "healthcheck-port": "admin", "target-node-labels": "role=web"}, do: nodePorts,
			want: func(g *stack.TargetGroup, b *stack.BindingSpec) {
				g.TargetType, g.Port, g.HealthCheck.Port = "instance", 30080, "30090"
				b.TargetType, b.NodeSelector = "instance", map[string]string{"role": "web"}
				b.Networking = []intstr.IntOrString{intstr.FromInt32(30080), intstr.FromInt32(30090)}
			},
		},
		"params count before the Service": {
			service: map[string]string{"target-type": "ip"}, params: v1beta1.IngressClassParamsSpec{TargetType: "instance"}, do: nodePorts,
			want: func(g *stack.TargetGroup, b *stack.BindingSpec) {
				g.TargetType, g.Port, b.TargetType = "instance", 30080, "instance"
				b.Networking = []intstr.IntOrString{intstr.FromInt32(30080)}
			},
		},
		"pods whose port has a name": {
			ingress: map[string]string{"healthcheck-port": "admin", "target-node-labels": "role=web"}, do: nodePorts,
			want: func(g *stack.TargetGroup, b *stack.BindingSpec) {
				g.Port, g.HealthCheck.Port = 1, "9001"
				b.Networking = []intstr.IntOrString{intstr.FromString("web"), intstr.FromInt32(9001)}
			},
		},
		"a control port": {
			ingress: map[string]string{"target-control-port.a.80": "3000", "healthcheck-port": "9000"},
			want: func(g *stack.TargetGroup, b *stack.BindingSpec) {
				g.ControlPort, g.HealthCheck.Port = 3000, "9000"
				b.Networking = append(b.Networking, intstr.FromInt32(9000), intstr.FromInt32(3000))
			},
		},
		"a control port, as the Service says": {
			ingress: map[string]string{"target-control-port.a.80": "3000"}, service: map[string]string{"target-control-port.a.80": "4000"},
			want: func(g *stack.TargetGroup, b *stack.BindingSpec) {
				g.ControlPort, b.Networking = 4000, append(b.Networking, intstr.FromInt32(4000))
			},
		},
		"a control port of the port's name, which the Ingress does not have": {
			ingress: map[string]string{"target-control-port.a.http": "3000"}, want: func(*stack.TargetGroup, *stack.BindingSpec) {},
		},
		"a control port of the port's name, as the Ingress has it": {
			ingress: map[string]string{"target-control-port.a.http": "3000", "target-control-port.a.80": "4000"},
			do: func(in *input.Input) {
				backend := in.Members[0].Ingress.Spec.Rules[0].HTTP.Paths[0].Backend.Service
				backend.Port.Name, backend.Port.Number = "http", 0
			},
			want: func(g *stack.TargetGroup, b *stack.BindingSpec) {
				g.Part, g.Tags = "shop/a-a:http", stack.Tags("prod-1", stack.Ingresses, "edge", "shop/a-a:http")
				g.ControlPort, b.Port, b.Networking = 3000, intstr.FromString("http"), append(b.Networking, intstr.FromInt32(3000))
			},
		},
		"a control port of another Service": {
			ingress: map[string]string{"target-control-port.b.80": "3000"}, want: func(*stack.TargetGroup, *stack.BindingSpec) {},
		},
		"rules for all ports": {
			do: func(in *input.Input) { in.Options.UnrestrictedRules = true },
			want: func(_ *stack.TargetGroup, b *stack.BindingSpec) {
				b.Networking = []intstr.IntOrString{intstr.FromInt32(0)}
			},
		},
		"several clusters, as the Ingress says": {
			ingress: map[string]string{"multi-cluster-target-group": "true"}, service: map[string]string{"multi-cluster-target-group": "false"},
			want: func(_ *stack.TargetGroup, b *stack.BindingSpec) { b.MultiCluster = true },
		},
		"several clusters, as the Service says": {
			ingress: map[string]string{"multi-cluster-target-group": "false"}, service: map[string]string{"multi-cluster-target-group": "true"},
			want: func(_ *stack.TargetGroup, b *stack.BindingSpec) { b.MultiCluster = true },
		},
		"IPv6": {
			ingress: map[string]string{"ip-address-type": "dualstack"},
			do: func(in *input.Input) {
				for i := range in.AWS.Subnets {
					in.AWS.Subnets[i].IPv6 = true
				}
				serviceOf(in.Services, "a").Spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol}
			},
			want: func(g *stack.TargetGroup, b *stack.BindingSpec) { g.AddressType, b.AddressType = "ipv6", "ipv6" },
		},
		"tags: the flag, then params, the Service and the Ingress": {
			ingress: map[string]string{"tags": "i=ingress,s=ingress,p=ingress,d=ingress"}, service: map[string]string{"tags": "s=service,p=service,d=service"},
			params: v1beta1.IngressClassParamsSpec{Tags: []v1beta1.Tag{{Key: "p", Value: "params"}, {Key: "d", Value: "params"}}},
			do: func(in *input.Input) {
				in.Options.DefaultTags = map[string]string{"d": "default", "ingress.k8s.aws/stack": "x"}
			},
			want: func(g *stack.TargetGroup, _ *stack.BindingSpec) {
				g.Tags["i"], g.Tags["s"], g.Tags["p"], g.Tags["d"] = "ingress", "service", "params", "default"
			},
		},
		"tags: the flag last": {
			ingress: map[string]string{"tags": "a=ingress"},
			do: func(in *input.Input) {
				in.Options.DefaultTags, in.Options.DefaultTagsLast = map[string]string{"a": "default", "b": "default"}, true
			},
			want: func(g *stack.TargetGroup, _ *stack.BindingSpec) { g.Tags["a"], g.Tags["b"] = "ingress", "default" },
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := three(t)
			in.Members = in.Members[:1]
			in.Members[0].Params = &v1beta1.IngressClassParams{Spec: tc.params}
			for key, value := range tc.ingress {
				annotate(&in, 0, annotation.Prefix+key, value)
			}
			serviceOf(in.Services, "a").Annotations = map[string]string{}
			for key, value := range tc.service {
				serviceOf(in.Services, "a").Annotations[annotation.Prefix+key] = value
			}
			if tc.do != nil {
				tc.do(&in)
			}
			group := stack.TargetGroup{
				Part: "shop/a-a:80", Owner: "shop/a", TargetType: "ip", Protocol: "HTTP", ProtocolVersion: "HTTP1", Port: 8080, AddressType: "ipv4",
				HealthCheck: stack.HealthCheck{Port: "traffic-port", Protocol: "HTTP", Path: "/", Interval: 15, Timeout: 5, Healthy: 2, Unhealthy: 2, Matcher: "200"},
				Tags:        stack.Tags("prod-1", stack.Ingresses, "edge", "shop/a-a:80"),
			}
			spec := stack.BindingSpec{
				Service: "a", Port: intstr.FromInt32(80), TargetType: "ip", Protocol: "HTTP", AddressType: "ipv4", VPC: "vpc-1",
				Networking: []intstr.IntOrString{intstr.FromInt32(8080)}, Peer: stack.Ref{Part: "backend-sg"},
				Labels: map[string]string{"ingress.k8s.aws/stack": "edge"},
			}
			tc.want(&group, &spec)
			got, faults := Build(in)
			if len(got.TargetGroups) != 1 || len(faults) > 0 {
				t.Fatalf("%d target groups, faults %v", len(got.TargetGroups), faults)
			}
			if diff := cmp.Diff(group, got.TargetGroups[0], cmpopts.EquateEmpty(), cmpopts.IgnoreFields(stack.TargetGroup{}, "Name", "SpareName")); diff != "" {
				t.Errorf("target group (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(spec, got.Bindings[0].Spec, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("binding (-want +got):\n%s", diff)
			}
			if got.TargetGroups[0].Name == got.TargetGroups[0].SpareName || got.Bindings[0].Name != got.TargetGroups[0].Name {
				t.Errorf("names %s, %s, %s", got.TargetGroups[0].Name, got.TargetGroups[0].SpareName, got.Bindings[0].Name)
			}
		})
	}
}

// A control port is part of the name: with another one it is another target group, as with the incumbent.
func TestTheControlPortIsPartOfTheName(t *testing.T) {
	in := three(t)
	annotate(&in, 1, annotation.Prefix+"target-control-port.b.80", "3000")
	got, faults := Build(in)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	id := input.TargetGroup{
		Ingress: types.NamespacedName{Namespace: "shop", Name: "b"}, Service: types.NamespacedName{Namespace: "shop", Name: "b"},
		ServiceUID: "uid-b", ServicePort: intstr.FromInt32(80), Port: 8080, TargetType: "ip", Protocol: "HTTP", ProtocolVersion: "HTTP1",
		ControlPort: 3000,
	}
	for i, group := range got.TargetGroups {
		if name := id.NameIn("prod-1", in.Group); (group.Name == name) != (group.Owner == "shop/b") || got.Bindings[i].Name != group.Name {
			t.Errorf("%s has the target group %s and the binding %s; %s is the name of shop/b's", group.Owner, group.Name, got.Bindings[i].Name, name)
		}
	}
}
