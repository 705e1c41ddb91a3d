// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/targetgate/targetgate/balancers/fault"
	"github.com/targetgate/targetgate/balancers/fixture"
	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/ingress/input"
	"github.com/targetgate/targetgate/balancers/ingress/membership"
	"github.com/targetgate/targetgate/balancers/lookup"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/v1beta1"
)

// three is a group with the members shop/a, shop/b and shop/c, which are alike.
func three(t testing.TB) input.Input {
	t.Helper()
	in := input.Input{
		Group:   stack.Group{Name: "edge"},
		Options: input.DefaultOptions("prod-1", "vpc-1"),
		AWS: lookup.Answers{Subnets: vpcSubnets(), Certificates: []lookup.Certificate{
			{ARN: "arn:acm:wild", Domains: []string{"*.example.com"}},
		}, ClassicACLs: map[string]lookup.Named{"a": {ARN: "a"}, "b": {ARN: "b"}}},
	}
	var services []*corev1.Service
	for _, name := range []string{"a", "b", "c"} {
		in.Members = append(in.Members, membership.Member{Ingress: fixture.Parse[networkingv1.Ingress](t, strings.ReplaceAll(`
metadata:
  namespace: shop
  name: NAME
  annotations:
    alb.ingress.kubernetes.io/group.name: edge
    alb.ingress.kubernetes.io/target-type: ip
    alb.ingress.kubernetes.io/listen-ports: '[{"HTTP": 80}, {"HTTPS": 443}]'
spec:
  rules:
  - host: NAME.example.com
    http:
      paths:
      - {path: /, pathType: Prefix, backend: {service: {name: NAME, port: {number: 80}}}}
      - {path: /old, pathType: Exact, backend: {service: {name: act, port: {name: use-annotation}}}}
`, "NAME", name))[0]})
		services = append(services, fixture.Parse[corev1.Service](t, strings.ReplaceAll(
			`{metadata: {namespace: shop, name: NAME, uid: uid-NAME}, spec: {ports: [{name: http, port: 80, targetPort: 8080}]}}`, "NAME", name))[0])
		annotate(&in, len(in.Members)-1, annotation.Prefix+"actions.act", `{"type":"redirect","redirectConfig":{"path":"/new","statusCode":"HTTP_302"}}`)
	}
	in.Services = byName(services...)
	return in
}

func annotate(in *input.Input, member int, name, value string) {
	in.Members[member].Ingress.Annotations[name] = value
}

func serviceOf(services map[types.NamespacedName]*corev1.Service, name string) *corev1.Service {
	for key, service := range services {
		if key.Name == name {
			return service
		}
	}
	return nil
}

// rulesOf are the rules of all listeners but those of one member, without the tags in which their priorities are.
func rulesOf(s stack.Stack, without string) map[int32][]stack.Rule {
	rules := map[int32][]stack.Rule{}
	for _, balancer := range s.LoadBalancers {
		for _, listener := range balancer.Listeners {
			for _, rule := range listener.Rules {
				if rule.Tags = nil; rule.Owner != without {
					rules[listener.Port] = append(rules[listener.Port], rule)
				}
			}
		}
	}
	return rules
}

