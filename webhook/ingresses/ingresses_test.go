// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingresses

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/ingress/input"
	"github.com/targetgate/targetgate/balancers/ingress/membership"
	ingressapi "github.com/targetgate/targetgate/balancers/v1beta1"
)

// tooNew is the name of what the cache has not got yet.
const tooNew = "too-new"

// newHooks are the handlers beside these objects.
func newHooks(t testing.TB, options Options, objects ...client.Object) (ingresses, params http.Handler) {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), ingressapi.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	mode := options.Build.Consent
	options.Build = input.DefaultOptions("prod", "vpc-1")
	options.Build.Consent = mode
	var cached []client.Object
	for _, object := range objects {
		if object.GetName() != tooNew {
			cached = append(cached, object)
		}
	}
	reader := func(objects []client.Object) client.Client {
		return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
	}
	return New(reader(cached), reader(objects), options)
}

// answers of the webhook's server are read and written as by the API server.
func newServer(t testing.TB, options Options, objects ...client.Object) *httptest.Server {
	t.Helper()
	hook, params := newHooks(t, options, objects...)
	mux := http.NewServeMux()
	mux.Handle(Path, hook)
	mux.Handle(ParamsPath, params)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server
}

// ask has an object be reviewed. Without a former one it is created.
func ask(t testing.TB, server *httptest.Server, path string, now, before client.Object) *admissionv1.AdmissionResponse {
	t.Helper()
	request := &admissionv1.AdmissionRequest{UID: "uid", Operation: admissionv1.Create, Object: raw(t, now)}
	if before != nil {
		request.Operation, request.OldObject = admissionv1.Update, raw(t, before)
	}
	body, err := json.Marshal(admissionv1.AdmissionReview{Request: request})
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.Post(server.URL+path, "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(response.Body).Decode(&review); err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("status %s, error %v", response.Status, err)
	}
	return review.Response
}

func raw(t testing.TB, object client.Object) runtime.RawExtension {
	t.Helper()
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return runtime.RawExtension{Raw: text}
}

func class(name, controller string, isDefault bool) *networkingv1.IngressClass {
	out := &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: networkingv1.IngressClassSpec{Controller: controller}}
	if isDefault {
		out.Annotations = map[string]string{"ingressclass.kubernetes.io/is-default-class": "true"}
	}
	return out
}

// newIngress is one of the class, with annotations name=value.
func newIngress(class string, annotations ...string) *networkingv1.Ingress {
	out := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", Annotations: map[string]string{}}}
	if class != "" {
		out.Spec.IngressClassName = &class
	}
	for _, text := range annotations {
		key, value, _ := strings.Cut(text, "=")
		if !strings.Contains(key, "/") {
			key = annotation.Prefix + key
		}
		out.Annotations[key] = value
	}
	out.Spec.Rules = []networkingv1.IngressRule{{IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{
		Paths: []networkingv1.HTTPIngressPath{{
			Path: "/", PathType: ptr.To(networkingv1.PathTypePrefix), Backend: networkingv1.IngressBackend{
				Service: &networkingv1.IngressServiceBackend{Name: "web", Port: networkingv1.ServiceBackendPort{Number: 80}},
			},
		}},
	}}}}
	return out
}

const ours = "ingress.k8s.aws/alb"

