// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/targetgate/targetgate/balancers/fixture"
	"github.com/targetgate/targetgate/balancers/ingress/input"
	"github.com/targetgate/targetgate/balancers/ingress/membership"
	"github.com/targetgate/targetgate/balancers/lookup"
	"github.com/targetgate/targetgate/balancers/stack"
)

// withoutVoters leaves aside who says what: TestWhoSaysWhat is about that.
var withoutVoters = cmpopts.IgnoreFields(stack.Stack{}, "Voters")

// check builds, and compares the stack as a whole.
func check(t *testing.T, in input.Input, want stack.Stack, faults ...string) {
	t.Helper()
	got, found := Build(in)
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), withoutVoters); diff != "" {
		t.Errorf("stack (-want +got):\n%s", diff)
	}
	var texts []string
	for _, fault := range found {
		texts = append(texts, fault.Member+": "+fault.Error())
	}
	if diff := cmp.Diff(faults, texts, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
}

// One Ingress with its class by name, prefixes, nodes as targets; security group and subnets are found or made.
func TestPlainIngress(t *testing.T) {
	ingresses := fixture.Parse[networkingv1.Ingress](t, `
metadata: {namespace: shop, name: web}
spec:
  ingressClassName: alb
  rules:
  - host: shop.example.com
    http:
      paths:
      - {path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}
      - {path: /api, pathType: Prefix, backend: {service: {name: api, port: {name: http}}}}
`)
	services := fixture.Parse[corev1.Service](t, `
metadata: {namespace: shop, name: web, uid: uid-web}
spec: {type: NodePort, ports: [{name: http, port: 80, targetPort: 8080, nodePort: 30080}]}
---
metadata: {namespace: shop, name: api, uid: uid-api}
spec: {type: NodePort, ports: [{name: http, port: 80, targetPort: 8080, nodePort: 30081}]}
`)
	classes := fixture.Parse[networkingv1.IngressClass](t, `{metadata: {name: alb}, spec: {controller: ingress.k8s.aws/alb}}`)
	in := input.Input{Services: byName(services...), AWS: lookup.Answers{Subnets: vpcSubnets()}, Options: input.DefaultOptions("prod-1", "vpc-1")}
	in.Group, in.Members = membersOf(t, membership.Objects{Classes: classes, Class: "alb"}, ingresses)

	tags := func(resource string) map[string]string {
		return map[string]string{"elbv2.k8s.aws/cluster": "prod-1", "ingress.k8s.aws/stack": "shop/web", "ingress.k8s.aws/resource": resource}
	}
	group := func(name, spare, part string, port int32) stack.TargetGroup {
		return stack.TargetGroup{
			Part: part, Owner: "shop/web", Name: name, SpareName: spare,
			TargetType: "instance", Protocol: "HTTP", ProtocolVersion: "HTTP1", Port: port, AddressType: "ipv4",
			HealthCheck: stack.HealthCheck{
				Port: "traffic-port", Protocol: "HTTP", Path: "/", Interval: 15, Timeout: 5, Healthy: 2, Unhealthy: 2, Matcher: "200",
			},
			Tags: tags(part),
		}
	}
	binding := func(group stack.TargetGroup, service string, port, node intstr.IntOrString) stack.Binding {
		return stack.Binding{Namespace: "shop", Name: group.Name, Group: stack.Ref{Part: group.Part}, Spec: stack.BindingSpec{
			Service: service, Port: port, TargetType: "instance", Protocol: "HTTP", AddressType: "ipv4", VPC: "vpc-1",
			Networking: []intstr.IntOrString{node}, Peer: stack.Ref{Part: "backend-sg"},
			Labels: map[string]string{"ingress.k8s.aws/stack-namespace": "shop", "ingress.k8s.aws/stack-name": "web"},
		}}
	}
	rule := func(resource, part string, paths ...string) stack.Rule {
		return stack.Rule{
			Owner:      "shop/web",
			Conditions: []stack.Condition{{Field: "host-header", Values: []string{"shop.example.com"}}, {Field: "path-pattern", Values: paths}},
			Action:     stack.Action{Forward: &stack.Forward{Groups: []stack.Weighted{{Group: stack.Ref{Part: part}, Weight: 1}}}},
			Tags:       tags(resource),
		}
	}
	api := group("k8s-shop-api-36757d4f04", "k8s-shop-api-6480eaf305", "shop/web-api:http", 30081)
	web := group("k8s-shop-web-a4d852718f", "k8s-shop-web-a6088428f4", "shop/web-web:80", 30080)
	check(t, in, stack.Stack{
		ID:      stack.ID{Cluster: "prod-1", Kind: stack.Ingresses, Name: "shop/web"},
		Members: []stack.Member{{Name: "shop/web"}},
		LoadBalancers: []stack.LoadBalancer{{
			Name: "k8s-shop-web-1a03b0796d", SpareName: "k8s-shop-web-5ec3d90c6f",
			Scheme: "internal", AddressType: "ipv4", Subnets: []string{"subnet-a2", "subnet-b2"},
			SecurityGroups: []stack.Ref{{Part: "ManagedLBSecurityGroup"}, {Part: "backend-sg"}},
			Tags:           tags("LoadBalancer"),
			Listeners: []stack.Listener{{
				Port: 80, Protocol: "HTTP", Tags: tags("80"),
				Default: stack.Action{Fixed: &stack.FixedResponse{Status: "404", ContentType: "text/plain"}},
				Rules:   []stack.Rule{rule("80:1", "shop/web-api:http", "/api", "/api/*"), rule("80:2", "shop/web-web:80", "/*")},
			}},
		}},
		SecurityGroups: []stack.SecurityGroup{{
			Name: "k8s-shop-web-074a5bf289", Description: "[k8s] Managed SecurityGroup for LoadBalancer",
			Inbound: []stack.Inbound{{From: 80, To: 80, Protocol: "tcp", Source: "0.0.0.0/0"}},
			Tags:    tags("ManagedLBSecurityGroup"),
		}, {
			Name: "k8s-traffic-prod1-6d7d57e991", Description: "[k8s] Shared Backend SecurityGroup for LoadBalancer", Shared: true,
			Tags: map[string]string{"elbv2.k8s.aws/cluster": "prod-1", "elbv2.k8s.aws/resource": "backend-sg"},
		}},
		TargetGroups: []stack.TargetGroup{api, web},
		Bindings: []stack.Binding{
			binding(api, "api", intstr.FromString("http"), intstr.FromInt32(30081)),
			binding(web, "web", intstr.FromInt32(80), intstr.FromInt32(30080)),
		},
	})
}

