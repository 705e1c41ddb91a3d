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

	"github.com/targetgate/targetgate/balancers/fixture"
	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/ingress/input"
	"github.com/targetgate/targetgate/balancers/ingress/membership"
	"github.com/targetgate/targetgate/balancers/lookup"
	"github.com/targetgate/targetgate/balancers/stack"
)

// lines are the rules of a port in short: "host /path -> what is done".
func lines(s stack.Stack, port int32) []string {
	var out []string
	for _, balancer := range s.LoadBalancers {
		listener := balancer.ListenerOn(port)
		if listener == nil {
			continue
		}
		for _, rule := range listener.Rules {
			var parts []string
			for _, c := range rule.Conditions {
				text := strings.Join(append(slices.Clone(c.Values), c.Regex...), ",")
				if c.Header != "" || len(c.Query) > 0 || len(c.Regex) > 0 {
					text = fmt.Sprint(c)
				}
				parts = append(parts, text)
			}
			out = append(out, strings.Join(parts, " ")+" -> "+short(rule.Action))
		}
	}
	return out
}

func short(action stack.Action) string {
	switch {
	case action.Forward != nil:
		var groups []string
		for _, weighted := range action.Forward.Groups {
			groups = append(groups, fmt.Sprintf("%s%s*%d", weighted.Group.Part, weighted.Group.ID, weighted.Weight))
		}
		return strings.Join(groups, " ") + map[bool]string{true: fmt.Sprintf(" sticky %d", action.Forward.Sticky)}[action.Forward.Sticky > 0] +
			map[bool]string{true: fmt.Sprintf(" not sticky, %d", action.Forward.StickyOff)}[action.Forward.StickyOff > 0]
	case action.Redirect != nil:
		to := action.Redirect
		return strings.Join([]string{to.Status, to.Protocol, to.Host, to.Port, to.Path, to.Query}, " ")
	default:
		return action.Fixed.Status + " " + action.Fixed.Body
	}
}

const toHTTPS = `{"type":"redirect","redirectConfig":{"protocol":"HTTPS","port":"443","statusCode":"HTTP_301"}}`

const toOther = `{"type":"redirect","redirectConfig":{"host":"other.test","statusCode":"HTTP_302"}}`

// single is an action that forwards to one target group, with what else is said of it and of stickiness.
func single(weight, stickiness string) string {
	target := []string{`"serviceName":"web","servicePort":80`, weight}
	config := []string{`"targetGroups":[{` + strings.TrimSuffix(strings.Join(target, ","), ",") + "}]"}
	if stickiness != "" {
		config = append(config, `"targetGroupStickinessConfig":`+stickiness)
	}
	return `{"type":"forward","forwardConfig":{` + strings.Join(config, ",") + "}}"
}

