// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package accepted

import (
	"fmt"
	"math/rand/v2"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/v1beta1"
)

// many are n items.
func many(n int, item string) string {
	items := make([]string, n)
	for i := range items {
		items[i] = strings.ReplaceAll(item, "#", fmt.Sprint(i))
	}
	return strings.Join(items, ",")
}

func long(n int) string { return strings.Repeat("a", n) }

// values are those that annotations may have, by their names: good, odd and bad ones. The Service of the member is web.
// provider is an OpenID Connect provider that is reached by that scheme.
func provider(scheme string) string {
	return strings.ReplaceAll(`{"issuer":"SCHEME://idp.example","authorizationEndpoint":"SCHEME://idp.example/a","tokenEndpoint":"SCHEME://idp.example/t",`+
		`"userInfoEndpoint":"SCHEME://idp.example/u","secretName":"idp"}`, "SCHEME", scheme)
}

const pool = `{"userPoolARN":"arn:aws:cognito-idp:eu-west-1:123456789012:userpool/p","userPoolClientID":"id","userPoolDomain":"d"}`

var values = map[string][]string{
	"load-balancer-name":                  {"edge", "a-", "-a", "internal-a", long(32), long(33), "a b", "ä", ""},
	"scheme":                              {"internal", "internet-facing", "public", ""},
	"ip-address-type":                     {"ipv4", "dualstack", "dualstack-without-public-ipv4", "ipv6"},
	"subnets":                             {"subnet-0a000000000000001,subnet-0b000000000000002", "subnet-0a000000000000001", "subnet-0a000000000000001,subnet-0a000000000000001", "subnet-0a000000000000001,subnet-0a000000000000006", "subnet-x", "none", ","},
	"security-groups":                     {"given", "sg-", "sg-0123456789abcdef0", "sg-xyz", "none", "given,given", many(6, "sg-0123456789abcde0#"), ""},
	"manage-backend-security-group-rules": {"true", "false", "perhaps"},
	"load-balancer-attributes": {
		"idle_timeout.timeout_seconds=600", "idle_timeout.timeout_seconds=0", "idle_timeout.timeout_seconds=4001", "idle_timeout.timeout_seconds=x",
		"idle_timeout.timeout_seconds=", "routing.http2.enabled=false", "client_keep_alive.seconds=59",
		"deletion_protection.enabled=yes", "routing.http.desync_mitigation_mode=lax", "a b=c", "ä=c", "load_balancing.cross_zone.enabled=false",
		"access_logs.s3.enabled=true", "access_logs.s3.enabled=true,access_logs.s3.bucket=logs", "routing.http.xff_header_processing.mode=drop",
		long(257) + "=a", "access_logs.s3.prefix=" + long(1025), "unheard.of=1",
	},
	"wafv2-acl-arn":                  {"WEBACL", "none", "", "acl", "arn:aws:wafv2:us-east-1:123456789012:global/webacl/a/b", "arn:aws:wafv2:eu-west-1:123456789012:regional/webacl/a/b"},
	"tags":                           {"a=b", "=b", "a", "aws:a=b", "AWS:a=b", "a*=b", "a=b*", "a=", long(128) + "=b", long(129) + "=b", "a=" + long(256), "a=" + long(257), many(30, "k#=v"), many(46, "k#=v"), many(47, "k#=v"), many(48, "k#=v"), many(51, "k#=v"), "ä=ü", "a=b<c", "ingress.k8s.aws/stack=x"},
	"inbound-cidrs":                  {"10.0.0.0/8", "10.0.0.1/8", "10.0.0.0", "::/0", "10.0.0.0/8,10.0.0.1/8", "0.0.0.0/0, 0.0.0.0/0", many(61, "10.0.#.0/24"), many(31, "10.0.#.0/24"), "::ffff:10.0.0.0/104", "2001:db8::1/64", "x", ""},
	"security-group-prefix-lists":    {"pl-0123456789abcdef0", "pl-0123456789abcdef0,pl-0123456789abcdef0", "pl-1", "pl-xyz", "x", "sg-0123456789abcdef0", "10.0.0.0/8"},
	"create-acm-cert":                {"true", "yes", ""},
	"acm-pca-arn":                    {"", "x"},
	"certificate-arn":                {certificate, certificate + "," + another, certificate + "," + certificate, "x", "arn:aws:acm", "arn:aws:acm:eu-west-1:123456789012:certificate/gone", "", many(27, "arn:aws:acm:eu-west-1:123456789012:certificate/#")},
	"ssl-policy":                     {"ELBSecurityPolicy-TLS13-1-2-2021-06", "x", "ELBSecurityPolicy-2099-01", "", "a b"},
	"ssl-redirect":                   {"443", "80", "8443", "0", "65536", "https"},
	"listen-ports":                   {`[{"HTTP":80}]`, `[{"HTTPS":443}]`, `[{"HTTP":0}]`, `[{"HTTP":65536}]`, `[{"HTTP":-1}]`, `[{"HTTP":80},{"HTTPS":80}]`, `[{"HTTP":80},{"HTTP":80}]`, `[{"HTTP":80,"HTTPS":443}]`, `[{"TCP":80}]`, `[]`, `x`, `null`, "[" + many(51, `{"HTTP":90#}`) + "]", "[" + many(29, `{"HTTP":90#}`) + "]"},
	"listener-attributes.HTTP-80":    {"routing.http.response.server.enabled=false", "routing.http.response.server.enabled=no", "a b=c", "unheard.of=1", "routing.http.response.x_frame_options.header_value=DENY"},
	"listener-attributes.HTTPS-443":  {"routing.http.request.x_amzn_tls_version.header_name=X-TLS", "routing.http.response.server.enabled=1", "tcp.idle_timeout.seconds=1"},
	"waf-acl-id":                     {"CLASSIC", "none", "", "8d1e4a3c-0b52-4f8e-9a41-6c7d2e5f9b10", "arn:aws:waf-regional:eu-west-1:123456789012:webacl/a"},
	"web-acl-id":                     {"CLASSIC", "none"},
	"wafv2-acl-name":                 {"acl", "none", "other", ""},
	"minimum-load-balancer-capacity": {"CapacityUnits=1000", "CapacityUnits=0", "CapacityUnits=-1", "CapacityUnits=15001", "Units=1", ""},
	"shield-advanced-protection":     {"true", "false", "perhaps"},
	"ipam-ipv4-pool-id":              {"ipam-pool-1", "ipam-pool-", "pool", ""},
	"customer-owned-ipv4-pool":       {"ipv4pool-coip-1", "pool", ""},
	"mutual-authentication": {
		`[{"port":443,"mode":"off"}]`, `[{"port":443,"mode":"passthrough"}]`, `[{"port":443,"mode":"verify","trustStore":"partners"}]`,
		`[{"port":443,"mode":"verify","trustStore":"partners","ignoreClientCertificateExpiry":true,"advertiseTrustStoreCaNames":"on"}]`,
		`[{"port":443,"mode":"verify"}]`, `[{"port":443,"mode":"off","trustStore":"partners"}]`, `[{"port":80,"mode":"passthrough"}]`,
		`[{"port":443,"mode":"verify","trustStore":"other"}]`, `[{"mode":"off"}]`, "[]", "",
	},
	"jwt-validation": {
		`{"jwksEndpoint":"https://idp.example/keys","issuer":"idp"}`, `{"jwksEndpoint":"http://idp.example/keys","issuer":"idp"}`,
		`{"jwksEndpoint":"https://idp.example/keys"}`, `{"issuer":"idp"}`, "{}", "",
		`{"jwksEndpoint":"https://idp.example/keys","issuer":"idp","additionalClaims":[{"format":"string-array","name":"aud","values":["a"]}]}`,
		`{"jwksEndpoint":"https://idp.example/keys","issuer":"idp","additionalClaims":[{"format":"json","name":"aud","values":["a"]}]}`,
		`{"jwksEndpoint":"https://idp.example/keys","issuer":"idp","additionalClaims":[{"format":"single-string","name":"exp","values":["a"]}]}`,
		`{"jwksEndpoint":"https://idp.example/keys","issuer":"idp","additionalClaims":[{"format":"single-string","name":"aud","values":[]}]}`,
		`{"jwksEndpoint":"https://idp.example/keys","issuer":"` + long(257) + `"}`,
		`{"jwksEndpoint":"https://idp.example/keys","issuer":"idp","additionalClaims":[{"format":"space-separated-values","name":"aud","values":["a b"]}]}`,
	},
	"auth-type":                       {"oidc", "cognito", "none", "basic", ""},
	"auth-idp-oidc":                   {provider("https"), provider("http"), "{}", ""},
	"auth-idp-cognito":                {pool, "{}", ""},
	"auth-on-unauthenticated-request": {"deny", "allow", "authenticate", "ask"},
	"auth-scope":                      {"openid email", ""},
	"auth-session-cookie":             {"c", ""},
	"auth-session-timeout":            {"1", "604800", "604801", "0"},
	"transforms.web": {
		`[{"type":"url-rewrite","urlRewriteConfig":{"rewrites":[{"regex":"^/a(.*)","replace":"/$1"}]}}]`,
		`[{"type":"host-header-rewrite","hostHeaderRewriteConfig":{"rewrites":[{"regex":"a","replace":"b"}]}}]`,
		`[{"type":"url-rewrite","urlRewriteConfig":{"rewrites":[{"regex":"","replace":""}]}}]`,
		`[{"type":"url-rewrite","urlRewriteConfig":{"rewrites":[]}}]`, `[{"type":"url-rewrite"}]`, `[{"type":"path"}]`, "[]", "",
		`[{"type":"url-rewrite","urlRewriteConfig":{"rewrites":[{"regex":"` + long(1025) + `","replace":""}]}}]`,
	},
	"actions.act": {
		``, `x`, `{}`, `null`, `{"type":"forward"}`, `{"type":"fixed-response"}`,
		`{"type":"fixed-response","fixedResponseConfig":{"statusCode":"200"}}`,
		`{"type":"fixed-response","fixedResponseConfig":{"statusCode":"301"}}`,
		`{"type":"fixed-response","fixedResponseConfig":{"statusCode":"600"}}`,
		`{"type":"fixed-response","fixedResponseConfig":{"statusCode":"x"}}`,
		`{"type":"fixed-response","fixedResponseConfig":{"statusCode":"404","contentType":"image/png"}}`,
		`{"type":"fixed-response","fixedResponseConfig":{"statusCode":"404","contentType":"text/html","messageBody":"` + long(1024) + `"}}`,
		`{"type":"fixed-response","fixedResponseConfig":{"statusCode":"404","messageBody":"` + long(1025) + `"}}`,
		`{"type":"fixed-response","fixedResponseConfig":{"statusCode":"404","messageBody":"` + strings.Repeat("ä", 1024) + `"}}`,
		`{"type":"redirect","redirectConfig":{"statusCode":"HTTP_301"}}`,
		`{"type":"redirect","redirectConfig":{"statusCode":"HTTP_301","query":"a=b"}}`,
		`{"type":"redirect","redirectConfig":{"statusCode":"HTTP_307","path":"/new"}}`,
		`{"type":"redirect","redirectConfig":{"statusCode":"301","path":"/new"}}`,
		`{"type":"redirect","redirectConfig":{"statusCode":"HTTP_302","path":"new"}}`,
		`{"type":"redirect","redirectConfig":{"statusCode":"HTTP_302","path":""}}`,
		`{"type":"redirect","redirectConfig":{"statusCode":"HTTP_302","path":"/` + long(128) + `"}}`,
		`{"type":"redirect","redirectConfig":{"statusCode":"HTTP_302","host":"","path":"/new"}}`,
		`{"type":"redirect","redirectConfig":{"statusCode":"HTTP_302","host":"` + long(129) + `"}}`,
		`{"type":"redirect","redirectConfig":{"statusCode":"HTTP_302","host":"new.#{host}"}}`,
		`{"type":"redirect","redirectConfig":{"statusCode":"HTTP_302","port":"0"}}`,
		`{"type":"redirect","redirectConfig":{"statusCode":"HTTP_302","port":"65536"}}`,
		`{"type":"redirect","redirectConfig":{"statusCode":"HTTP_302","port":"https"}}`,
		`{"type":"redirect","redirectConfig":{"statusCode":"HTTP_302","port":""}}`,
		`{"type":"redirect","redirectConfig":{"statusCode":"HTTP_302","protocol":"http"}}`,
		`{"type":"redirect","redirectConfig":{"statusCode":"HTTP_302","protocol":"HTTP","port":"80"}}`,
		`{"type":"redirect","redirectConfig":{"statusCode":"HTTP_302","protocol":"HTTPS","port":"443"}}`,
		`{"type":"redirect","redirectConfig":{"statusCode":"HTTP_302","path":"/new","query":"` + long(129) + `"}}`,
		`{"type":"redirect","redirectConfig":{"statusCode":"HTTP_302","path":"/new","query":""}}`,
		forwardTo("web 1", "web 1"), forwardTo("web 0", "other 0"), forwardTo("web 999", "other 1"), forwardTo("web 1000", "other 1"),
		forwardTo("web -1", "other 1"), forwardTo("web 1", "gone 1"),
		forwardTo("web 1", "other 1", "web 1", "other 1", "web 1", "other 1"),
		strings.Replace(forwardTo("web 1", "other 1"), `}]}`, `}],"targetGroupStickinessConfig":{"enabled":true,"durationSeconds":604801}}`, 1),
		strings.Replace(forwardTo("web 1", "other 1"), `}]}`, `}],"targetGroupStickinessConfig":{"enabled":true}}`, 1),
		strings.Replace(forwardTo("web 1", "other 1"), `}]}`, `}],"targetGroupStickinessConfig":{"enabled":true,"durationSeconds":60}}`, 1),
		`{"type":"forward","targetGroupARN":"x"}`, `{"type":"forward","targetGroupARN":"arn:aws:elasticloadbalancing:eu-west-1:123456789012:targetgroup/gone/0123456789abcdef"}`,
		`{"type":"forward","targetGroupARN":"arn:aws:elasticloadbalancing:eu-west-1:123456789012:loadbalancer/app/a/b"}`,
		`{"type":"forward","targetGroupName":"gone"}`,
	},
	"conditions.web": {
		`x`, `[]`, `null`, `{}`, `[{}]`,
		`[{"field":"host-header","hostHeaderConfig":{"values":["a.example.com"]}}]`,
		`[{"field":"host-header","hostHeaderConfig":{"values":["a_b.example.com"]}}]`,
		`[{"field":"host-header","hostHeaderConfig":{"values":["` + long(125) + `.com"]}}]`,
		`[{"field":"host-header","hostHeaderConfig":{"values":["localhost"]}}]`,
		`[{"field":"host-header","hostHeaderConfig":{"values":["a.example.com:80"]}}]`,
		`[{"field":"host-header","hostHeaderConfig":{"values":["ä.example.com"]}}]`,
		`[{"field":"host-header","hostHeaderConfig":{"values":[""]}}]`,
		`[{"field":"host-header","hostHeaderConfig":{"regexValues":["^a"]}}]`,
		`[{"field":"path-pattern","pathPatternConfig":{"values":["/a/*"]}}]`,
		`[{"field":"path-pattern","pathPatternConfig":{"values":["/*/*/*/*/*/*"]}}]`,
		`[{"field":"path-pattern","pathPatternConfig":{"values":["/a b"]}}]`,
		`[{"field":"path-pattern","pathPatternConfig":{"values":["/#"]}}]`,
		`[{"field":"path-pattern","pathPatternConfig":{"values":["/ä"]}}]`,
		`[{"field":"path-pattern","pathPatternConfig":{"values":[""]}}]`,
		`[{"field":"http-header","httpHeaderConfig":{"httpHeaderName":"X-A","values":["a"]}}]`,
		`[{"field":"http-header","httpHeaderConfig":{"httpHeaderName":"Host","values":["a"]}}]`,
		`[{"field":"http-header","httpHeaderConfig":{"httpHeaderName":"X A","values":["a"]}}]`,
		`[{"field":"http-header","httpHeaderConfig":{"httpHeaderName":"` + long(41) + `","values":["a"]}}]`,
		`[{"field":"http-header","httpHeaderConfig":{"httpHeaderName":"X-A","values":["` + long(129) + `"]}}]`,
		`[{"field":"http-header","httpHeaderConfig":{"httpHeaderName":"X-A","values":[""]}}]`,
		`[{"field":"http-header","httpHeaderConfig":{"httpHeaderName":"X-A","regexValues":["(a"]}}]`,
		`[{"field":"http-header","httpHeaderConfig":{"httpHeaderName":"X-A","regexValues":["` + long(129) + `"]}}]`,
		`[{"field":"http-header","httpHeaderConfig":{"httpHeaderName":"X-A","regexValues":[""]}}]`,
		`[{"field":"http-header","httpHeaderConfig":{"httpHeaderName":"A","values":["a"]}},{"field":"http-header","httpHeaderConfig":{"httpHeaderName":"B","values":["b"]}}]`,
		`[{"field":"http-request-method","httpRequestMethodConfig":{"values":["GET"]}}]`,
		`[{"field":"http-request-method","httpRequestMethodConfig":{"values":["get"]}}]`,
		`[{"field":"http-request-method","httpRequestMethodConfig":{"values":["` + strings.ToUpper(long(41)) + `"]}}]`,
		`[{"field":"http-request-method","httpRequestMethodConfig":{"values":["GET"]}},{"field":"http-request-method","httpRequestMethodConfig":{"values":["HEAD"]}}]`,
		`[{"field":"query-string","queryStringConfig":{"values":[{"key":"a","value":"b"}]}}]`,
		`[{"field":"query-string","queryStringConfig":{"values":[{"key":"a"}]}}]`,
		`[{"field":"query-string","queryStringConfig":{"values":[{"value":"` + long(129) + `"}]}}]`,
		`[{"field":"query-string","queryStringConfig":{"values":[{"key":"` + long(129) + `","value":"a"}]}}]`,
		`[{"field":"query-string","queryStringConfig":{"values":[{"key":"","value":"a"}]}}]`,
		`[{"field":"source-ip","sourceIpConfig":{"values":["10.0.0.0/8"]}}]`,
		`[{"field":"source-ip","sourceIpConfig":{"values":["10.0.0.1/8"]}}]`,
		`[{"field":"source-ip","sourceIpConfig":{"values":["10.0.0.1"]}}]`,
		`[{"field":"source-ip","sourceIpConfig":{"values":["2001:db8::/32"]}}]`,
		`[{"field":"source-ip","sourceIpConfig":{"values":["10.0.0.0/8"]}},{"field":"source-ip","sourceIpConfig":{"values":["10.0.0.0/9"]}}]`,
	},
	"use-regex-path-match":     {"true", "false", "x"},
	"target-type":              {"ip", "instance", "lambda"},
	"backend-protocol":         {"HTTP", "HTTPS", "TCP", "http"},
	"backend-protocol-version": {"HTTP1", "HTTP2", "GRPC", "http2"},
	"target-group-attributes": {
		"stickiness.enabled=true", "stickiness.enabled=yes", "stickiness.enabled=true,stickiness.type=app_cookie",
		"stickiness.enabled=true,stickiness.type=app_cookie,stickiness.app_cookie.cookie_name=a", "stickiness.app_cookie.cookie_name=AWSALBTG-a",
		"stickiness.enabled=true,stickiness.type=lb_cookie,stickiness.lb_cookie.duration_seconds=604801", "stickiness.type=source_ip",
		"deregistration_delay.timeout_seconds=30", "deregistration_delay.timeout_seconds=3601", "deregistration_delay.timeout_seconds=-1",
		"deregistration_delay.timeout_seconds=1.5", "slow_start.duration_seconds=30", "slow_start.duration_seconds=29", "slow_start.duration_seconds=901",
		"slow_start.duration_seconds=0", "load_balancing.algorithm.type=random", "load_balancing.algorithm.type=weighted_random",
		"load_balancing.algorithm.type=least_outstanding_requests,slow_start.duration_seconds=30",
		"load_balancing.algorithm.type=weighted_random,slow_start.duration_seconds=30", "load_balancing.algorithm.anomaly_mitigation=on",
		"load_balancing.algorithm.type=weighted_random,load_balancing.algorithm.anomaly_mitigation=on",
		"target_group_health.dns_failover.minimum_healthy_targets.count=off", "target_group_health.dns_failover.minimum_healthy_targets.count=0",
		"target_group_health.unhealthy_state_routing.minimum_healthy_targets.percentage=101", "preserve_client_ip.enabled=true", "a b=c", "unheard.of=1",
	},
	"healthcheck-port":             {"traffic-port", "8080", "0", "65536", "-1", "http", "gone", "", " 80"},
	"healthcheck-protocol":         {"HTTP", "HTTPS", "TCP", ""},
	"healthcheck-path":             {"/", "/health", "health", "", "/" + long(1023), "/" + long(1024), "/ä", "/a?b=c", "/a b", "/a/B.c/d"},
	"healthcheck-interval-seconds": {"5", "15", "4", "300", "301", "x", "5.5", "6"},
	"healthcheck-timeout-seconds":  {"2", "1", "15", "120", "121", "14", "x"},
	"healthy-threshold-count":      {"1", "2", "10", "11"},
	"unhealthy-threshold-count":    {"1", "2", "10", "11"},
	"success-codes":                {"200", "200,202", "200-299", "299-200", "199", "500", "200-500", "0-99", "12", "", "x", "200-", "2xx", "200,,201"},
	"target-control-port.web.80":   {"3000", "1", "65535", "0", "65536", "x", ""},
	"target-node-labels":           {"a=b", "a=", "=b", "a"},
	"multi-cluster-target-group":   {"true", "x"},
	"group.order":                  {"1", "x"},

	"enable-frontend-nlb":                                {"true", "false", "perhaps"},
	"frontend-nlb-scheme":                                {"internal", "internet-facing", "public"},
	"frontend-nlb-subnets":                               {"subnet-0a000000000000001", "subnet-0a000000000000001,subnet-0b000000000000002", "subnet-0a000000000000001,subnet-0a000000000000006", "subnet-x", "none", ""},
	"frontend-nlb-eip-allocations":                       {"eipalloc-0a,eipalloc-0b", "eipalloc-0a", "eip", ""},
	"frontend-nlb-security-groups":                       {"given", "sg-0123456789abcdef0", "none", ""},
	"frontend-nlb-listener-port-mapping":                 {"8080=80", "80=80,8443=443", "80=8081", "0=80", "80=65536", "80", "x=80", ""},
	"frontend-nlb-healthcheck-port":                      {"traffic-port", "80", "0", "65536", "http", ""},
	"frontend-nlb-healthcheck-protocol":                  {"HTTP", "HTTPS", "TCP"},
	"frontend-nlb-healthcheck-path":                      {"/", "/health", "health", "/" + long(1023), "/" + long(1024)},
	"frontend-nlb-healthcheck-interval-seconds":          {"5", "6", "300", "301", "4", "x"},
	"frontend-nlb-healthcheck-timeout-seconds":           {"2", "14", "15", "120", "121", "1"},
	"frontend-nlb-healthcheck-healthy-threshold-count":   {"2", "10", "11", "1"},
	"frontend-nlb-healthcheck-unhealthy-threshold-count": {"2", "10", "11", "1"},
	"frontend-nlb-healthcheck-success-codes":             {"200", "200-399", "200,404", "199", "599", "600", "", "x"},
	"frontend-nlb-attributes":                            {"load_balancing.cross_zone.enabled=true", "deletion_protection.enabled=true", "dns_record.client_routing_policy=availability_zone_affinity", "dns_record.client_routing_policy=near", "idle_timeout.timeout_seconds=60", "a b=c", "a"},
	"frontend-nlb-tags":                                  {"team=edge", "aws:a=b", "a", "ingress.k8s.aws/stack=x", many(51, "k#=v")},
	"group.name":                                         {"edge", "Edge"},
}