func TestReviewsOfIngresses(t *testing.T) {
	classes := []client.Object{class("alb", ours, false), class("nginx", "k8s.io/nginx", false)}
	badConditions := `conditions.web=[{"field": "host-header"}]`
	deleted := newIngress("gone", "scheme=public")
	deleted.DeletionTimestamp, deleted.Finalizers = ptr.To(metav1.Now()), []string{"ingress.k8s.aws/resources"}
	for name, tc := range map[string]struct {
		now, before *networkingv1.Ingress
		options     Options
		all         bool // Ingresses without a class are ours
		more        []client.Object
		refused     string // what the refusal says, "" for none
		warned      string // what a warning says, "" for none
	}{
		"a good one":                        {now: newIngress("alb")},
		"of another controller":             {now: newIngress("nginx", "scheme=public")},
		"of another annotation":             {now: newIngress("", "kubernetes.io/ingress.class=nginx", "scheme=public")},
		"without a class":                   {now: newIngress("", "scheme=public")},
		"without a class, all ours":         {now: newIngress("", "scheme=public"), all: true, warned: "scheme"},
		"a missing class":                   {now: newIngress("gone"), refused: `spec.ingressClassName "gone"`},
		"a class that is too new":           {now: newIngress(tooNew, "scheme=public"), more: []client.Object{class(tooNew, ours, false)}, warned: "scheme"},
		"a missing class, beside the other": {now: newIngress("gone", "kubernetes.io/ingress.class=nginx")},
		"a class that has gone":             {now: newIngress("gone", "scheme=internal"), before: newIngress("gone")},
		"to a missing class":                {now: newIngress("gone"), before: newIngress("alb"), refused: `spec.ingressClassName "gone"`},
		"without a class any longer":        {now: newIngress(""), before: newIngress("alb")},
		"one that is deleted":               {now: deleted, before: newIngress("gone")},
		"two default classes": {
			now: newIngress(""), more: []client.Object{class("one", ours, true), class("two", ours, true)}, refused: "both default classes",
		},
		"two default classes, later": {
			now: newIngress("", "scheme=internal"), before: newIngress(""), more: []client.Object{class("one", ours, true), class("two", ours, true)},
			warned: "both default classes",
		},
		"a forbidden class annotation": {
			now: newIngress("", "kubernetes.io/ingress.class=alb"), options: Options{ForbidClassAnnotation: true},
			refused: "new usage of the annotation kubernetes.io/ingress.class",
		},
		"a class annotation of before": {
			now:     newIngress("", "kubernetes.io/ingress.class=alb", "scheme=internal"),
			before:  newIngress("", "kubernetes.io/ingress.class=alb"),
			options: Options{ForbidClassAnnotation: true},
		},
		"a group": {now: newIngress("alb", "group.name=edge")},
		"a forbidden group": {
			now: newIngress("alb", "group.name=edge"), options: Options{ForbidGroupName: true}, refused: "group.name",
		},
		"another group": {
			now: newIngress("alb", "group.name=edge"), before: newIngress("alb", "group.name=other"),
			options: Options{ForbidGroupName: true}, refused: "group.name",
		},
		"a group of before": {
			now: newIngress("alb", "group.name=edge", "scheme=internal"), before: newIngress("alb", "group.name=edge"),
			options: Options{ForbidGroupName: true},
		},
		"a header without a name": {
			now: newIngress("alb", `conditions.web=[{"field": "http-header", "httpHeaderConfig": {"values": ["a"]}}]`), warned: `httpHeaderName ""`,
		},
		"bad conditions":           {now: newIngress("alb", badConditions), refused: "conditions.web"},
		"bad conditions of nobody": {now: newIngress("alb", `conditions.other=[{"field": "host-header"}]`), warned: "conditions.other"},
		"conditions of no field":   {now: newIngress("alb", `conditions.web=[{"field": "x"}]`), warned: "this field is not known"},
		"nothing is changed":       {now: newIngress("alb", badConditions), before: newIngress("alb", badConditions)},
		"a wrong value":            {now: newIngress("alb", "scheme=public"), warned: "scheme"},
		"a spelling mistake":       {now: newIngress("alb", "sceme=internal"), warned: "sceme"},
		"not supported":            {now: newIngress("alb", "auth-type=oidc"), warned: "auth-type"},
		"a Service without the port": {
			now: newIngress("alb", "target-type=ip"), warned: "Service",
			more: []client.Object{&corev1.Service{
				ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 8080}}},
			}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if !tc.all {
				tc.options.Class = "alb"
			}
			var before client.Object
			if tc.before != nil {
				before = tc.before
			}
			answer := ask(t, newServer(t, tc.options, append(tc.more, classes...)...), Path, tc.now, before)
			check(t, answer, tc.refused, tc.warned)
		})
	}
}