// breaks are ways to break shop/b, with what its fault says.
var breaks = map[string]struct {
	annotation, value string
	do                func(in *input.Input, b *networkingv1.Ingress)
	fault             string
}{
	"a scheme that is none":                {annotation: "scheme", value: "public", fault: `scheme, value "public": must be internal or internet-facing`},
	"another scheme":                       {annotation: "scheme", value: "internet-facing", do: agreeOn("scheme", "internal"), fault: `the group has "internal", as alb.ingress.kubernetes.io/scheme of Ingress shop/a says: set the same`},
	"another address type":                 {annotation: "ip-address-type", value: "dualstack", do: agreeOn("ip-address-type", "ipv4"), fault: `the group has "ipv4"`},
	"another name of the load balancer":    {annotation: "load-balancer-name", value: "b", do: agreeOn("load-balancer-name", "a"), fault: `the group has "a"`},
	"a name that is too long":              {annotation: "load-balancer-name", value: strings.Repeat("b", 33), fault: "must be at most 32"},
	"another web ACL":                      {annotation: "wafv2-acl-arn", value: aclARN("b"), do: agreeOn("wafv2-acl-arn", aclARN("a")), fault: `the group has "` + aclARN("a") + `"`},
	"another web ACL of WAF Classic":       {annotation: "waf-acl-id", value: "b", do: agreeOn("waf-acl-id", "a"), fault: `the group has "a"`},
	"a web ACL of both kinds of WAF":       {annotation: "waf-acl-id", value: "b", do: agreeOn("wafv2-acl-arn", aclARN("a")), fault: `waf-acl-id, value "b": the group has "a web ACL of AWS WAF", as alb.ingress.kubernetes.io/wafv2-acl-arn of Ingress shop/a says`},
	"other subnets":                        {annotation: "subnets", value: "subnet-a1,subnet-b1", do: agreeOn("subnets", "subnet-a2,subnet-b2"), fault: `the group has "subnet-a2,subnet-b2"`},
	"a subnet that does not exist":         {annotation: "subnets", value: "subnet-z", fault: "the VPC has no subnet subnet-z"},
	"a subnet name that does not exist":    {annotation: "subnets", value: "blue", fault: "0 subnets of the VPC have the tag Name=blue"},
	"two subnets of a zone":                {annotation: "subnets", value: "subnet-a1,subnet-a2", fault: "are both in zone eu-west-1a"},
	"one subnet":                           {annotation: "subnets", value: "subnet-a1", fault: "set subnets in at least 2 zones"},
	"dualstack without subnets for it":     {annotation: "ip-address-type", value: "dualstack", do: agreeOn("scheme", "internal"), fault: `ip-address-type, value "dualstack": no subnet of the VPC fits a load balancer that is internal and dualstack`},
	"other security groups":                {annotation: "security-groups", value: "sg-b", do: agreeOn("security-groups", "sg-a"), fault: `the group has "sg-a"`},
	"a security group that does not exist": {annotation: "security-groups", value: "blue", fault: "no security group of the VPC has the tag Name=blue"},
	"more security groups than AWS takes":  {annotation: "security-groups", value: listed("sg-%02x", 17), fault: "has 17 security groups, must be at most 16"},
	"more names of security groups":        {annotation: "security-groups", value: listed("blue-%d", 17), fault: "has 17 security groups, must be at most 16"},
	"a name of too many security groups": {annotation: "security-groups", value: "blue", do: func(in *input.Input, _ *networkingv1.Ingress) {
		in.AWS.SecurityGroups = map[string][]string{"blue": strings.Split(listed("sg-%02x", 17), ",")}
	}, fault: "17 security groups have these IDs and names: must be at most 16"},
	"a name of a security group, too long": {annotation: "security-groups", value: strings.Repeat("b", 256), fault: "has 256 characters, must be at most 255"},
	"a security group that AWS does not tell": {annotation: "security-groups", value: "blue", do: func(in *input.Input, _ *networkingv1.Ingress) {
		in.AWS.NoSecurityGroups = map[string]string{"blue": "access denied"}
	}, fault: "security groups with the tag Name=blue could not be looked up: access denied"},
	"rules without the shared group": {
		annotation: "manage-backend-security-group-rules", value: "true",
		do: func(in *input.Input, b *networkingv1.Ingress) {
			in.Options.BackendSecurityGroups = false
			agreeOn("security-groups", "sg-a")(in, b)
		}, fault: "needs the shared security group",
	},
	"another value of an attribute": {annotation: "load-balancer-attributes", value: "k=b", do: agreeOn("load-balancer-attributes", "k=a"), fault: `value "b": the group has "a", as alb.ingress.kubernetes.io/load-balancer-attributes of Ingress shop/a says for the key k`},
	"attributes that are no map":    {annotation: "load-balancer-attributes", value: "k", fault: "has no equals sign"},
	"another value of a tag":        {annotation: "tags", value: "team=b", do: agreeOn("tags", "team=a"), fault: `value "b": the group has "a", as alb.ingress.kubernetes.io/tags of Ingress shop/a says for the key team`},
	"a tag that is left to others":  {annotation: "tags", value: "cost=x", do: func(in *input.Input, _ *networkingv1.Ingress) { in.Options.ExternalTags = []string{"cost"} }, fault: "--external-managed-tags"},
	"ports that are no JSON":        {annotation: "listen-ports", value: "80", fault: "is not the JSON that is wanted"},
	"no port":                       {annotation: "listen-ports", value: "[]", fault: "list at least one listener"},
	"another protocol on a port":    {annotation: "listen-ports", value: `[{"HTTPS":80}]`, fault: `the group has "HTTP", as alb.ingress.kubernetes.io/listen-ports of Ingress shop/a says on port 80: set the same, or another port`},
	"no protocol, where another has one": {do: func(in *input.Input, b *networkingv1.Ingress) {
		annotate(in, 0, annotation.Prefix+"listen-ports", `[{"HTTPS":80}]`)
		annotate(in, 2, annotation.Prefix+"listen-ports", `[{"HTTPS":80}]`)
		delete(b.Annotations, annotation.Prefix+"listen-ports")
	}, fault: `the group has "HTTPS", as alb.ingress.kubernetes.io/listen-ports of Ingress shop/a says on port 80: set the same, or another port; the default is [{"HTTP": 80}],`},
	"a protocol that is none":               {annotation: "listen-ports", value: `[{"TCP":80}]`, fault: `protocol "TCP": must be HTTP or HTTPS`},
	"addresses that are none":               {annotation: "inbound-cidrs", value: "10.0.0.0", fault: "is not a CIDR"},
	"other addresses":                       {annotation: "inbound-cidrs", value: "10.0.0.0/8", do: agreeOn("inbound-cidrs", "10.1.0.0/16"), fault: `the group has "10.1.0.0/16"`},
	"other prefix lists":                    {annotation: "security-group-prefix-lists", value: "pl-b", do: agreeOn("security-group-prefix-lists", "pl-a"), fault: `the group has "pl-a"`},
	"another policy":                        {annotation: "ssl-policy", value: "b", do: agreeOn("ssl-policy", "a"), fault: `the group has "a"`},
	"a redirect to no listener":             {annotation: "ssl-redirect", value: "8443", fault: "no HTTPS listener of the group has this port"},
	"a redirect to a port that is none":     {annotation: "ssl-redirect", value: "https", fault: "must be an integer from 1 to 65535"},
	"another redirect":                      {annotation: "ssl-redirect", value: "8443", do: agreeOn("ssl-redirect", "443"), fault: `the group has "443"`},
	"another value of a listener attribute": {annotation: "listener-attributes.HTTP-80", value: "k=b", do: agreeOn("listener-attributes.HTTP-80", "k=a"), fault: `the group has "a"`},
	"a host without certificate":            {do: func(_ *input.Input, b *networkingv1.Ingress) { b.Spec.Rules[0].Host = "b.example.org" }, fault: `spec.rules[0].host, value "b.example.org": ACM has no certificate`},
	"a TLS host without certificate": {do: func(_ *input.Input, b *networkingv1.Ingress) {
		b.Spec.TLS = []networkingv1.IngressTLS{{Hosts: []string{"b.example.com", "x.y.example.com"}}}
	}, fault: `spec.tls[0].hosts[1], value "x.y.example.com"`},
	"a certificate of another authority": {do: func(in *input.Input, b *networkingv1.Ingress) {
		b.Spec.Rules[0].Host = "b.example.org"
		in.AWS.Certificates = append(in.AWS.Certificates, lookup.Certificate{ARN: "arn:acm:b", Domains: []string{"b.example.org"}, CA: "b"})
		in.AWS.Certificates[0].CA, in.Options.AllowedCAs = "a", []string{"a"}
	}, fault: "ACM has no certificate for this host"},
	"certificates that are not known": {do: func(in *input.Input, _ *networkingv1.Ingress) {
		in.AWS = lookup.Answers{Subnets: in.AWS.Subnets, NoCertificates: "no answer"}
		annotate(in, 0, annotation.Prefix+"certificate-arn", certARN("wild"))
		annotate(in, 2, annotation.Prefix+"certificate-arn", certARN("wild"))
	}, fault: "ACM are not known: no answer"},
	"HTTPS without hosts": {annotation: "listen-ports", value: `[{"HTTPS":8443}]`, do: func(_ *input.Input, b *networkingv1.Ingress) { b.Spec.Rules[0].Host = "" }, fault: "port 8443 is HTTPS and has no certificate"},
	"two default backends": {do: func(in *input.Input, b *networkingv1.Ingress) {
		backend := networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: "a", Port: networkingv1.ServiceBackendPort{Number: 80}}}
		in.Members[0].Ingress.Spec.DefaultBackend, b.Spec.DefaultBackend = &backend, &backend
	}, fault: "spec.defaultBackend: port 443 has the default backend of Ingress shop/a, and a listener has one: set none, or another port"},
	"a Service without the port":         {do: func(in *input.Input, _ *networkingv1.Ingress) { serviceOf(in.Services, "b").Spec.Ports[0].Port = 81 }, fault: `Service shop/b, spec.ports, value "80": the Service has no port`},
	"nodes as targets without node port": {annotation: "target-type", value: "instance", fault: "has no node port"},
	"a missing Service, not tolerated": {do: func(in *input.Input, b *networkingv1.Ingress) {
		in.Options.TolerateMissingService = false
		b.Spec.Rules[0].HTTP.Paths[0].Backend.Service.Name = "x"
	}, fault: `paths[0].backend, value "x": this Service does not exist`},
	"a missing action, not tolerated": {do: func(in *input.Input, b *networkingv1.Ingress) {
		in.Options.TolerateMissingAction = false
		delete(b.Annotations, annotation.Prefix+"actions.act")
	}, fault: "the annotation alb.ingress.kubernetes.io/actions.act does not exist"},
	"a target group that AWS does not tell": {annotation: "actions.act", value: `{"type":"forward","targetGroupName":"x"}`, do: func(in *input.Input, _ *networkingv1.Ingress) {
		in.AWS.TargetGroups = map[string]lookup.Named{"x": {Reason: "access denied"}}
	}, fault: `target group "x" could not be looked up: access denied`},
	"a missing Service among several":  {annotation: "actions.act", value: weighted("b", "x"), fault: `value "x": this Service does not exist in namespace shop`},
	"a target group that is not there": {annotation: "actions.act", value: `{"type":"forward","targetGroupName":"x"}`, do: func(in *input.Input, _ *networkingv1.Ingress) { in.AWS.TargetGroups = map[string]lookup.Named{"x": {}} }, fault: `the account has no target group "x" in this Region`},
	"a target group that is unknown":   {annotation: "actions.act", value: `{"type":"forward","targetGroupName":"x"}`, fault: `actions.act, value`},
	"a weight that is none":            {annotation: "actions.act", value: strings.Replace(weighted("b", "b"), `"weight":1`, `"weight":1000`, 1), fault: "weight 1000: must be 0 to 999"},
	"an action that is no JSON":        {annotation: "actions.act", value: "{", fault: "is not the JSON that is wanted"},
	"an action of no type":             {annotation: "actions.act", value: "{}", fault: "must be fixed-response, redirect or forward"},
	"an answer of a redirect":          {annotation: "actions.act", value: `{"type":"fixed-response","fixedResponseConfig":{"statusCode":"301"}}`, fault: `statusCode "301": must be 2xx, 4xx or 5xx`},
	"an answer of a picture":           {annotation: "actions.act", value: `{"type":"fixed-response","fixedResponseConfig":{"statusCode":"200","contentType":"image/png"}}`, fault: `contentType "image/png": must be one of text/plain`},
	"an answer that is too long":       {annotation: "actions.act", value: `{"type":"fixed-response","fixedResponseConfig":{"statusCode":"200","messageBody":"` + strings.Repeat("a", 1025) + `"}}`, fault: "messageBody has 1025 characters, must be at most 1024"},
	"a redirect of another status":     {annotation: "actions.act", value: redirectOf(`"path":"/a","statusCode":"HTTP_307"`), fault: `statusCode "HTTP_307": must be HTTP_301 or HTTP_302`},
	"a redirect to a relative path":    {annotation: "actions.act", value: redirectOf(`"path":"a","statusCode":"HTTP_302"`), fault: `redirectConfig.path "a": must begin with a slash`},
	"a redirect to port 0":             {annotation: "actions.act", value: redirectOf(`"port":"0","statusCode":"HTTP_302"`), fault: `redirectConfig.port "0": must be 1 to 65535`},
	"a redirect to port 65536":         {annotation: "actions.act", value: redirectOf(`"port":"65536","statusCode":"HTTP_302"`), fault: `redirectConfig.port "65536": must be 1 to 65535`},
	"a redirect to another protocol":   {annotation: "actions.act", value: redirectOf(`"protocol":"http","statusCode":"HTTP_302"`), fault: `redirectConfig.protocol "http": must be HTTP, HTTPS`},
	"a redirect of HTTPS to HTTP": {
		annotation: "actions.act", value: redirectOf(`"protocol":"HTTP","statusCode":"HTTP_302"`),
		fault: `actions.act, value "{\"type\":\"redirect\",\"redirectConfig\":{\"protocol\":\"HTTP\",\"statusCode\":\"HTTP_302\"}}": AWS redirects no HTTPS to ` +
			"HTTP, as on port 443: set HTTPS or #{protocol} in redirectConfig.protocol",
	},
	"a default backend of HTTPS that redirects to HTTP": {annotation: "actions.act", value: redirectOf(`"protocol":"HTTP","statusCode":"HTTP_302"`), do: func(_ *input.Input, b *networkingv1.Ingress) {
		b.Spec.DefaultBackend = b.Spec.Rules[0].HTTP.Paths[1].Backend.DeepCopy()
		b.Spec.Rules[0].HTTP.Paths = b.Spec.Rules[0].HTTP.Paths[:1]
	}, fault: "AWS redirects no HTTPS to HTTP, as on port 443"},
	"a redirect to a long host":         {annotation: "actions.act", value: redirectOf(`"host":"` + strings.Repeat("a", 129) + `","statusCode":"HTTP_302"`), fault: "redirectConfig.host has 129 characters"},
	"a redirect to itself, other query": {annotation: "actions.act", value: redirectOf(`"query":"a=b","statusCode":"HTTP_302"`), fault: "paths[1]: the redirect points to itself"},
	"a default backend that redirects to itself": {annotation: "actions.act", value: redirectOf(`"statusCode":"HTTP_302"`), do: func(_ *input.Input, b *networkingv1.Ingress) {
		b.Spec.DefaultBackend = b.Spec.Rules[0].HTTP.Paths[1].Backend.DeepCopy()
	}, fault: "spec.defaultBackend: the redirect points to itself"},
	"conditions that are no JSON":     {annotation: "conditions.b", value: "x", fault: "is not the JSON that is wanted"},
	"a header without a name":         {annotation: "conditions.b", value: `[{"field":"http-header","httpHeaderConfig":{"values":["a"]}}]`, fault: `httpHeaderName "": must be 1 to 40 characters`},
	"conditions of both kinds":        {annotation: "conditions.b", value: `[{"field":"host-header","hostHeaderConfig":{"regexValues":["x"]}}]`, fault: "host-header has values and regular expressions"},
	"too many values":                 {annotation: "conditions.b", value: `[{"field":"source-ip","sourceIpConfig":{"values":["1","2","3","4","5"]}}]`, fault: "the rule has 7 values in its conditions: AWS allows 5"},
	"a wildcard":                      {do: func(_ *input.Input, b *networkingv1.Ingress) { b.Spec.Rules[0].HTTP.Paths[1].Path = "/*" }, fault: `spec.rules[0].http.paths[1], value "/*": wildcards are for pathType ImplementationSpecific`},
	"two conditions of methods":       {annotation: "conditions.b", value: `[{"field":"http-request-method","httpRequestMethodConfig":{"values":["GET"]}},{"field":"http-request-method","httpRequestMethodConfig":{"values":["HEAD"]}}]`, fault: "two conditions of http-request-method"},
	"a method in small letters":       {annotation: "conditions.b", value: `[{"field":"http-request-method","httpRequestMethodConfig":{"values":["get"]}}]`, fault: `conditions.b, value "[{\"field\":\"http-request-method\",\"httpRequestMethodConfig\":{\"values\":[\"get\"]}}]": http-request-method "get": must be`},
	"too many wildcards":              {annotation: "conditions.b", value: `[{"field":"path-pattern","pathPatternConfig":{"values":["/*/*/*/*/*/*"]}}]`, fault: "the rule has 7 wildcards in its conditions: AWS allows 6"},
	"a source that is no CIDR":        {annotation: "conditions.b", value: `[{"field":"source-ip","sourceIpConfig":{"values":["10.0.0.1"]}}]`, fault: `source-ip "10.0.0.1": must be a CIDR`},
	"a header that is none":           {annotation: "conditions.b", value: `[{"field":"http-header","httpHeaderConfig":{"httpHeaderName":"X A","values":["a"]}}]`, fault: `httpHeaderName "X A"`},
	"a header for the host":           {annotation: "conditions.b", value: `[{"field":"http-header","httpHeaderConfig":{"httpHeaderName":"Host","values":["a"]}}]`, fault: "host-header for the host"},
	"a header with a long value":      {annotation: "conditions.b", value: `[{"field":"http-header","httpHeaderConfig":{"httpHeaderName":"X-A","values":["` + strings.Repeat("a", 129) + `"]}}]`, fault: "must be 1 to 128 characters"},
	"a regular expression of no form": {annotation: "conditions.b", value: `[{"field":"http-header","httpHeaderConfig":{"httpHeaderName":"X-A","regexValues":["(a"]}}]`, fault: `"(a" is no regular expression`},
	"a parameter without a value":     {annotation: "conditions.b", value: `[{"field":"query-string","queryStringConfig":{"values":[{"key":"a"}]}}]`, fault: `query-string "a=": must have a value`},
	"a host without a dot":            {annotation: "conditions.b", value: `[{"field":"host-header","hostHeaderConfig":{"values":["localhost"]}}]`, fault: `host-header "localhost": must be 1 to 128 letters`},
	"a path that is too long": {do: func(_ *input.Input, b *networkingv1.Ingress) {
		b.Spec.Rules[0].HTTP.Paths[0].Path = "/" + strings.Repeat("a", 126)
	}, fault: "spec.rules[0].http.paths[0]: path-pattern"},
	"a path with a blank":           {do: func(_ *input.Input, b *networkingv1.Ingress) { b.Spec.Rules[0].HTTP.Paths[0].Path = "/a b" }, fault: `spec.rules[0].http.paths[0]: path-pattern "/a b": must be 1 to 128 letters`},
	"a target group twice":          {annotation: "actions.act", value: weighted("b", "b"), fault: "target group shop/b-b:80 is listed twice: list it once"},
	"a target group by another ARN": {annotation: "actions.act", value: `{"type":"forward","targetGroupARN":"arn:aws:elasticloadbalancing:eu-west-1:1:loadbalancer/app/a/b"}`, fault: "must be the ARN of a target group"},
	"gRPC on HTTP":                  {annotation: "backend-protocol-version", value: "GRPC", fault: `paths[0], value "shop/b-b:80": the targets are reached by GRPC, which AWS does not have behind HTTP, as on port 80`},
	"HTTP/2 as default backend on HTTP": {annotation: "backend-protocol-version", value: "HTTP2", do: func(_ *input.Input, b *networkingv1.Ingress) {
		b.Spec.DefaultBackend, b.Spec.Rules = b.Spec.Rules[0].HTTP.Paths[0].Backend.DeepCopy(), nil
	}, fault: `spec.defaultBackend, value "shop/b-b:80": the targets are reached by HTTP2`},
	"a health check of a relative path":   {annotation: "healthcheck-path", value: "health", fault: `healthcheck-path, value "health": must be a slash`},
	"a health check that takes too long":  {annotation: "healthcheck-timeout-seconds", value: "15", fault: `healthcheck-timeout-seconds, value "15": health checks are every 15 s and may take 15 s`},
	"health checks that are too frequent": {do: annotateService("healthcheck-interval-seconds", "5"), fault: `Service shop/b, annotation alb.ingress.kubernetes.io/healthcheck-interval-seconds, value "5": health checks are every 5 s and may take 5 s`},
	"a code of no health check":           {annotation: "success-codes", value: "200,500", fault: `success-codes, value "200,500": must be codes from 200 to 499`},
	"codes the wrong way round":           {annotation: "success-codes", value: "299-200", fault: "must be codes from 200 to 499"},
	"a timeout of no time":                {annotation: "load-balancer-attributes", value: "idle_timeout.timeout_seconds=0", fault: "idle_timeout.timeout_seconds=0: must be an integer from 1 to 4000"},
	"a key that is none":                  {annotation: "load-balancer-attributes", value: "idle timeout=1", fault: `"idle timeout" is no key of an attribute`},
	"a switch that is none":               {annotation: "listener-attributes.HTTP-80", value: "routing.http.response.server.enabled=no", fault: "routing.http.response.server.enabled=no: must be true or false"},
	"a delay that is too long":            {annotation: "target-group-attributes", value: "deregistration_delay.timeout_seconds=3601", fault: "must be an integer from 0 to 3600"},
	"a slow start that is too fast":       {do: annotateService("target-group-attributes", "slow_start.duration_seconds=29"), fault: "slow_start.duration_seconds=29: must be an integer from 30 to 900, or 0"},
	"a mitigation of another algorithm":   {annotation: "target-group-attributes", value: "load_balancing.algorithm.anomaly_mitigation=on,load_balancing.algorithm.type=round_robin", fault: "needs load_balancing.algorithm.type=weighted_random"},
	"a slow start of another algorithm":   {annotation: "target-group-attributes", value: "slow_start.duration_seconds=30,load_balancing.algorithm.type=weighted_random", fault: "must be 0"},
	"a cookie of the load balancer":       {annotation: "target-group-attributes", value: "stickiness.app_cookie.cookie_name=AWSALB-a", fault: "does not begin with AWSALB"},
	"an attribute of params": {do: func(in *input.Input, _ *networkingv1.Ingress) {
		in.Members[0], in.Members[1] = in.Members[1], in.Members[0]
		in.Members[0].Params = &v1beta1.IngressClassParams{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: v1beta1.IngressClassParamsSpec{
			LoadBalancerAttributes: []v1beta1.Attribute{{Key: "idle_timeout.timeout_seconds", Value: "0"}},
		}}
	}, fault: "IngressClassParams p, spec.loadBalancerAttributes: idle_timeout.timeout_seconds=0"},
	"an attribute of a listener in params": {do: func(in *input.Input, _ *networkingv1.Ingress) {
		in.Members[0], in.Members[1] = in.Members[1], in.Members[0]
		in.Members[0].Params = &v1beta1.IngressClassParams{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: v1beta1.IngressClassParamsSpec{
			Listeners: []v1beta1.Listener{{Protocol: "HTTP", Port: 80, ListenerAttributes: []v1beta1.Attribute{{Key: "a b"}}}},
		}}
	}, fault: `IngressClassParams p, spec.listeners: "a b" is no key of an attribute`},
	"a tag of AWS":                   {annotation: "tags", value: "aws:a=b", fault: `the key "aws:a": must be`},
	"a tag with a star":              {annotation: "tags", value: "a*=b", fault: `the key "a*": must be 1 to 128 letters`},
	"a tag with a star in its value": {do: annotateService("tags", "a=*"), fault: `the value "*" of the tag a: must be`},
	"a long tag":                     {annotation: "tags", value: "a=" + strings.Repeat("b", 257), fault: "of the tag a: must be at most 256"},
	"too many tags":                  {annotation: "tags", value: tagged("a", 48), fault: "the target group would have 51 tags"},
	"too many tags of the Service":   {annotation: "tags", value: tagged("a", 24), do: annotateService("tags", tagged("b", 24)), fault: "Service shop/b, annotation alb.ingress.kubernetes.io/tags"},
	"too many tags of the group":     {annotation: "tags", value: tagged("a", 24), do: agreeOn("tags", tagged("b", 24)), fault: "the load balancer would have 48 tags of the user's, and its quota is 47"},
	"a certificate of no form":       {annotation: "certificate-arn", value: "b", fault: `certificate-arn, value "b": "b": must be the ARN of a certificate`},
	"a certificate of params of no form": {do: func(in *input.Input, _ *networkingv1.Ingress) {
		in.Members[1].Params = &v1beta1.IngressClassParams{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: v1beta1.IngressClassParamsSpec{CertificateArn: []string{""}}}
	}, fault: "IngressClassParams p, spec.certificateArn: must be ARNs"},
	"a security group of no form":                        {annotation: "security-groups", value: "sg-x", fault: `"sg-x": must be an ID such as sg-`},
	"a prefix list of no form":                           {annotation: "security-group-prefix-lists", value: "x", fault: `"x": must be an ID such as pl-`},
	"a web ACL of WAF Classic, of no form":               {annotation: "web-acl-id", value: "a/b", fault: "must be the ID of a web ACL of AWS WAF Classic, or none"},
	"a web ACL of no form":                               {annotation: "wafv2-acl-arn", value: "acl", fault: "must be the ARN of a regional web ACL, or none"},
	"an internal load balancer without public addresses": {annotation: "ip-address-type", value: "dualstack-without-public-ipv4", fault: "the load balancer is internal: set another type"},
	"a resource as backend": {do: func(_ *input.Input, b *networkingv1.Ingress) {
		b.Spec.Rules[0].HTTP.Paths[0].Backend = networkingv1.IngressBackend{Resource: &corev1.TypedLocalObjectReference{}}
	}, fault: "resources cannot be backends"},
	"transforms":                          {annotation: "transforms.b", value: `[{"type":"url-rewrite"}]`, fault: "set urlRewriteConfig with one of rewrites"},
	"a kind of login":                     {annotation: "auth-type", value: "basic", fault: "must be none, oidc or cognito"},
	"a login nowhere":                     {annotation: "auth-type", value: "oidc", fault: "the annotation alb.ingress.kubernetes.io/auth-idp-oidc does not exist"},
	"a login of the Service's":            {do: annotateService("auth-type", "cognito"), fault: `Service shop/b, annotation alb.ingress.kubernetes.io/auth-type, value "cognito": the annotation`},
	"a Secret that is not there":          {do: login("no", nil), fault: "Secret shop/no does not exist"},
	"a Secret without a secret":           {do: login("half", nil), fault: "Secret shop/half has no key clientSecret"},
	"a login by HTTP":                     {do: login("good", map[string]string{"auth-idp-oidc": `{"issuer":"http://idp"}`}), fault: `issuer "http://idp": must be a URL that begins with https://`},
	"a session of a year":                 {do: login("good", map[string]string{"auth-session-timeout": "31536000"}), fault: "must be an integer from 1 to 604800"},
	"a login beside a token":              {do: login("good", map[string]string{"jwt-validation": `{"issuer":"i","jwksEndpoint":"https://j"}`}), fault: "set one of them"},
	"tokens of nobody":                    {annotation: "jwt-validation", value: "{}", fault: `issuer "": must be 1 to 256 characters`},
	"a trust store of that name":          {annotation: "mutual-authentication", value: `[{"port":443,"mode":"verify","trustStore":"no"}]`, fault: `the account has no trust store "no"`},
	"mutual TLS of no port":               {annotation: "mutual-authentication", value: "[]", fault: "list at least one entry"},
	"mutual TLS of too many ports":        {annotation: "mutual-authentication", value: "[" + listed(`{"port":4%02d,"mode":"off"}`, 51) + "]", fault: "has 51 entries, must be at most 50"},
	"mutual TLS without a trust store":    {annotation: "mutual-authentication", value: `[{"port":443,"mode":"verify"}]`, fault: "mode verify: set a trustStore, too"},
	"a pool that is none":                 {annotation: "ipam-ipv4-pool-id", value: "pool", fault: "must be an ID such as ipam-pool-"},
	"a pool without a name":               {annotation: "customer-owned-ipv4-pool", value: "", fault: "must be an ID such as ipv4pool-coip-"},
	"a pool for internal addresses":       {annotation: "ipam-ipv4-pool-id", value: "ipam-pool-1", fault: "the load balancer is internal and has no public addresses"},
	"a pool of an Outpost elsewhere":      {annotation: "customer-owned-ipv4-pool", value: "ipv4pool-coip-1", fault: "the load balancer has no subnet on an Outpost"},
	"a capacity in bytes":                 {annotation: "minimum-load-balancer-capacity", value: "Bytes=1", fault: "must be CapacityUnits=NUMBER"},
	"a capacity below zero":               {annotation: "minimum-load-balancer-capacity", value: "CapacityUnits=-1", fault: `CapacityUnits "-1": must be 0 or more`},
	"a web ACL of that ID":                {annotation: "waf-acl-id", value: "no", fault: `the account has no web ACL of AWS WAF Classic with the ID "no"`},
	"a web ACL of that name":              {annotation: "wafv2-acl-name", value: "no", fault: `the account has no regional web ACL "no"`},
	"regular expressions, or not":         {annotation: "use-regex-path-match", value: "maybe", do: anyPathType, fault: "must be true or false"},
	"a target type that is none":          {annotation: "target-type", value: "pod", fault: "must be instance or ip"},
	"a target type that is the Service's": {do: annotateService("target-type", "pod"), fault: `Service shop/b, annotation alb.ingress.kubernetes.io/target-type, value "pod"`},
	"a control port that is none":         {annotation: "target-control-port.b.80", value: "0", fault: `target-control-port.b.80, value "0": must be an integer from 1 to 65535`},
	"a control port of the Service's":     {do: annotateService("target-control-port.b.80", "x"), fault: `Service shop/b, annotation alb.ingress.kubernetes.io/target-control-port.b.80, value "x"`},
	"a control port of nodes": {annotation: "target-control-port.b.80", value: "3000", do: func(in *input.Input, b *networkingv1.Ingress) {
		b.Annotations[annotation.Prefix+"target-type"], serviceOf(in.Services, "b").Spec.Ports[0].NodePort = "instance", 30080
	}, fault: "AWS has control ports of pods alone, and the target type is instance"},
	"a protocol of targets":            {annotation: "backend-protocol", value: "TCP", fault: "must be HTTP or HTTPS"},
	"a protocol version":               {annotation: "backend-protocol-version", value: "HTTP3", fault: "must be HTTP1, HTTP2 or GRPC"},
	"attributes of target groups":      {annotation: "target-group-attributes", value: "k", fault: "has no equals sign"},
	"a health check port that is none": {annotation: "healthcheck-port", value: "admin", fault: "must be traffic-port, a number, or the name of a port of Service shop/b"},
	"a health check port that has a name": {annotation: "healthcheck-port", value: "http", do: func(in *input.Input, _ *networkingv1.Ingress) {
		serviceOf(in.Services, "b").Spec.Ports[0].TargetPort.Type, serviceOf(in.Services, "b").Spec.Ports[0].TargetPort.StrVal = 1, "web"
	}, fault: `this port's targetPort is the name "web"`},
	"an interval":          {annotation: "healthcheck-interval-seconds", value: "1", fault: "must be an integer from 5 to 300"},
	"a tag of the Service": {do: annotateService("tags", "aws:cluster=x"), fault: "Service shop/b, annotation alb.ingress.kubernetes.io/tags"},
	"a Service of IPv6": {do: func(in *input.Input, _ *networkingv1.Ingress) {
		serviceOf(in.Services, "b").Spec.IPFamilies = []corev1.IPFamily{"IPv6"}
	}, fault: "the Service has IPv6 in spec.ipFamilies, and the load balancer is ipv4"},
	"an order that is none": {do: func(in *input.Input, _ *networkingv1.Ingress) {
		in.Members[1].Fault = &fault.Fault{Reason: "no order"}
	}, fault: "no order"},
	"params of a scheme that is none": {do: func(in *input.Input, _ *networkingv1.Ingress) {
		in.Members[1].Params = &v1beta1.IngressClassParams{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: v1beta1.IngressClassParamsSpec{Scheme: new("x")}}
	}, fault: `IngressClassParams p, spec.scheme, value "x"`},
	"more rules than the quota": {do: func(in *input.Input, b *networkingv1.Ingress) {
		in.Options.Limits.Rules = 9
		path := b.Spec.Rules[0].HTTP.Paths[0]
		path.Path = "/more"
		b.Spec.Rules[0].HTTP.Paths = append(b.Spec.Rules[0].HTTP.Paths, path)
	}, fault: "the load balancer would have 10 rules, and its quota is 9"},
	"more target groups than the quota": {annotation: "actions.act", value: weighted("b", "c"), do: func(in *input.Input, _ *networkingv1.Ingress) {
		in.Options.Limits.TargetGroups = 2
		in.Members = append(in.Members[:1:1], in.Members[2], in.Members[1])
	}, fault: "the load balancer would have 4 target groups, and its quota is 2"},
	"more certificates than the quota": {do: func(in *input.Input, b *networkingv1.Ingress) {
		in.Options.Limits.Certificates = 1
		b.Spec.Rules[0].Host = "b.example.org"
		for _, arn := range []string{"1", "2"} {
			in.AWS.Certificates = append(in.AWS.Certificates, lookup.Certificate{ARN: arn, Domains: []string{"b.example.org"}})
		}
	}, fault: "the load balancer would have 2 certificates besides the default ones, and its quota is 1"},
}