// forwardTo is a forward to Services, each "name weight".
func forwardTo(services ...string) string {
	var targets []string
	for _, text := range services {
		name, weight, _ := strings.Cut(text, " ")
		targets = append(targets, fmt.Sprintf(`{"serviceName":%q,"servicePort":80,"weight":%s}`, name, weight))
	}
	return `{"type":"forward","forwardConfig":{"targetGroups":[` + strings.Join(targets, ",") + `]}}`
}

// quirk is something that is odd about a member.
type quirk struct {
	name string
	do   func(m *member)
}

// member is an Ingress with what it uses.
type member struct {
	ingress    *networkingv1.Ingress
	params     *v1beta1.IngressClassParams
	web, other *corev1.Service
	quirks     []string
}

// path is the first one with a Service, else one that does not count.
func (m *member) path() *networkingv1.HTTPIngressPath {
	if rules := m.ingress.Spec.Rules; len(rules) > 0 && rules[0].HTTP != nil && rules[0].HTTP.Paths[0].Backend.Service != nil {
		return &rules[0].HTTP.Paths[0]
	}
	return &networkingv1.HTTPIngressPath{Backend: networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{}}}
}

// port is that of the Service web, else one that does not count.
func (m *member) port() *corev1.ServicePort {
	if ports := m.web.Spec.Ports; len(ports) > 0 {
		return &ports[0]
	}
	return &corev1.ServicePort{}
}