// What production clusters have: the old annotation for the class, a group, pods as targets, given security groups and certificates, an action
// by annotation without a path, health checks on the Service.
func TestProductionIngress(t *testing.T) {
	ingresses := fixture.Parse[networkingv1.Ingress](t, `
metadata:
  namespace: app
  name: app
  annotations:
    kubernetes.io/ingress.class: alb
    alb.ingress.kubernetes.io/group.name: public
    alb.ingress.kubernetes.io/scheme: internet-facing
    alb.ingress.kubernetes.io/target-type: ip
    alb.ingress.kubernetes.io/listen-ports: '[{"HTTP": 80}, {"HTTPS": 443}]'
    alb.ingress.kubernetes.io/security-groups: sg-1, sg-2
    alb.ingress.kubernetes.io/certificate-arn: arn:aws:acm:eu-west-1:1:certificate/1
    alb.ingress.kubernetes.io/load-balancer-attributes: access_logs.s3.enabled=true,access_logs.s3.bucket=logs
    alb.ingress.kubernetes.io/wafv2-acl-arn: arn:aws:wafv2:eu-west-1:1:regional/webacl/public/1
    alb.ingress.kubernetes.io/actions.app: >
      {"type":"forward","forwardConfig":{"targetGroups":[{"serviceName":"app","servicePort":"80"}]}}
spec:
  rules:
  - host: app.example.com
    http:
      paths:
      - {pathType: ImplementationSpecific, backend: {service: {name: app, port: {name: use-annotation}}}}
`)
	services := fixture.Parse[corev1.Service](t, `
metadata:
  namespace: app
  name: app
  uid: uid-app
  annotations:
    alb.ingress.kubernetes.io/healthcheck-interval-seconds: "300"
    alb.ingress.kubernetes.io/healthcheck-timeout-seconds: "5"
    alb.ingress.kubernetes.io/healthcheck-path: /healthz
spec: {ports: [{name: http, port: 80, targetPort: http}]}
`)
	in := input.Input{Services: byName(services...), AWS: lookup.Answers{Subnets: vpcSubnets()}, Options: input.DefaultOptions("prod-1", "vpc-1")}
	in.Group, in.Members = membersOf(t, membership.Objects{Class: "alb"}, ingresses)

	const part = "app/app-app:80"
	tags := func(resource string) map[string]string {
		return map[string]string{"elbv2.k8s.aws/cluster": "prod-1", "ingress.k8s.aws/stack": "public", "ingress.k8s.aws/resource": resource}
	}
	rule := func(resource string) []stack.Rule {
		return []stack.Rule{{
			Owner:      "app/app",
			Conditions: []stack.Condition{{Field: "host-header", Values: []string{"app.example.com"}}},
			Action:     stack.Action{Forward: &stack.Forward{Groups: []stack.Weighted{{Group: stack.Ref{Part: part}, Weight: 1}}}},
			Tags:       tags(resource),
		}}
	}
	notFound := stack.Action{Fixed: &stack.FixedResponse{Status: "404", ContentType: "text/plain"}}
	check(t, in, stack.Stack{
		ID:      stack.ID{Cluster: "prod-1", Kind: stack.Ingresses, Name: "public"},
		Members: []stack.Member{{Name: "app/app"}},
		LoadBalancers: []stack.LoadBalancer{{
			Name: "k8s-public-c2de7fd11d", SpareName: "k8s-public-8322271c60",
			Scheme: "internet-facing", AddressType: "ipv4", Subnets: []string{"subnet-a1", "subnet-b1"},
			SecurityGroups: []stack.Ref{{ID: "sg-1"}, {ID: "sg-2"}},
			Attributes:     map[string]string{"access_logs.s3.enabled": "true", "access_logs.s3.bucket": "logs"},
			Tags:           tags("LoadBalancer"),
			WebACL:         new("arn:aws:wafv2:eu-west-1:1:regional/webacl/public/1"),
			Listeners: []stack.Listener{
				{Port: 80, Protocol: "HTTP", Default: notFound, Tags: tags("80"), Rules: rule("80:1")},
				{
					Port: 443, Protocol: "HTTPS", SSLPolicy: "ELBSecurityPolicy-2016-08",
					Certificates: []string{"arn:aws:acm:eu-west-1:1:certificate/1"},
					Owners:       map[string]string{"arn:aws:acm:eu-west-1:1:certificate/1": "app/app"},
					Default:      notFound, Tags: tags("443"), Rules: rule("443:1"),
				},
			},
		}},
		TargetGroups: []stack.TargetGroup{{
			Part: part, Owner: "app/app", Name: "k8s-app-app-450919fb08", SpareName: "k8s-app-app-c254732da4",
			TargetType: "ip", Protocol: "HTTP", ProtocolVersion: "HTTP1", Port: 1, AddressType: "ipv4",
			HealthCheck: stack.HealthCheck{
				Port: "traffic-port", Protocol: "HTTP", Path: "/healthz", Interval: 300, Timeout: 5, Healthy: 2, Unhealthy: 2, Matcher: "200",
			},
			Tags: tags(part),
		}},
		Bindings: []stack.Binding{{
			Namespace: "app", Name: "k8s-app-app-450919fb08", Group: stack.Ref{Part: part}, Spec: stack.BindingSpec{
				Service: "app", Port: intstr.FromInt32(80), TargetType: "ip", Protocol: "HTTP", AddressType: "ipv4", VPC: "vpc-1",
				Labels: map[string]string{"ingress.k8s.aws/stack": "public"},
			},
		}},
	})
}