func check(t *testing.T, answer *admissionv1.AdmissionResponse, refused, warned string) {
	t.Helper()
	message := ""
	if answer.Result != nil {
		message = answer.Result.Message
	}
	if answer.Allowed != (refused == "") || !strings.Contains(message, refused) {
		t.Errorf("allowed %v, message %q, want %q", answer.Allowed, message, refused)
	}
	warnings := strings.Join(answer.Warnings, "\n")
	if (warned == "") != (warnings == "") || !strings.Contains(warnings, warned) {
		t.Errorf("warnings %q, want %q", warnings, warned)
	}
}

func TestReviewsOfParams(t *testing.T) {
	spec := func(edit func(*ingressapi.IngressClassParamsSpec)) *ingressapi.IngressClassParams {
		out := &ingressapi.IngressClassParams{ObjectMeta: metav1.ObjectMeta{Name: "alb"}}
		edit(&out.Spec)
		return out
	}
	subnets := func(s ingressapi.Subnets) *ingressapi.IngressClassParams {
		return spec(func(p *ingressapi.IngressClassParamsSpec) { p.Subnets = &s })
	}
	cidrs := func(list ...string) *ingressapi.IngressClassParams {
		return spec(func(p *ingressapi.IngressClassParamsSpec) { p.InboundCIDRs = list })
	}
	for name, tc := range map[string]struct {
		params       *ingressapi.IngressClassParams
		want, warned string
	}{
		"nothing":     {params: spec(func(*ingressapi.IngressClassParamsSpec) {})},
		"good ranges": {params: cidrs("10.0.0.0/8", "2001:db8::/32")},
		"an attribute": {params: spec(func(p *ingressapi.IngressClassParamsSpec) {
			p.LoadBalancerAttributes = []ingressapi.Attribute{{Key: "idle_timeout.timeout_seconds", Value: "0"}}
		}), warned: "IngressClassParams alb, spec.loadBalancerAttributes: idle_timeout.timeout_seconds=0: must be an integer from 1 to 4000"},
		"a certificate": {params: spec(func(p *ingressapi.IngressClassParamsSpec) { p.CertificateArn = []string{"x"} }), warned: "must be ARNs of certificates"},
		"a capacity below zero": {params: spec(func(p *ingressapi.IngressClassParamsSpec) {
			p.MinimumLoadBalancerCapacity = &ingressapi.MinimumLoadBalancerCapacity{CapacityUnits: -1}
		}), warned: `value "CapacityUnits=-1"`},
		"no range":              {params: cidrs("10.0.0.0"), want: `spec.inboundCIDRs[0], value "10.0.0.0": must be a CIDR`},
		"host bits":             {params: cidrs("10.0.0.0/8", "10.1.2.3/8"), want: `spec.inboundCIDRs[1], value "10.1.2.3/8": has host bits, must be 10.0.0.0/8`},
		"subnets by IDs":        {params: subnets(ingressapi.Subnets{IDs: []ingressapi.SubnetID{"subnet-1", "subnet-2"}})},
		"subnets by tags":       {params: subnets(ingressapi.Subnets{Tags: map[string][]string{"tier": {"a", "b"}}})},
		"subnets by neither":    {params: subnets(ingressapi.Subnets{}), want: "set either ids or tags"},
		"a subnet twice":        {params: subnets(ingressapi.Subnets{IDs: []ingressapi.SubnetID{"subnet-1", "subnet-1"}}), want: `spec.subnets.ids, value "subnet-1": is listed twice`},
		"a tag without a value": {params: subnets(ingressapi.Subnets{Tags: map[string][]string{"tier": {}}}), want: "spec.subnets.tags[tier]: must have a value"},
		"a tag's value twice":   {params: subnets(ingressapi.Subnets{Tags: map[string][]string{"tier": {"a", "a"}}}), want: `spec.subnets.tags[tier], value "a": is listed twice`},
	} {
		t.Run(name, func(t *testing.T) {
			check(t, ask(t, newServer(t, Options{}), ParamsPath, tc.params, nil), tc.want, tc.warned)
		})
	}
	both := cidrs("x", "y")
	if message := ask(t, newServer(t, Options{}), ParamsPath, both, both).Result.Message; !strings.Contains(message, "[0]") || !strings.Contains(message, "[1]") {
		t.Errorf("message %q, want all faults", message)
	}
}