// quirks are all that there are.
func quirks() (out []quirk) {
	for name, texts := range values {
		for _, text := range texts {
			shown := fmt.Sprintf("%s=%.200q", name, text)
			out = append(out, quirk{shown, func(m *member) { m.ingress.Annotations[annotation.Prefix+name] = text }})
			if row := annotation.Lookup(annotation.Prefix + name); row.Scope == annotation.OfTargetGroup {
				out = append(out, quirk{"Service " + shown, func(m *member) { m.web.Annotations[annotation.Prefix+name] = text }})
			}
		}
	}
	for _, name := range []string{"auth-idp-oidc", "auth-idp-cognito", "auth-on-unauthenticated-request", "auth-scope", "auth-session-cookie", "auth-session-timeout"} {
		for _, text := range values[name] {
			out = append(out, quirk{fmt.Sprintf("login with %s=%.200q", name, text), func(m *member) {
				kind := "oidc"
				if name == "auth-idp-cognito" {
					kind = "cognito"
				}
				m.ingress.Annotations[annotation.Prefix+"auth-type"] = kind
				m.ingress.Annotations[annotation.Prefix+"auth-idp-oidc"] = provider("https")
				m.ingress.Annotations[annotation.Prefix+name] = text
			}})
		}
	}
	for name, texts := range values {
		for _, text := range texts {
			if strings.HasPrefix(name, "frontend-nlb-") {
				out = append(out, quirk{fmt.Sprintf("in front with %s=%.200q", name, text), func(m *member) {
					m.ingress.Annotations[annotation.Prefix+"enable-frontend-nlb"] = "true"
					m.ingress.Annotations[annotation.Prefix+"scheme"] = "internet-facing"
					m.ingress.Annotations[annotation.Prefix+"frontend-nlb-scheme"] = "internet-facing"
					m.ingress.Annotations[annotation.Prefix+name] = text
				}})
			}
		}
	}
	return append(append(out, specQuirks()...), paramsQuirks()...)
}

