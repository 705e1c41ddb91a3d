// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/balancers/ingress/input"
	"github.com/targetgate/targetgate/balancers/ingress/membership"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

func bindingOf(name, service string, port int32) *v1beta1.TargetGroupBinding {
	b := &v1beta1.TargetGroupBinding{}
	b.Namespace, b.Name, b.Labels = "shop", name, membership.LabelsOf(stack.Group{Name: "edge"})
	b.Spec.ServiceRef = v1beta1.ServiceReference{Name: service, Port: intstr.FromInt32(port)}
	return b
}

func routesOf(t *testing.T, documents string, bindings ...client.Object) Routes {
	t.Helper()
	p := newPreview(t, &account{}, documents, bindings...)
	flags := Flags{IngressClass: "alb", Options: input.DefaultOptions("", "")}
	out, err := RoutesOf(t.Context(), p.Snapshot.Client, flags, client.ObjectKey{Namespace: "shop", Name: "a"})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestRoutesOfAnIngress(t *testing.T) {
	// The settings of these annotations are in AWS.
	a := ingressOf("a", `listen-ports: '[{"HTTP": 80}, {"HTTPS": 443}]'`, "subnets: subnet-1,subnet-2", "security-groups: mine",
		`create-acm-cert: "true"`)
	got := routesOf(t, webService+ingressOf("0")+a, bindingOf("k8s-web", "web", 80), bindingOf("k8s-other", "other", 80))
	want := Routes{
		Group: "edge", Members: []string{"shop/0", "shop/a"}, Bindings: []string{"k8s-web"},
		Routes: []Route{{Text: "host a.example.com, path /* to target group shop/a-web:80", Ports: []int32{80, 443}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A switch that the controller has says why an Ingress is in no group.
func TestRoutesThatASwitchForbids(t *testing.T) {
	p := newPreview(t, &account{}, webService+ingressOf("a"))
	flags := Flags{IngressClass: "alb", Options: input.DefaultOptions("", ""), Switches: membership.Switches{ForbidGroupName: true}}
	got, err := RoutesOf(t.Context(), p.Snapshot.Client, flags, client.ObjectKey{Namespace: "shop", Name: "a"})
	if err != nil {
		t.Fatal(err)
	}
	if got.Group != "" || len(got.Faults) != 1 || !strings.Contains(got.Faults[0].Error(), "--disable-ingress-group-name-annotation") {
		t.Errorf("group %q, faults %v, want none, and why", got.Group, got.Faults)
	}
}

// What a member may ask for is reckoned by the quotas that the controller is told of.
func TestRoutesByAQuotaThatWasRaised(t *testing.T) {
	paths, defaults := strings.Builder{}, input.DefaultOptions("", "")
	most := defaults.Sizes().MostPaths()
	for i := range most {
		fmt.Fprintf(&paths, "      - {path: /%d, pathType: Exact, backend: {service: {name: web, port: {number: 80}}}}\n", i)
	}
	many := strings.Replace(ingressOf("a"), "      - {path", paths.String()+"      - {path", 1)
	p := newPreview(t, &account{}, webService+many, bindingOf("k8s-web", "web", 80))
	for quota, want := range map[int]int{defaults.Limits.Rules: 0, most + 1: most + 1} {
		flags := Flags{IngressClass: "alb", Options: input.DefaultOptions("", "")}
		flags.Options.Limits.Rules = quota
		got, err := RoutesOf(t.Context(), p.Snapshot.Client, flags, client.ObjectKey{Namespace: "shop", Name: "a"})
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Routes) != want || (want == 0) != (len(got.Faults) > 0) {
			t.Errorf("with a quota of %d: %d routes, faults %v, want %d routes", quota, len(got.Routes), got.Faults, want)
		}
	}
}

func TestRoutesThatLeadNowhere(t *testing.T) {
	shadowed := strings.ReplaceAll(ingressOf("a"), "a.example.com", "0.example.com")
	for _, c := range []struct {
		name, documents string
		fault           string
		lost            []string
	}{
		{"no binding", webService + ingressOf("a"), "", []string{"web:80"}},
		{"no Service", ingressOf("a"), "this Service does not exist in namespace shop: create it; until then requests are answered with 503", nil},
		{"an earlier rule takes all", webService + ingressOf("0") + shadowed, "no request reaches this rule, as spec.rules[0].http.paths[0] of Ingress " +
			"shop/0 stands before it", []string{"web:80"}},
		{"held", webService + ingressOf("a", "scheme: public"), "must be internal or internet-facing", nil},
		{"no node port, for targets by the flag's default", webService + strings.ReplaceAll(ingressOf("a"), "    alb.ingress.kubernetes.io/target-type: ip\n", ""),
			"the port has no node port: use a Service of type NodePort", nil},
	} {
		got := routesOf(t, c.documents)
		if diff := cmp.Diff(c.lost, got.Lost); diff != "" {
			t.Errorf("%s: lost (-want +got):\n%s", c.name, diff)
		}
		if (len(got.Faults) > 0) != (c.fault != "") || c.fault != "" && !strings.Contains(got.Faults[0].Error(), c.fault) {
			t.Errorf("%s: faults %v, want %q", c.name, got.Faults, c.fault)
		}
	}
}

func TestRoutesOfAnIngressThatIsNotOurs(t *testing.T) {
	if got := routesOf(t, webService+strings.ReplaceAll(ingressOf("a"), "class: alb", "class: nginx")); got.Group != "" || len(got.Routes) > 0 {
		t.Errorf("%+v, want no group", got)
	}
}

// An Ingress that leaves has its finalizer until nothing made for it serves any more: it is not called somebody else's.
func TestRoutesOfAnIngressThatLeaves(t *testing.T) {
	finalizer := func(text, finalizer string) string {
		return strings.ReplaceAll(text, "  name: a\n", "  name: a\n  finalizers: ["+finalizer+"]\n")
	}
	const group = "group.ingress.k8s.aws/edge"
	other := strings.ReplaceAll(ingressOf("a"), "class: alb", "class: nginx")
	for _, c := range []struct {
		name, document string
		deleted        bool
		want           []string
	}{
		{"deleted", finalizer(ingressOf("a"), group), true, []string{group}},
		{"deleted, and kept by others", finalizer(ingressOf("a"), "example.com/backup"), true, nil},
		{"of another class", finalizer(other, group), false, []string{group}},
	} {
		if c.deleted {
			c.document = strings.ReplaceAll(c.document, "  name: a\n", "  name: a\n  deletionTimestamp: 2026-11-27T11:00:00Z\n")
		}
		got, want := routesOf(t, webService+c.document), Routes{Deleted: c.deleted, Finalizers: c.want}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// ofShop is the client of somebody who may read namespace shop, and of what is in no namespace IngressClasses at most.
type ofShop struct {
	client.Client
	classes bool
}

func (c ofShop) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	_, classes := list.(*networkingv1.IngressClassList)
	if o := (&client.ListOptions{}).ApplyOptions(opts); o.Namespace != "shop" && (!classes || !c.classes) {
		return apierrors.NewForbidden(schema.GroupResource{Resource: fmt.Sprintf("%T", list)}, "", errors.New("at the cluster scope"))
	}
	return c.Client.List(ctx, list, opts...)
}

// Whoever may read one namespace alone learns of the routes there, as far as they are known to be ours, and what was not read.
func TestRoutesOfAnIngressInTheOnlyNamespaceThatMayBeRead(t *testing.T) {
	classes := "apiVersion: networking.k8s.io/v1\nkind: IngressClass\nmetadata: {name: alb}\nspec: {controller: ingress.k8s.aws/alb, " +
		"parameters: {apiGroup: elbv2.k8s.aws, kind: IngressClassParams, name: edge}}\n---\n" +
		"apiVersion: elbv2.k8s.aws/v1beta1\nkind: IngressClassParams\nmetadata: {name: edge}\nspec: {group: {name: edge}}\n---\n"
	byClass := strings.NewReplacer("    kubernetes.io/ingress.class: alb\n", "", "    alb.ingress.kubernetes.io/group.name: edge\n", "",
		"spec:\n", "spec:\n  ingressClassName: alb\n").Replace(ingressOf("a"))
	held := strings.ReplaceAll(byClass, "  name: a\n", "  name: a\n  finalizers: [group.ingress.k8s.aws/edge]\n")
	elsewhere := strings.ReplaceAll(ingressOf("0"), "  name: 0\n", "  name: \"0\"\n  namespace: other\n")
	all := []string{otherIngresses, ingressClasses, ingressClassParams}
	one := Routes{
		Group: "edge", Members: []string{"shop/a"}, Bindings: []string{"k8s-web"}, Fewer: true,
		Unread: append(slices.Clone(all), "targetgroupbindings of other namespaces"),
		Routes: []Route{{Text: "host a.example.com, path /* to target group shop/a-web:80", Ports: []int32{80}}},
	}
	for name, tc := range map[string]struct {
		document string
		classes  bool
		want     Routes
	}{
		"by its annotation":                      {ingressOf("a"), false, one},
		"by its finalizer, in a group of params": {held, false, one},
		"by nothing that may be read":            {byClass, false, Routes{Unread: all, Unsure: true}},
		"by its class, whose params are not":     {byClass, true, Routes{Unread: []string{otherIngresses, ingressClassParams}, Unsure: true}},
	} {
		p := newPreview(t, &account{}, classes+webService+elsewhere+tc.document, bindingOf("k8s-web", "web", 80))
		flags := Flags{IngressClass: "alb", Options: input.DefaultOptions("", "")}
		got, err := RoutesOf(t.Context(), ofShop{p.Snapshot.Client, tc.classes}, flags, client.ObjectKey{Namespace: "shop", Name: "a"})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
