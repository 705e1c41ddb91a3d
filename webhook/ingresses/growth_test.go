// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingresses

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/ingress/input"
	"github.com/targetgate/targetgate/webhook/review"
	"github.com/targetgate/targetgate/webhook/webhooktest"
)

// mostRead is how many values of a spec are decoded, and mostPaths how many paths are read, without any flag.
var (
	mostRead  = mostValues(input.DefaultOptions("", "").Limits)
	mostPaths = input.DefaultOptions("", "").Sizes().MostPaths()
)

// hostileIngresses are Ingresses of some size that take the most memory and work for it.
func hostileIngresses(bytes int) map[string]string {
	spec := func(spec string) string { return rawIngress("", spec) }
	paths := func(paths string) string { return spec(`"rules":[{"http":{"paths":[` + paths + `]}}]`) }
	few := func(backend string) string { // as many as are read
		path := `{"path":"/a","pathType":"Prefix","backend":{"service":` + backend + `}}`
		return `"rules":[{"http":{"paths":[` + strings.Repeat(path+",", mostPaths-1) + path + `]}}]`
	}
	shared := func(name, value string) string { // by all paths
		return rawIngress(`,`+strconv.Quote(annotation.Prefix+name)+`:`+strconv.Quote(value), few(`{"name":"web","port":{"name":"`+input.UseAnnotation+`"}}`))
	}
	annotating := min(bytes, mostBytes-4096)
	service := func(name, value string) string {
		return rawIngress(`,`+strconv.Quote(annotation.Prefix+name)+`:`+strconv.Quote(value), few(`{"name":"web","port":{"number":80}}`))
	}
	query := `{"field":"query-string","queryStringConfig":{"values":[{"value":"a"}]}}`
	deep := min(bytes/2, 9000)
	return map[string]string{
		"empty paths":         paths(webhooktest.Listed(`{}`, bytes)),
		"paths":               paths(webhooktest.Listed(`{"path":"/a","pathType":"Prefix","backend":{"service":{"name":"web","port":{"number":80}}}}`, bytes)),
		"no values":           paths(webhooktest.Listed(`{"backend":{"service":{"name":"web"}}}`, bytes)),
		"rules":               spec(`"rules":[` + webhooktest.Listed(`{}`, bytes) + `]`),
		"rules with a path":   spec(`"rules":[` + webhooktest.Listed(`{"http":{"paths":[{}]}}`, bytes) + `]`),
		"Secrets":             spec(`"tls":[` + webhooktest.Listed(`{"secretName":"x"}`, bytes) + `]`),
		"hosts":               spec(`"tls":[{"hosts":[` + webhooktest.Listed(`"a"`, bytes) + `]}]`),
		"the paths' bound":    paths(strings.Repeat(`{},`, mostRead-1) + `{"path":"` + strings.Repeat("x", bytes) + `"}`),
		"the Secrets' bound":  spec(`"tls":[` + strings.Repeat(`{"secretName":"x"},`, mostRead-2) + `{}],"x":"` + strings.Repeat("x", bytes) + `"`),
		"long names":          spec(few(`{"name":"` + strings.Repeat("x", bytes/mostPaths) + `"}`)),
		"wrong paths":         spec(strings.ReplaceAll(few(`{"name":"web","port":{"number":80}}`), "Prefix", strings.Repeat("x", bytes/mostPaths))),
		"conditions":          shared("conditions.web", `[`+webhooktest.Listed(query, annotating)+`]`),
		"unknown conditions":  shared("conditions.web", `[`+webhooktest.Listed(`{}`, annotating)+`]`),
		"wrong conditions":    shared("conditions.web", `[`+webhooktest.Listed(`{"field":"x"}`, annotating)+`,{"field":"source-ip"}]`),
		"some conditions":     shared("conditions.web", `[`+webhooktest.Listed(query, min(bytes, 70<<10))+`]`),
		"a long list":         rawIngress(`,"alb.ingress.kubernetes.io/subnets":"`+webhooktest.Listed("a", bytes)+`"`, ""),
		"Services":            spec(`"rules":[{"http":{"paths":[` + manyServices() + `{}]}}],"x":"` + strings.Repeat("x", bytes) + `"`),
		"transforms":          shared("transforms.web", `[`+webhooktest.Listed(`{"type":"x"}`, annotating)+`]`),
		"actions":             shared("actions.web", `{"type":"redirect","redirectConfig":{"statusCode":"HTTP_301","port":"1"},"x":[`+webhooktest.Listed(`{}`, annotating)+`]}`),
		"wrong actions":       shared("actions.web", `[`+webhooktest.Listed(`{}`, annotating)+`]`),
		"a token":             service("jwt-validation", `{"x":[`+webhooktest.Listed(`{}`, annotating)+`]}`),
		"a login":             strings.Replace(service("auth-idp-oidc", `{"x":[`+webhooktest.Listed(`{}`, annotating)+`]}`), `"x":""`, `"x":"","alb.ingress.kubernetes.io/auth-type":"oidc"`, 1),
		"a target group":      service("target-group-attributes", webhooktest.Listed(`a=b`, annotating)),
		"a long switch":       rawIngress(`,"alb.ingress.kubernetes.io/use-regex-path-match":"`+strings.Repeat("x", annotating)+`"`, strings.ReplaceAll(few(`{"name":"web"}`), `"pathType":"Prefix",`, "")),
		"ports":               shared("listen-ports", `[`+webhooktest.Listed(`{"HTTP":80}`, annotating)+`]`),
		"other ports":         shared("listen-ports", `[`+manyPorts(annotating)+`]`),
		"annotations":         rawIngress(`,`+webhooktest.Numbered(bytes), ""),
		"a long annotation":   rawIngress(`,"alb.ingress.kubernetes.io/x":"`+strings.Repeat("x", bytes)+`"`, ""),
		"escapes":             rawIngress(`,"alb.ingress.kubernetes.io/x":"`+strings.Repeat(`\u0001`, bytes/6)+`"`, ""),
		"finalizers":          strings.Replace(spec(""), `"name"`, `"finalizers":[`+webhooktest.Listed(`""`, bytes)+`],"name"`, 1),
		"managed fields":      strings.Replace(spec(""), `"name"`, `"managedFields":[`+webhooktest.Listed(`{}`, bytes)+`],"name"`, 1),
		"what nobody reads":   spec(`"x":[` + webhooktest.Listed(`{}`, bytes) + `]`),
		"the same key":        spec(webhooktest.Listed(`"rules":[{"http":{"paths":[{},{},{}]}}]`, bytes)),
		"the same spec":       `{"metadata":{"annotations":{"kubernetes.io/ingress.class":"alb"}},` + webhooktest.Listed(`"spec":{"rules":[{},{},{}]}`, bytes) + `}`,
		"depth":               spec(`"x":` + strings.Repeat("[", deep) + strings.Repeat("]", deep)),
		"commas in text":      rawIngress(`,"a":"`+strings.Repeat(",", bytes)+`"`, ""),
		"a class with a name": spec(`"ingressClassName":"` + strings.Repeat("x", bytes) + `"`),
	}
}