func specQuirks() (out []quirk) {
	for _, host := range []string{"", "example.com", "*.example.com", long(63) + ".example.com", strings.Repeat(long(60)+".", 4) + "com", "localhost", "1.2.3", "xn--e1afmkfd.xn--p1ai"} {
		out = append(out, quirk{"host " + host, func(m *member) {
			for i := range m.ingress.Spec.Rules {
				m.ingress.Spec.Rules[i].Host = host
			}
			m.ingress.Annotations[annotation.Prefix+"certificate-arn"] = certificate
		}})
	}
	types := []networkingv1.PathType{networkingv1.PathTypeExact, networkingv1.PathTypePrefix, networkingv1.PathTypeImplementationSpecific}
	for _, kind := range types {
		for _, path := range []string{"", "/", "/a", "/a/", "/" + long(125), "/" + long(126), "/" + long(127), "/" + long(128), "/ä", "/a b", "/a%20b", "/a*b?c", "/*/*/*/*/*/*/*", "/a#b", "/{id}", "/(a", "/a|b", "a", "/a,b;c=d"} {
			out = append(out, quirk{fmt.Sprintf("%s path %s", kind, path), func(m *member) { m.path().Path, m.path().PathType = path, &kind }})
			if kind == networkingv1.PathTypeImplementationSpecific {
				out = append(out, quirk{"regular expression " + path, func(m *member) {
					m.path().Path, m.path().PathType = path, &kind
					m.ingress.Annotations[annotation.Prefix+"use-regex-path-match"] = "true"
				}})
			}
		}
	}
	for name, do := range map[string]func(m *member){
		"a port by name":              func(m *member) { m.path().Backend.Service.Port = networkingv1.ServiceBackendPort{Name: "http"} },
		"a port that is not there":    func(m *member) { m.path().Backend.Service.Port.Number = 81 },
		"a Service that is not there": func(m *member) { m.path().Backend.Service.Name = "gone" },
		"a resource": func(m *member) {
			m.path().Backend = networkingv1.IngressBackend{Resource: &corev1.TypedLocalObjectReference{Kind: "a", Name: "b"}}
		},
		"a default backend": func(m *member) { m.ingress.Spec.DefaultBackend = m.path().Backend.DeepCopy() },
		"a default backend of gRPC": func(m *member) {
			m.ingress.Spec.DefaultBackend = m.path().Backend.DeepCopy()
			m.ingress.Annotations[annotation.Prefix+"backend-protocol-version"] = "GRPC"
			m.ingress.Annotations[annotation.Prefix+"listen-ports"] = `[{"HTTPS":443}]`
		},
		"gRPC behind ssl-redirect": func(m *member) {
			m.ingress.Annotations[annotation.Prefix+"backend-protocol-version"] = "GRPC"
			m.ingress.Annotations[annotation.Prefix+"ssl-redirect"] = "443"
		},
		"gRPC on HTTPS with a health check": func(m *member) {
			m.ingress.Annotations[annotation.Prefix+"backend-protocol-version"] = "GRPC"
			m.ingress.Annotations[annotation.Prefix+"listen-ports"] = `[{"HTTPS":443}]`
			m.ingress.Annotations[annotation.Prefix+"success-codes"] = "200"
		},
		"no rules": func(m *member) { m.ingress.Spec.Rules = nil },
		"a rule of nothing": func(m *member) {
			for i := range m.ingress.Spec.Rules {
				m.ingress.Spec.Rules[i].HTTP = nil
			}
		},
		"101 paths": func(m *member) {
			for i := range 100 {
				path := m.path()
				path.Path = fmt.Sprint("/", i)
				for j := range m.ingress.Spec.Rules[:min(1, len(m.ingress.Spec.Rules))] {
					if http := m.ingress.Spec.Rules[j].HTTP; http != nil {
						http.Paths = append(http.Paths, *path)
					}
				}
			}
		},
		"a target port by name": func(m *member) { m.port().TargetPort = intstr.FromString("http") },
		"no target port":        func(m *member) { m.port().TargetPort = intstr.IntOrString{} },
		"no node port":          func(m *member) { m.port().NodePort = 0 },
		"an external name": func(m *member) {
			m.web.Spec = corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "example.com"}
		},
		"a headless Service": func(m *member) { m.web.Spec.ClusterIP = "None" },
		"no ports":           func(m *member) { m.web.Spec.Ports = nil },
		"UDP":                func(m *member) { m.port().Protocol = corev1.ProtocolUDP },
		"IPv6":               func(m *member) { m.web.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv6Protocol} },
		"IPv6 and dualstack": func(m *member) {
			m.web.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol}
			m.ingress.Annotations[annotation.Prefix+"ip-address-type"] = "dualstack"
		},
		"an internal load balancer without public IPv4": func(m *member) {
			m.ingress.Annotations[annotation.Prefix+"ip-address-type"] = "dualstack-without-public-ipv4"
			m.ingress.Annotations[annotation.Prefix+"scheme"] = "internal"
		},
		"a public load balancer without public IPv4": func(m *member) {
			m.ingress.Annotations[annotation.Prefix+"ip-address-type"] = "dualstack-without-public-ipv4"
			m.ingress.Annotations[annotation.Prefix+"scheme"] = "internet-facing"
		},
		"long tags everywhere": func(m *member) {
			m.ingress.Annotations[annotation.Prefix+"tags"] = many(25, "a#=b")
			m.web.Annotations[annotation.Prefix+"tags"] = many(25, "c#=d")
		},
		"security groups of its own and managed rules": func(m *member) {
			m.ingress.Annotations[annotation.Prefix+"security-groups"] = "given"
			m.ingress.Annotations[annotation.Prefix+"manage-backend-security-group-rules"] = "true"
		},
		"many ports and addresses": func(m *member) {
			m.ingress.Annotations[annotation.Prefix+"listen-ports"] = `[{"HTTP":80},{"HTTP":81},{"HTTP":82}]`
			m.ingress.Annotations[annotation.Prefix+"inbound-cidrs"] = many(21, "10.0.#.0/24")
		},
		"a long name": func(m *member) {
			old := m.ingress.Name
			m.ingress.Name = (old + "." + strings.Repeat(long(62)+".", 4))[:253]
		},
	} {
		out = append(out, quirk{name, do})
	}
	return out
}

