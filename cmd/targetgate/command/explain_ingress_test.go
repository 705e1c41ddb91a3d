// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/targetgate/targetgate/balancers/fault"
	"github.com/targetgate/targetgate/balancers/ingress/input"
	"github.com/targetgate/targetgate/balancers/ingress/membership"
	"github.com/targetgate/targetgate/balancers/ingress/preview"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/targets/explain"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

func TestLinksOfAnIngress(t *testing.T) {
	key := client.ObjectKey{Namespace: "shop", Name: "a"}
	well := preview.Routes{Group: "edge", Members: []string{"shop/0", "shop/a"}, Hostname: "lb.example", Routes: []preview.Route{
		{Text: "host a to target group x", Ports: []int32{80, 443}},
	}}
	with := func(change func(*preview.Routes)) preview.Routes {
		out := well
		change(&out)
		return out
	}
	wrong := func(f fault.Fault) preview.Routes {
		return with(func(r *preview.Routes) { r.Faults = []fault.Fault{f} })
	}
	for _, c := range []struct {
		name   string
		routes preview.Routes
		cause  string // name and state of the first link that is not well
		says   string
	}{
		{"well", well, "", "edge, of which it is number 2 of 2"},
		{"rule", well, "", "host a to target group x, by listeners 80 443"},
		{"not ours", preview.Routes{}, "group broken", "is not targetgate's"},
		{"deleted", preview.Routes{Deleted: true, Finalizers: []string{"ingress.k8s.aws/resources"}}, "group waiting",
			"is being deleted; it keeps finalizer ingress.k8s.aws/resources until nothing that was made for it serves"},
		{"deleted, and kept by others", preview.Routes{Deleted: true}, "group waiting", "others' finalizers keep it"},
		{"of another class by now", preview.Routes{Finalizers: []string{"group.ingress.k8s.aws/edge"}}, "group waiting",
			"kubectl -n shop describe ingress a"},
		{"not known to be ours", preview.Routes{Unsure: true}, "", "unknown  group         whether it is targetgate's is not known"},
		{"others not read", with(func(r *preview.Routes) { r.Fewer = true }), "", "number 2 of 2 that you may read"},
		{"no group for a fault", preview.Routes{Faults: []fault.Fault{{Reason: "wrong class"}}}, "group broken", "wrong class"},
		{"held", wrong(fault.Fault{Annotation: "x", Reason: "wrong"}), "ingress broken", "keeps what the Ingress was given last"},
		{"shadowed", wrong(fault.Fault{Field: "spec.rules[0]", Reason: "no request reaches it", Kind: fault.Warning}), "rule broken", "no request"},
		{"a warning", wrong(fault.Fault{Annotation: "x", Reason: "is ignored", Kind: fault.Warning}), "", "is ignored"},
		{"no status", with(func(r *preview.Routes) { r.Hostname = "" }), "status waiting", "has no load balancer yet"},
		{"no binding", with(func(r *preview.Routes) { r.Lost = []string{"web:80"} }), "binding broken", "no TargetGroupBinding of Service web:80"},
	} {
		chain := explain.OfIngress("shop", "a", ingressLinks(key, c.routes))
		cause := ""
		if chain.Cause != nil {
			cause = chain.Cause.Name + " " + string(chain.Cause.State)
		}
		if cause != c.cause {
			t.Errorf("%s: cause %q, want %q", c.name, cause, c.cause)
		}
		var out strings.Builder
		if err := (explain.Report{Chains: []explain.Chain{chain}}).Text(&out, false, false); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), c.says) || !strings.HasPrefix(out.String(), "Ingress shop/a\n") {
			t.Errorf("%s: does not say %q:\n%s", c.name, c.says, out.String())
		}
	}
}

func TestExplainTakesTheFlagsThatRoutesDependOn(t *testing.T) {
	opts, err := parseExplainOptions("targetgate", []string{"explain", "ingress", "a", "--ingress-class=edge", "--default-target-type=ip",
		"--disable-ingress-class-annotation", "--disable-ingress-group-name-annotation", "--ignore-ingress-class-annotation",
		"--tolerate-non-existent-backend-service=false", "--tolerate-non-existent-backend-action=false",
		"--load-balancer-rule-quota=200", "--load-balancer-certificate-quota=50", "--frontend-nlb-target-quota=1000"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	want := preview.Flags{IngressClass: "edge", Options: input.DefaultOptions("", ""), Switches: membership.Switches{
		ForbidClassAnnotation: true, ForbidGroupName: true, IgnoreClassAnnotation: true,
	}}
	want.Options.DefaultTargetType, want.Options.TolerateMissingService, want.Options.TolerateMissingAction = "ip", false, false
	want.Options.Limits.Rules, want.Options.Limits.Certificates, want.Options.Limits.FrontTargets = 200, 50, 1000
	if diff := cmp.Diff(want, opts.Ingress); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// From the Ingress to the pods in one report: the first broken link is behind the binding.
func TestAnIngressIsExplainedDownToThePods(t *testing.T) {
	prefix := networkingv1.PathTypePrefix
	path := networkingv1.HTTPIngressPath{Path: "/", PathType: &prefix, Backend: networkingv1.IngressBackend{
		Service: &networkingv1.IngressServiceBackend{Name: "web", Port: networkingv1.ServiceBackendPort{Number: 80}},
	}}
	object := &networkingv1.Ingress{Spec: networkingv1.IngressSpec{Rules: []networkingv1.IngressRule{{
		Host: "a.example.com", IngressRuleValue: networkingv1.IngressRuleValue{
			HTTP: &networkingv1.HTTPIngressRuleValue{Paths: []networkingv1.HTTPIngressPath{path}},
		},
	}}}}
	object.Annotations = map[string]string{"kubernetes.io/ingress.class": "alb"}
	object.Status.LoadBalancer.Ingress = []networkingv1.IngressLoadBalancerIngress{{Hostname: "lb.example"}}
	service := &corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
	binding := &v1beta1.TargetGroupBinding{Spec: v1beta1.TargetGroupBindingSpec{
		ServiceRef: v1beta1.ServiceReference{Name: "web", Port: intstr.FromInt32(80)},
	}}
	object.Name, service.Name, binding.Name = "a", "web", "k8s-web"
	object.Namespace, service.Namespace, binding.Namespace = "shop", "shop", "shop"
	binding.Labels = membership.LabelsOf(stack.Group{Namespace: "shop", Name: "a"})
	scheme, err := NewScheme()
	if err != nil {
		t.Fatal(err)
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(object, service, binding).Build()
	o := &explainOptions{Ingress: preview.Flags{IngressClass: "alb", Options: input.DefaultOptions("", "")}}
	o.Ingress.Options.DefaultTargetType = "ip"
	report, err := o.explainIngress(t.Context(), c, explain.New(explain.Explainer{Reader: c, Clock: clock.RealClock{}}), client.ObjectKeyFromObject(object))
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Chains) != 2 || report.Chains[0].Cause != nil || report.Chains[1].Binding != "k8s-web" || len(report.Chains[1].Links) < 2 {
		t.Errorf("%+v, want that of the Ingress, in which all is well, and that of its binding", report.Chains)
	}
	if len(report.Notes) < 2 || !strings.Contains(report.Notes[1], "give explain the same, such as --load-balancer-rule-quota") {
		t.Errorf("notes %q, want which flags it has reckoned with", report.Notes)
	}
	if len(report.Notes) == 0 || !strings.Contains(report.Notes[0], "targetgate plan shop/a, with the controller's flags") {
		t.Errorf("notes %q, want where to ask about AWS", report.Notes)
	}
}