// What is said is bounded, however much is wrong.
func TestWarningsAreBounded(t *testing.T) {
	var annotations []string
	for i := range 1000 {
		annotations = append(annotations, fmt.Sprintf("unknown-%d-%s=x", i, strings.Repeat("y", 300)))
	}
	answer := ask(t, newServer(t, Options{Class: "alb"}, class("alb", ours, false)), Path, newIngress("alb", annotations...), nil)
	if len(answer.Warnings) != mostWarnings+1 || answer.Warnings[mostWarnings] != fmt.Sprintf("and %d more", 1000-mostWarnings) {
		t.Errorf("%d warnings, the last is %q", len(answer.Warnings), answer.Warnings[len(answer.Warnings)-1])
	}
	for _, warning := range answer.Warnings {
		if len(warning) > 256 {
			t.Errorf("a warning has %d bytes", len(warning))
		}
	}
}

func TestWhatCannotBeReadIsOurFault(t *testing.T) {
	server := newServer(t, Options{Class: "alb"})
	for _, body := range []string{"", "{}", "x", `{"request": {"operation": "CREATE", "object": 7}}`, `{"request": {"operation": "UPDATE", "object": {}, "oldObject": 7}}`} {
		response, err := http.Post(server.URL+Path, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode < 500 {
			t.Errorf("%q is answered with %s", body, response.Status)
		}
	}
}

// Nothing that users write has a review fail or answers out of bounds.
func FuzzReview(f *testing.F) {
	server := newServer(f, Options{Class: "alb"}, class("alb", ours, false))
	f.Add("scheme", "public", "/", "web")
	f.Add("actions.web", `{"type": "forward", "forwardConfig": {"targetGroups": [{}]}}`, "/*", "web")
	f.Add("conditions.web", `[{"field": "query-string", "queryStringConfig": {}}]`, "x", "")
	f.Fuzz(func(t *testing.T, name, value, path, service string) {
		object := newIngress("alb")
		object.Annotations[annotation.Prefix+name] = value
		object.Spec.Rules[0].HTTP.Paths[0].Path = path
		object.Spec.Rules[0].HTTP.Paths[0].Backend.Service.Name = service
		answer := ask(t, server, Path, object, nil)
		if answer.Allowed == (answer.Result != nil) || len(answer.Warnings) > mostWarnings+1 {
			t.Errorf("allowed %v, result %v, %d warnings", answer.Allowed, answer.Result, len(answer.Warnings))
		}
	})
}

// Who joins a group that IngressClassParams keep for their class is refused; who was in it before is warned.
func TestAGroupThatIsKeptForItsClass(t *testing.T) {
	params := &ingressapi.IngressClassParams{
		ObjectMeta: metav1.ObjectMeta{Name: "edge", Annotations: map[string]string{membership.ExclusiveAnnotation: "true"}},
		Spec:       ingressapi.IngressClassParamsSpec{Group: &ingressapi.Group{Name: "edge"}},
	}
	server := newServer(t, Options{Class: "alb"}, class("alb", membership.Controller, false), params)
	const want = "IngressClassParams edge keep this group for Ingresses of their class"
	outside, inside := newIngress("alb"), newIngress("alb", "group.name=edge")
	if got := ask(t, server, Path, inside, outside); got.Allowed || !strings.Contains(got.Result.Message, want) {
		t.Errorf("joining: allowed %v, %v", got.Allowed, got.Result)
	}
	changed := newIngress("alb", "group.name=edge", "scheme=internal")
	if got := ask(t, server, Path, changed, inside); !got.Allowed || !strings.Contains(strings.Join(got.Warnings, " "), want) {
		t.Errorf("staying: allowed %v, warnings %q", got.Allowed, got.Warnings)
	}
}

// What a flag forbids at once is not let in by two steps either: what was not ours, or had a fault, counts for nothing.
func TestForbiddenAnnotationsAreNotLetInByTwoSteps(t *testing.T) {
	kept := &ingressapi.IngressClassParams{
		ObjectMeta: metav1.ObjectMeta{Name: "edge", Annotations: map[string]string{membership.ExclusiveAnnotation: "true"}},
		Spec:       ingressapi.IngressClassParamsSpec{Group: &ingressapi.Group{Name: "kept"}},
	}
	objects := []client.Object{class("alb", ours, false), class("nginx", "k8s.io/nginx", false), kept}
	server := newServer(t, Options{Class: "alb", ForbidGroupName: true, ForbidClassAnnotation: true}, objects...)
	withFinalizer := newIngress("nginx", "group.name=victim")
	withFinalizer.Finalizers = []string{"group.ingress.k8s.aws/victim"}
	ofVictim := newIngress("alb", "group.name=victim")
	ofVictim.Finalizers = withFinalizer.Finalizers
	for name, c := range map[string]struct{ first, second *networkingv1.Ingress }{
		"group of another class":             {newIngress("nginx", "group.name=victim"), newIngress("alb", "group.name=victim")},
		"the same, with a finalizer":         {withFinalizer, ofVictim},
		"group without class":                {newIngress("", "group.name=victim"), newIngress("alb", "group.name=victim")},
		"group of no class that exists":      {newIngress("", "kubernetes.io/ingress.class=gone", "group.name=victim"), newIngress("alb", "group.name=victim")},
		"class annotation with a bad group":  {newIngress("", "kubernetes.io/ingress.class=alb", "group.name=BAD_NAME"), newIngress("", "kubernetes.io/ingress.class=alb")},
		"class annotation of another":        {newIngress("", "kubernetes.io/ingress.class=nginx"), newIngress("", "kubernetes.io/ingress.class=alb")},
		"a bad group, then a good one":       {newIngress("alb", "group.name=BAD_NAME"), newIngress("alb", "group.name=victim")},
		"a kept group, of another class":     {newIngress("nginx", "group.name=kept"), newIngress("alb", "group.name=kept")},
		"a kept group, then without a class": {newIngress("", "group.name=kept"), newIngress("alb", "group.name=kept")},
	} {
		first := ask(t, server, Path, c.first, nil)
		second := ask(t, server, Path, c.second, client.Object(c.first))
		if first.Allowed && second.Allowed {
			t.Errorf("%s: both steps are allowed", name)
		}
	}
}

// With --ignore-ingress-class-annotation IngressClasses decide, and so their IngressClassParams.
func TestTheClassAnnotationIsIgnored(t *testing.T) {
	server := newServer(t, Options{Class: "alb", IgnoreClassAnnotation: true}, class("alb", ours, false), class("nginx", "k8s.io/nginx", false))
	check(t, ask(t, server, Path, newIngress("", "kubernetes.io/ingress.class=alb", "scheme=public"), nil), "", "")
	check(t, ask(t, server, Path, newIngress("nginx", "kubernetes.io/ingress.class=alb", "scheme=public"), nil), "", "")
	check(t, ask(t, server, Path, newIngress("alb", "kubernetes.io/ingress.class=nginx", "scheme=public"), nil), "", "scheme")
	check(t, ask(t, server, Path, newIngress("gone", "kubernetes.io/ingress.class=nginx"), nil), `spec.ingressClassName "gone"`, "")
}