// rawIngress is one of ours, with more annotations and a spec.
func rawIngress(annotations, spec string) string {
	return `{"metadata":{"namespace":"shop","name":"web","annotations":{"x":"","kubernetes.io/ingress.class":"alb"` + annotations + `}},"spec":{` + spec + `}}`
}

// manyServices are paths with a Service each, as many as are decoded beside another value.
func manyServices() string {
	var out strings.Builder
	for i := range mostRead - 2 {
		fmt.Fprintf(&out, `{"backend":{"service":{"name":"web-%d"}}},`, i)
	}
	return out.String()
}

// manyPorts are HTTP listeners, each with a port of its own.
func manyPorts(bytes int) string {
	var out strings.Builder
	for i := 1; out.Len() < bytes && i < 65535; i++ {
		fmt.Fprintf(&out, `{"HTTP":%d},{"HTTP":%d},`, i, i)
	}
	return out.String() + `{"HTTP":65535}`
}

func hostileParams(bytes int) map[string]string {
	spec := func(spec string) string { return `{"metadata":{"name":"alb"},"spec":{` + spec + `}}` }
	return map[string]string{
		"ranges":     spec(`"inboundCIDRs":[` + webhooktest.Listed(`""`, bytes) + `]`),
		"subnets":    spec(`"subnets":{"ids":[` + webhooktest.Listed(`"a"`, bytes) + `]}`),
		"tags":       spec(`"tags":[` + webhooktest.Listed(`{}`, bytes) + `]`),
		"a range":    spec(`"inboundCIDRs":["` + strings.Repeat("x", bytes) + `"]`),
		"attributes": spec(`"loadBalancerAttributes":[` + webhooktest.Listed(`{}`, bytes) + `]`),
	}
}