func paramsQuirks() (out []quirk) {
	attribute := func(key, value string) []v1beta1.Attribute { return []v1beta1.Attribute{{Key: key, Value: value}} }
	for name, spec := range map[string]v1beta1.IngressClassParamsSpec{
		"a bad attribute":          {LoadBalancerAttributes: attribute("idle_timeout.timeout_seconds", "0")},
		"a good attribute":         {LoadBalancerAttributes: attribute("idle_timeout.timeout_seconds", "100")},
		"a key that is none":       {LoadBalancerAttributes: attribute("", "")},
		"a listener attribute":     {Listeners: []v1beta1.Listener{{Protocol: "HTTP", Port: 80, ListenerAttributes: attribute("routing.http.response.server.enabled", "no")}}},
		"a listener elsewhere":     {Listeners: []v1beta1.Listener{{Protocol: "HTTPS", Port: 0, ListenerAttributes: attribute("a", "b")}}},
		"a tag":                    {Tags: []v1beta1.Tag{{Key: "a", Value: "b"}}},
		"an empty tag":             {Tags: []v1beta1.Tag{{}}},
		"a reserved tag":           {Tags: []v1beta1.Tag{{Key: "aws:a", Value: "b"}}},
		"a tag with a star":        {Tags: []v1beta1.Tag{{Key: "*", Value: "b"}}},
		"a name":                   {LoadBalancerName: "edge"},
		"a name that is too long":  {LoadBalancerName: long(33)},
		"an internal name":         {LoadBalancerName: "internal-a"},
		"a certificate":            {CertificateArn: []string{certificate}},
		"a certificate of no form": {CertificateArn: []string{"x"}},
		"an empty certificate":     {CertificateArn: []string{""}},
		"a policy":                 {SSLPolicy: "x"},
		"no CIDR":                  {InboundCIDRs: []string{"x"}},
		"CIDRs":                    {InboundCIDRs: []string{"10.0.0.0/8", "10.0.0.0/8"}},
		"a prefix list of no form": {PrefixListsIDs: []string{"x"}},
		"subnets":                  {Subnets: &v1beta1.Subnets{IDs: []v1beta1.SubnetID{"subnet-0a000000000000001"}}},
		"subnet tags":              {Subnets: &v1beta1.Subnets{Tags: map[string][]string{"a": {"b"}}}},
		"all subnets":              {Subnets: &v1beta1.Subnets{}},
		"ip":                       {TargetType: "ip"},
		"a web ACL of no form":     {WAFv2ACLArn: "x"},
		"a redirect":               {SSLRedirectPort: "443"},
		"a redirect to 0":          {SSLRedirectPort: "0"},
	} {
		out = append(out, quirk{"params with " + name, func(m *member) { m.params.Spec = spec }})
	}
	return out
}

// pick is one of the items.
func pick[T any](random *rand.Rand, items []T) T { return items[random.IntN(len(items))] }