func agreeOn(name, value string) func(*input.Input, *networkingv1.Ingress) {
	return func(in *input.Input, _ *networkingv1.Ingress) { annotate(in, 0, annotation.Prefix+name, value) }
}

func annotateService(name, value string) func(*input.Input, *networkingv1.Ingress) {
	return func(in *input.Input, _ *networkingv1.Ingress) {
		serviceOf(in.Services, "b").Annotations = map[string]string{annotation.Prefix + name: value}
	}
}

// login has users log in with that Secret, and sets the annotations besides.
func login(secret string, annotations map[string]string) func(*input.Input, *networkingv1.Ingress) {
	return func(in *input.Input, b *networkingv1.Ingress) {
		in.Secrets = map[types.NamespacedName]lookup.Secret{
			{Namespace: "shop", Name: "no"}:   {Reason: "does not exist: create it"},
			{Namespace: "shop", Name: "half"}: lookup.ReadSecret(&corev1.Secret{Data: map[string][]byte{"clientID": []byte("id")}}),
			{Namespace: "shop", Name: "good"}: {ClientID: "id", Secret: "hidden", Version: "uid/1"},
		}
		b.Annotations[annotation.Prefix+"auth-type"] = "oidc"
		b.Annotations[annotation.Prefix+"auth-idp-oidc"] = `{"issuer":"https://idp","authorizationEndpoint":"https://idp/a","tokenEndpoint":"https://idp/t",` +
			`"userInfoEndpoint":"https://idp/u","secretName":"` + secret + `"}`
		for name, value := range annotations {
			b.Annotations[annotation.Prefix+name] = value
		}
	}
}

