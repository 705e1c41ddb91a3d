// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package balancers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	testingclock "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/targetgate/targetgate/balancers/apply"
	"github.com/targetgate/targetgate/balancers/frontend"
	"github.com/targetgate/targetgate/balancers/ingress/input"
	"github.com/targetgate/targetgate/balancers/ingress/membership"
	"github.com/targetgate/targetgate/balancers/ingress/objects"
	"github.com/targetgate/targetgate/balancers/lookup"
	"github.com/targetgate/targetgate/balancers/plan"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
	ingressapi "github.com/targetgate/targetgate/balancers/v1beta1"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// bed runs passes against an API server that is not one, and an AWS of which only the stack of each group is there.
type bed struct {
	*Reconciler
	front *objects.Ingresses
	t     *testing.T
	clock *testingclock.FakeClock

	seen     map[string]stack.Stack // by group
	wanted   stack.Stack            // of the last pass
	apply    func(pass apply.Pass) apply.Result
	viewErr  error // of Stack
	partsErr error
	patchErr error
	overflow []plan.Overflow
	unknown  error // of Complete
	// complete does what Complete is to do.
	complete  func(wanted stack.Stack) bool
	compared  stack.Stack // what the wanted stack was compared with
	statusErr error

	events  []string
	writes  []string
	planned int
	steps   steps.Plan
}

func newBed(t *testing.T, there ...client.Object) *bed {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1beta1.AddToScheme(scheme), ingressapi.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	b := &bed{t: t, clock: testingclock.NewFakeClock(time.Unix(1_700_000_000, 0)), seen: map[string]stack.Stack{}}
	b.apply = func(apply.Pass) apply.Result { return apply.Result{} }
	builder := fake.NewClientBuilder().WithScheme(scheme).WithObjects(there...).WithStatusSubresource(&networkingv1.Ingress{})
	if err := objects.AddIndexes(t.Context(), indexer{builder}); err != nil {
		t.Fatal(err)
	}
	c := interceptor.NewClient(builder.Build(), interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
			if b.patchErr != nil {
				return b.patchErr
			}
			b.writes = append(b.writes, "patch "+o.GetName())
			return c.Patch(ctx, o, patch, opts...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			if b.statusErr != nil {
				return b.statusErr
			}
			b.writes = append(b.writes, sub+" "+o.GetName())
			return c.SubResource(sub).Patch(ctx, o, patch, opts...)
		},
	})
	b.Reconciler = &Reconciler{
		Client: c, Recorder: b, Clock: b.clock, View: b, Lookup: b.Lookup, MakePlan: b.Plan, Applier: b,
		Cluster: "prod", DriftInterval: time.Hour, SettleTime: DefaultSettleTime,
	}
	b.front = &objects.Ingresses{
		Client: c, Options: input.DefaultOptions("prod", "vpc-1"), Class: "alb",
		Watches: frontend.Watches{Knows: b.memories.knows, Found: b.found},
	}
	b.Frontend = b.front
	return b
}

// indexer adds indexes to a fake client.
type indexer struct{ builder *fake.ClientBuilder }

func (i indexer) IndexField(_ context.Context, o client.Object, field string, values client.IndexerFunc) error {
	i.builder.WithIndex(o, field, values)
	return nil
}

func (b *bed) Eventf(on, _ runtime.Object, kind, reason, _, note string, args ...any) {
	b.events = append(b.events, fmt.Sprintf("%s %s %s: %s", on.(*networkingv1.Ingress).Name, kind, reason, fmt.Sprintf(note, args...)))
}

func (b *bed) Stack(_ context.Context, id stack.ID) (stack.Stack, error) {
	out := b.seen[id.Name]
	out.ID = id
	out.LoadBalancers = slices.Clone(out.LoadBalancers)
	return out, b.viewErr
}

func (b *bed) Parts(_ context.Context, id stack.ID) (stack.Stack, error) {
	out := b.seen[id.Name]
	out.ID = id
	return out, b.partsErr
}

func (b *bed) Complete(_ context.Context, wanted stack.Stack) (bool, error) {
	return b.complete != nil && b.complete(wanted), b.unknown
}

func (b *bed) Lookup(context.Context, stack.ID, lookup.Needs) (lookup.Answers, error) {
	subnet := func(id, zone string) lookup.Subnet {
		return lookup.Subnet{ID: id, Zone: zone, Locale: "availability-zone", Free: 100, Tags: map[string]string{"kubernetes.io/role/internal-elb": "1"}}
	}
	return lookup.Answers{Subnets: []lookup.Subnet{subnet("subnet-a", "a"), subnet("subnet-b", "b")}}, nil
}

func (b *bed) Plan(wanted, seen stack.Stack) (steps.Plan, []plan.Overflow) {
	b.wanted, b.compared = wanted, seen
	b.planned++
	return b.steps, b.overflow
}