func newReview(object string) string {
	return `{"request":{"uid":"1","operation":"CREATE","object":` + object + `}}`
}

// changedReview is of a change of each object.
func changedReview(object string) string {
	return `{"request":{"uid":"1","operation":"UPDATE","object":` + object + `,"oldObject":` + strings.Replace(object, `"x":""`, `"x":"y"`, 1) + `}}`
}

func TestReviewCostIsLinear(t *testing.T) {
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80, NodePort: 30080}}},
	}
	ingresses, params := newHooks(t, Options{Class: "alb"}, service)
	t.Run("new", func(t *testing.T) { webhooktest.CheckGrowth(t, ingresses, hostileIngresses, newReview, review.Weight) })
	t.Run("changed", func(t *testing.T) {
		webhooktest.CheckGrowth(t, ingresses, hostileIngresses, changedReview, review.Weight)
	})
	t.Run("params", func(t *testing.T) { webhooktest.CheckGrowth(t, params, hostileParams, newReview, review.Weight) })
}

// What is too large is admitted with a warning, as far as it is ours. What a load balancer can have is reviewed.
func TestTooLargeIngresses(t *testing.T) {
	rules := func(n int) *networkingv1.Ingress { // with so many paths, of 4 values each
		out := newIngress("alb", "scheme=public", `conditions.web=[{"field": "host-header"}]`)
		http := out.Spec.Rules[0].HTTP
		http.Paths = slices.Repeat(http.Paths, n)
		return out
	}
	tooLarge, others, gone := rules(mostRead/4), rules(mostRead/4), rules(mostRead/4)
	others.Spec.IngressClassName, gone.Spec.IngressClassName = ptr.To("nginx"), ptr.To("gone")
	annotated := newIngress("alb")
	for i := range review.LongestList + 1 {
		annotated.Annotations[strconv.Itoa(i)] = ""
	}
	inGroup := func(i *networkingv1.Ingress) *networkingv1.Ingress {
		out := i.DeepCopy()
		out.Annotations[groupAnnotation] = "edge"
		return out
	}
	fitting := rules(mostPaths)
	paths := rules(mostPaths + 1)
	delete(paths.Annotations, annotation.Prefix+"conditions.web")
	delete(paths.Annotations, annotation.Prefix+"scheme")
	for name, tc := range map[string]struct {
		now, before     *networkingv1.Ingress
		refused, warned string
		options         Options
	}{
		"too many values":                 {now: tooLarge, warned: "this Ingress is not checked, as its spec has more than 3000 values"},
		"another's":                       {now: others},
		"too many annotations":            {now: annotated, warned: "more than 1000 annotations"},
		"changed":                         {now: tooLarge, before: rules(1), warned: "is not checked"},
		"unchanged":                       {now: tooLarge, before: tooLarge, warned: "is not checked"},
		"smaller again":                   {now: newIngress("alb", "scheme=public"), before: tooLarge, warned: "scheme"},
		"in a class that has gone":        {now: newIngress("gone"), before: gone},
		"as many as are read":             {now: fitting, refused: "conditions.web"},
		"in a forbidden group":            {now: inGroup(tooLarge), refused: "group.name", options: Options{ForbidGroupName: true}},
		"in it with too many annotations": {now: inGroup(annotated), refused: "group.name", options: Options{ForbidGroupName: true}},
		"in it as before":                 {now: inGroup(tooLarge), before: inGroup(annotated), warned: "is not checked", options: Options{ForbidGroupName: true}},
		"too many paths":                  {now: paths, warned: "501 paths are not read, as the quota of a load balancer is 100 rules"},
	} {
		t.Run(name, func(t *testing.T) {
			tc.options.Class = "alb"
			server := newServer(t, tc.options, class("alb", ours, false), class("nginx", "k8s.io/nginx", false))
			var before client.Object
			if tc.before != nil {
				before = tc.before
			}
			check(t, ask(t, server, Path, tc.now, before), tc.refused, tc.warned)
		})
	}
}