func anyPathType(_ *input.Input, b *networkingv1.Ingress) {
	b.Spec.Rules[0].HTTP.Paths[0].PathType = new(networkingv1.PathTypeImplementationSpecific)
}

func tagged(key string, n int) string { return listed(key+"%d=x", n) }

// listed is a list of so many items that have their index in them.
func listed(item string, n int) string {
	items := make([]string, n)
	for i := range items {
		items[i] = fmt.Sprintf(item, i)
	}
	return strings.Join(items, ",")
}

func redirectOf(config string) string { return `{"type":"redirect","redirectConfig":{` + config + `}}` }

func weighted(services ...string) string {
	targets := make([]string, len(services))
	for i, service := range services {
		targets[i] = fmt.Sprintf(`{"serviceName":%q,"servicePort":80,"weight":1}`, service)
	}
	return `{"type":"forward","forwardConfig":{"targetGroups":[` + strings.Join(targets, ",") + `]}}`
}

// A member that is broken in any way is held and says why; the others are built as if it were not there.
func TestBrokenMemberHarmsOnlyItself(t *testing.T) {
	for name, tc := range breaks {
		t.Run(name, func(t *testing.T) {
			in := three(t)
			b := in.Members[1].Ingress
			if tc.annotation != "" {
				annotate(&in, 1, annotation.Prefix+tc.annotation, tc.value)
			}
			if tc.do != nil {
				tc.do(&in, b)
			}
			got, faults := Build(in)
			without := in
			without.Members = slices.DeleteFunc(slices.Clone(in.Members), func(m membership.Member) bool { return m.Ingress == b })
			want, _ := Build(without)
			if diff := cmp.Diff(rulesOf(want, ""), rulesOf(got, "shop/b"), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("rules of the others (-without it +with it):\n%s", diff)
			}
			if diff := cmp.Diff(want.TargetGroups, got.TargetGroups, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("target groups (-without it +with it):\n%s", diff)
			}
			for _, member := range got.Members {
				if member.Held != (member.Name == "shop/b") {
					t.Errorf("%s is held: %v", member.Name, member.Held)
				}
			}
			if !slices.ContainsFunc(faults, func(f fault.Fault) bool {
				return f.Member == "shop/b" && !f.IsWarning() && strings.Contains(f.Error(), tc.fault)
			}) {
				t.Errorf("no fault %q of shop/b in %v", tc.fault, faults)
			}
			for _, fault := range faults {
				if !fault.IsWarning() && fault.Member != "shop/b" {
					t.Errorf("%s has a fault: %v", fault.Member, fault)
				}
			}
			if len(want.LoadBalancers) != 1 || len(rulesOf(want, "")) == 0 {
				t.Errorf("the others have no rules: the test shows nothing")
			}
		})
	}
}