func (b *bed) Run(_ context.Context, pass apply.Pass) apply.Result { return b.apply(pass) }

// pass makes one over the group.
func (b *bed) pass(group stack.Group) (ctrl.Result, error) {
	return b.Reconcile(b.t.Context(), ctrl.Request{NamespacedName: types.NamespacedName(group)})
}

// mustPass makes one without an error.
func (b *bed) mustPass(group stack.Group) ctrl.Result {
	b.t.Helper()
	result, err := b.pass(group)
	if err != nil {
		b.t.Fatalf("pass over %s: %v", group, err)
	}
	return result
}

// take returns what there is in the list, and empties it.
func take(list *[]string) []string {
	out := *list
	*list = nil
	return out
}

func (b *bed) get(name string) *networkingv1.Ingress {
	b.t.Helper()
	out := &networkingv1.Ingress{}
	if err := b.Client.Get(b.t.Context(), types.NamespacedName{Namespace: "shop", Name: name}, out); err != nil {
		b.t.Fatal(err)
	}
	return out
}

// exists reports whether the Ingress is still there.
func (b *bed) exists(name string) bool {
	return b.Client.Get(b.t.Context(), types.NamespacedName{Namespace: "shop", Name: name}, &networkingv1.Ingress{}) == nil
}

func (b *bed) edit(name string, edit func(*networkingv1.Ingress)) {
	b.t.Helper()
	out := b.get(name)
	edit(out)
	if err := b.Client.Update(b.t.Context(), out); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bed) writeHost(name, host string) {
	b.t.Helper()
	if err := b.Client.Status().Update(b.t.Context(), served(b.get(name), host)); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bed) delete(name string) {
	b.t.Helper()
	if err := b.Client.Delete(b.t.Context(), b.get(name)); err != nil {
		b.t.Fatal(err)
	}
}

var edge, other = stack.Group{Name: "edge"}, stack.Group{Name: "other"}

// ingressOf is one of the group, for a host of its name and the Service web.
func ingressOf(name string, group stack.Group) *networkingv1.Ingress {
	prefix := networkingv1.PathTypePrefix
	backend := networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: "web", Port: networkingv1.ServiceBackendPort{Number: 80}}}
	return &networkingv1.Ingress{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID("uid-" + name), Annotations: map[string]string{
			"kubernetes.io/ingress.class":           "alb",
			"alb.ingress.kubernetes.io/group.name":  group.Name,
			"alb.ingress.kubernetes.io/target-type": "ip",
		}},
		Spec: networkingv1.IngressSpec{Rules: []networkingv1.IngressRule{{Host: name + ".example.com", IngressRuleValue: networkingv1.IngressRuleValue{
			HTTP: &networkingv1.HTTPIngressRuleValue{Paths: []networkingv1.HTTPIngressPath{{Path: "/", PathType: &prefix, Backend: backend}}},
		}}}},
	}
}

func served(i *networkingv1.Ingress, host string, finalizers ...stack.Group) *networkingv1.Ingress {
	for _, group := range finalizers {
		i.Finalizers = append(i.Finalizers, membership.FinalizerOf(group))
	}
	if host != "" {
		i.Status.LoadBalancer.Ingress = []networkingv1.IngressLoadBalancerIngress{{Hostname: host, Ports: []networkingv1.IngressPortStatus{{Port: 80}}}}
	}
	return i
}

func webService() *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "uid-service"},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80}}},
	}
}

func balancer(name string, active bool, ports ...int32) stack.LoadBalancer {
	out := stack.LoadBalancer{ARN: "arn-" + name, DNSName: "K8s-" + name + ".elb.amazonaws.com", Name: name, Scheme: "internal", AddressType: "ipv4", Active: active}
	for _, port := range ports {
		out.Listeners = append(out.Listeners, stack.Listener{Port: port, Protocol: "HTTP"})
	}
	return out
}

// see has the group's stack in AWS have these load balancers.
// seeGroup adds a target group to what is seen.
func (b *bed) seeGroup(group stack.Group, part string) {
	s := b.seen[group.String()]
	s.TargetGroups = append(s.TargetGroups, stack.TargetGroup{ARN: "arn-" + part, Part: part, Name: stack.Name([]stack.Part{{Text: "shop", Max: 8}}, part)})
	b.seen[group.String()] = s
}

func (b *bed) see(group stack.Group, balancers ...stack.LoadBalancer) {
	for i := range balancers[:len(balancers)*min(1, len(balancers)/2)] { // each of several has a name of the group's
		balancers[i].Name = stack.Name(group.NameParts(), balancers[i].Name)
	}
	b.seen[group.String()] = stack.Stack{LoadBalancers: balancers}
}

// groupField is the field by which Ingresses and bindings of a group are found.
var groupField = new(objects.Ingresses).GroupField()