func TestRules(t *testing.T) {
	for name, tc := range map[string]struct {
		annotations map[string]string
		rules       string // spec.rules; the Services web and api have port 80
		http, https []string
		faults      []string
	}{
		"exact before prefixes, the longest prefix first, then the others in their order": {
			rules: `
- http:
    paths:
    - {path: /any, pathType: ImplementationSpecific, backend: &web {service: {name: web, port: {number: 80}}}}
    - {path: /a, pathType: Prefix, backend: *web}
    - {path: /abc/, pathType: Prefix, backend: *web}
    - {path: /x, pathType: Exact, backend: *web}
    - {path: /ab, pathType: Prefix, backend: *web}
    - {path: /exact, pathType: Exact, backend: *web}
    - {path: /untyped, backend: *web}
    - {path: /cd, pathType: Prefix, backend: *web}`,
			http: []string{
				"/x -> shop/web-web:80*1", "/exact -> shop/web-web:80*1", "/abc,/abc/* -> shop/web-web:80*1", "/ab,/ab/* -> shop/web-web:80*1",
				"/cd,/cd/* -> shop/web-web:80*1", "/a,/a/* -> shop/web-web:80*1", "/any -> shop/web-web:80*1", "/untyped -> shop/web-web:80*1",
			},
		},
		"rules of the spec stay in their order, and those without http are left out": {
			rules: `
- {host: b.com, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}
- {host: c.com}
- {host: a.com, http: {paths: [{path: /long/path, pathType: Exact, backend: {service: {name: api, port: {name: http}}}}]}}`,
			http: []string{"b.com /* -> shop/web-web:80*1", "a.com /long/path -> shop/web-api:http*1"},
		},
		"a path without anything": {
			rules: `[{http: {paths: [{backend: {service: {name: web, port: {number: 80}}}}]}}]`,
			http:  []string{"/* -> shop/web-web:80*1"},
		},
		"wildcards and regular expressions": {
			annotations: map[string]string{"use-regex-path-match": "true"},
			rules:       `[{http: {paths: [{path: "/v[0-9]+/.*", pathType: ImplementationSpecific, backend: {service: {name: web, port: {number: 80}}}}]}}]`,
			http:        []string{"{path-pattern  [] [v[0-9]+/.*] []} -> shop/web-web:80*1"},
		},
		"conditions by annotation": {
			annotations: map[string]string{"conditions.web": `[
				{"field":"host-header","hostHeaderConfig":{"values":["www.a.com"]}},
				{"field":"query-string","queryStringConfig":{"values":[{"key":"v","value":"1"},{"value":"x"}]}},
				{"field":"http-header","httpHeaderConfig":{"httpHeaderName":"X","values":["y"]}}]`},
			rules: `[{host: a.com, http: {paths: [{path: /p, pathType: Exact, backend: {service: {name: web, port: {number: 80}}}}]}}]`,
			http:  nil, faults: []string{"spec.rules[0].http.paths[0]: the rule has 6 values in its conditions: AWS allows 5"},
		},
		"conditions by annotation before host and path": {
			annotations: map[string]string{"conditions.web": `[
				{"field":"host-header","hostHeaderConfig":{"values":["www.a.com"]}},
				{"field":"source-ip","sourceIpConfig":{"values":["10.0.0.0/8"]}},
				{"field":"http-request-method","httpRequestMethodConfig":{"values":["GET"]}}]`},
			rules: `[{host: a.com, http: {paths: [{path: /p, pathType: Exact, backend: {service: {name: web, port: {number: 80}}}}]}}]`,
			http:  []string{"10.0.0.0/8 GET a.com,www.a.com /p -> shop/web-web:80*1"},
		},
		"weights and stickiness": {
			annotations: map[string]string{"actions.split": `{"type":"forward","forwardConfig":{"targetGroups":[
				{"serviceName":"web","servicePort":80,"weight":90},{"targetGroupARN":"arn:aws:elasticloadbalancing:eu-west-1:1:targetgroup/other/1","weight":10},{"targetGroupName":"named","weight":0}],
				"targetGroupStickinessConfig":{"enabled":true,"durationSeconds":60}}}`},
			rules: `[{http: {paths: [{backend: {service: {name: split, port: {name: use-annotation}}}}]}}]`,
			http:  []string{"/* -> shop/web-web:80*90 arn:aws:elasticloadbalancing:eu-west-1:1:targetgroup/other/1*10 arn:named*0 sticky 60"},
		},
		"the weight and the stickiness of a single target group are those that are written": {
			annotations: map[string]string{
				"actions.zero":    single(`"weight":0`, ""),
				"actions.hundred": single(`"weight":100`, `{}`),
				"actions.on":      single("", `{"enabled":true,"durationSeconds":60}`),
				"actions.off":     single("", `{"enabled":false,"durationSeconds":60}`),
				"actions.seconds": single(`"weight":999`, `{"durationSeconds":60}`),
				"actions.foreign": `{"type":"forward","forwardConfig":{"targetGroups":[{"targetGroupName":"named","weight":0}],"targetGroupStickinessConfig":{"enabled":true,"durationSeconds":604800}}}`,
				"actions.never":   single(`"weight":1000`, `{"enabled":false,"durationSeconds":604801}`), // AWS takes neither
			},
			rules: `
- http:
    paths:
    - {path: /a, backend: {service: {name: zero, port: {name: use-annotation}}}}
    - {path: /b, backend: {service: {name: hundred, port: {name: use-annotation}}}}
    - {path: /c, backend: {service: {name: "on", port: {name: use-annotation}}}}
    - {path: /d, backend: {service: {name: "off", port: {name: use-annotation}}}}
    - {path: /e, backend: {service: {name: seconds, port: {name: use-annotation}}}}
    - {path: /f, backend: {service: {name: foreign, port: {name: use-annotation}}}}
    - {path: /g, backend: {service: {name: never, port: {name: use-annotation}}}}`,
			http: []string{
				"/a -> shop/web-web:80*0", "/b -> shop/web-web:80*100", "/c -> shop/web-web:80*1 sticky 60", "/d -> shop/web-web:80*1 not sticky, 60",
				"/e -> shop/web-web:80*999 not sticky, 60", "/f -> arn:named*0 sticky 604800", "/g -> shop/web-web:80*1",
			},
		},
		"a Service and an action that do not exist": {
			rules: `
- host: a.com
  http: {paths: [{backend: {service: {name: gone, port: {number: 80}}}}]}
- host: b.com
  http: {paths: [{backend: {service: {name: gone, port: {name: use-annotation}}}}]}`,
			http: []string{"a.com -> 503 Backend service does not exist", "b.com -> 503 Backend action does not exist"},
			faults: []string{
				`warning: spec.rules[0].http.paths[0].backend, value "gone": this Service does not exist in namespace shop: create it; until then requests are answered with 503`,
				`warning: spec.rules[1].http.paths[0].backend, value "gone": the annotation alb.ingress.kubernetes.io/actions.gone does not exist: add it; until then requests are answered with 503`,
			},
		},
		"a redirect to HTTPS takes all on HTTP, and is left out on HTTPS": {
			annotations: map[string]string{"listen-ports": `[{"HTTP":80},{"HTTPS":443}]`, "certificate-arn": certARN("a"), "actions.ssl": toHTTPS},
			rules: `
- http: {paths: [{path: /*, backend: {service: {name: ssl, port: {name: use-annotation}}}}]}
- http: {paths: [{path: /a, pathType: Exact, backend: {service: {name: web, port: {number: 80}}}}]}
- host: a.com
  http: {paths: [{backend: {service: {name: api, port: {number: 80}}}}]}`,
			http:  []string{"/* -> HTTP_301 HTTPS #{host} 443 /#{path} #{query}"},
			https: []string{"/a -> shop/web-web:80*1", "a.com -> shop/web-api:80*1"},
			faults: []string{
				"warning: spec.rules[1].http.paths[0]: no request reaches this rule, as spec.rules[0].http.paths[0] of Ingress shop/web stands before it and takes all of its requests",
				"warning: spec.rules[2].http.paths[0]: no request reaches this rule, as spec.rules[0].http.paths[0] of Ingress shop/web stands before it and takes all of its requests",
			},
		},
		"a redirect of one host takes that host alone": {
			annotations: map[string]string{"actions.ssl": toHTTPS},
			rules: `
- {host: a.com, http: {paths: [{backend: {service: {name: ssl, port: {name: use-annotation}}}}]}}
- {host: b.com, http: {paths: [{backend: {service: {name: web, port: {number: 80}}}}]}}
- {http: {paths: [{path: /a, pathType: Exact, backend: {service: {name: web, port: {number: 80}}}}]}}`,
			http: []string{"a.com -> HTTP_301 HTTPS #{host} 443 /#{path} #{query}", "b.com -> shop/web-web:80*1", "/a -> shop/web-web:80*1"},
		},
		"a redirect from HTTP to HTTP": {
			annotations: map[string]string{"actions.to": `{"type":"redirect","redirectConfig":{"protocol":"HTTP","port":"8080","statusCode":"HTTP_302"}}`},
			rules:       `[{host: a.com, http: {paths: [{backend: {service: {name: to, port: {name: use-annotation}}}}]}}]`,
			http:        []string{"a.com -> HTTP_302 HTTP #{host} 8080 /#{path} #{query}"},
		},
		"a redirect to another path does not lead to itself": {
			annotations: map[string]string{"actions.to": `{"type":"redirect","redirectConfig":{"path":"/new","statusCode":"HTTP_302"}}`},
			rules: `
- {host: a.com, http: {paths: [{path: /old, pathType: Exact, backend: {service: {name: to, port: {name: use-annotation}}}}]}}
- {host: a.com, http: {paths: [{path: /new, pathType: Exact, backend: {service: {name: to, port: {name: use-annotation}}}}]}}`,
			http: []string{"a.com /old -> HTTP_302 #{protocol} #{host} #{port} /new #{query}"},
		},
		"a redirect with a query does not lead to itself": {
			annotations: map[string]string{"actions.to": `{"type":"redirect","redirectConfig":{"host":"a.com","query":"a=b","statusCode":"HTTP_302"}}`},
			rules:       `[{host: a.com, http: {paths: [{backend: {service: {name: to, port: {name: use-annotation}}}}]}}]`,
			http:        []string{"a.com -> HTTP_302 #{protocol} a.com #{port} /#{path} a=b"},
		},
		"a redirect with a condition of a header takes nothing from others": {
			annotations: map[string]string{
				"actions.ssl":    toHTTPS,
				"conditions.ssl": `[{"field":"source-ip","sourceIpConfig":{"values":["10.0.0.0/8"]}}]`,
			},
			rules: `
- http: {paths: [{path: /*, backend: {service: {name: ssl, port: {name: use-annotation}}}}]}
- http: {paths: [{path: /a, pathType: Exact, backend: {service: {name: web, port: {number: 80}}}}]}`,
			http: []string{"10.0.0.0/8 /* -> HTTP_301 HTTPS #{host} 443 /#{path} #{query}", "/a -> shop/web-web:80*1"},
		},
		"a redirect with a header takes nothing from those with another": {
			annotations: map[string]string{
				"actions.ssl":    toHTTPS,
				"conditions.ssl": `[{"field":"http-header","httpHeaderConfig":{"httpHeaderName":"X","values":["1"]}}]`,
				"conditions.web": `[{"field":"http-header","httpHeaderConfig":{"httpHeaderName":"Y","values":["1"]}}]`,
			},
			rules: `
- http: {paths: [{backend: {service: {name: ssl, port: {name: use-annotation}}}}]}
- http: {paths: [{backend: {service: {name: web, port: {number: 80}}}}]}`,
			http: []string{"{http-header X [1] [] []} -> HTTP_301 HTTPS #{host} 443 /#{path} #{query}", "{http-header Y [1] [] []} -> shop/web-web:80*1"},
		},
		"a rule that a redirect on the same regular expression hides is left out": {
			annotations: map[string]string{
				"use-regex-path-match": "true",
				"actions.away":         toOther,
				"conditions.both":      `[{"field":"path-pattern","pathPatternConfig":{"regexValues":["^/b$"]}}]`,
				"actions.both":         toOther,
				"conditions.one":       `[{"field":"host-header","hostHeaderConfig":{"regexValues":["^a"]}}]`,
				"actions.one":          toOther,
			},
			rules: `
- {host: e.test, http: {paths: [
    {path: "/^/a.*$", pathType: ImplementationSpecific, backend: {service: {name: away, port: {name: use-annotation}}}},
    {path: "/^/a.*$", pathType: ImplementationSpecific, backend: {service: {name: web, port: {number: 80}}}},
    {path: "/^/c$", pathType: ImplementationSpecific, backend: {service: {name: both, port: {name: use-annotation}}}},
    {path: "/^/b$", pathType: ImplementationSpecific, backend: {service: {name: web, port: {number: 80}}}},
    {path: "/^/c$", pathType: ImplementationSpecific, backend: {service: {name: api, port: {number: 80}}}}]}}
- {http: {paths: [{backend: {service: {name: one, port: {name: use-annotation}}}}]}}
- {http: {paths: [{path: /x, pathType: Exact, backend: {service: {name: one, port: {name: use-annotation}}}}]}}`,
			http: []string{
				"e.test {path-pattern  [] [^/a.*$] []} -> HTTP_302 #{protocol} other.test #{port} /#{path} #{query}",
				"e.test {path-pattern  [] [^/c$ ^/b$] []} -> HTTP_302 #{protocol} other.test #{port} /#{path} #{query}",
				"{host-header  [] [^a] []} -> HTTP_302 #{protocol} other.test #{port} /#{path} #{query}",
			},
			faults: []string{
				"warning: spec.rules[0].http.paths[1]: no request reaches this rule, as spec.rules[0].http.paths[0] of Ingress shop/web stands before it and takes all of its requests",
				"warning: spec.rules[0].http.paths[3]: no request reaches this rule, as spec.rules[0].http.paths[2] of Ingress shop/web stands before it and takes all of its requests",
				"warning: spec.rules[0].http.paths[4]: no request reaches this rule, as spec.rules[0].http.paths[2] of Ingress shop/web stands before it and takes all of its requests",
				"warning: spec.rules[2].http.paths[0]: no request reaches this rule, as spec.rules[1].http.paths[0] of Ingress shop/web stands before it and takes all of its requests",
			},
		},
		"a redirect on a regular expression hides no rule but those on the same one": {
			annotations: map[string]string{
				"use-regex-path-match": "true",
				"actions.away":         toOther,
				"actions.header":       toOther,
				"conditions.header":    `[{"field":"http-header","httpHeaderConfig":{"httpHeaderName":"X","regexValues":["^1$"]}}]`,
			},
			rules: `
- {host: e.test, http: {paths: [
    {path: "/^/.*$", pathType: ImplementationSpecific, backend: {service: {name: away, port: {name: use-annotation}}}},
    {path: "/^/a.*$", pathType: ImplementationSpecific, backend: {service: {name: web, port: {number: 80}}}},
    {path: "/^/h$", pathType: ImplementationSpecific, backend: {service: {name: header, port: {name: use-annotation}}}},
    {path: "/^/h$", pathType: ImplementationSpecific, backend: {service: {name: web, port: {number: 80}}}}]}}
- {host: e.test, http: {paths: [{path: /plain, pathType: Exact, backend: {service: {name: web, port: {number: 80}}}}]}}
- {host: f.test, http: {paths: [{path: "/^/.*$", pathType: ImplementationSpecific, backend: {service: {name: web, port: {number: 80}}}}]}}
- {http: {paths: [{path: "/^/.*$", pathType: ImplementationSpecific, backend: {service: {name: web, port: {number: 80}}}}]}}`,
			http: []string{
				"e.test {path-pattern  [] [^/.*$] []} -> HTTP_302 #{protocol} other.test #{port} /#{path} #{query}",
				"e.test {path-pattern  [] [^/a.*$] []} -> shop/web-web:80*1",
				"{http-header X [] [^1$] []} e.test {path-pattern  [] [^/h$] []} -> HTTP_302 #{protocol} other.test #{port} /#{path} #{query}",
				"e.test {path-pattern  [] [^/h$] []} -> shop/web-web:80*1",
				"e.test /plain -> shop/web-web:80*1",
				"f.test {path-pattern  [] [^/.*$] []} -> shop/web-web:80*1",
				"{path-pattern  [] [^/.*$] []} -> shop/web-web:80*1",
			},
		},
		"a rule behind another that takes all is kept": {
			rules: `
- http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}
- http: {paths: [{path: /api, pathType: Prefix, backend: {service: {name: api, port: {number: 80}}}}]}`,
			http: []string{"/* -> shop/web-web:80*1", "/api,/api/* -> shop/web-api:80*1"},
			faults: []string{
				"warning: spec.rules[1].http.paths[0]: no request reaches this rule, as spec.rules[0].http.paths[0] of Ingress shop/web stands before it and takes all of its requests",
			},
		},
		"ssl-redirect": {
			annotations: map[string]string{"listen-ports": `[{"HTTP":80},{"HTTPS":443}]`, "certificate-arn": certARN("a"), "ssl-redirect": "443"},
			rules:       `[{http: {paths: [{backend: {service: {name: web, port: {number: 80}}}}]}}]`,
			https:       []string{"/* -> shop/web-web:80*1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			ingress := fixture.Parse[networkingv1.Ingress](t, "metadata: {namespace: shop, name: web}\nspec:\n  rules:\n"+indent(tc.rules))[0]
			ingress.Annotations = map[string]string{annotation.Prefix + "target-type": "ip"}
			for key, value := range tc.annotations {
				ingress.Annotations[annotation.Prefix+key] = value
			}
			in := input.Input{
				Group: stack.Group{Namespace: "shop", Name: "web"}, Members: []membership.Member{{Ingress: ingress}},
				AWS:     lookup.Answers{Subnets: vpcSubnets(), TargetGroups: map[string]lookup.Named{"named": {ARN: "arn:named"}}},
				Options: input.DefaultOptions("prod-1", "vpc-1"),
				Services: byName(fixture.Parse[corev1.Service](t, `
metadata: {namespace: shop, name: web}
spec: {ports: [{name: http, port: 80}]}
---
metadata: {namespace: shop, name: api}
spec: {ports: [{name: http, port: 80}]}`)...),
			}
			got, faults := Build(in)
			if diff := cmp.Diff(tc.http, lines(got, 80), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("rules of HTTP (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.https, lines(got, 443), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("rules of HTTPS (-want +got):\n%s", diff)
			}
			var texts []string
			for _, fault := range faults {
				texts = append(texts, map[bool]string{true: "warning: "}[fault.IsWarning()]+fault.Error())
			}
			if diff := cmp.Diff(tc.faults, texts, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
		})
	}
}

func indent(text string) string {
	return "    " + strings.ReplaceAll(text, "\n", "\n    ")
}
