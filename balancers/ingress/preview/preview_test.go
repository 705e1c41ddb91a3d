// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/targetgate/targetgate/balancers"
	"github.com/targetgate/targetgate/balancers/ingress/input"
	"github.com/targetgate/targetgate/balancers/ingress/membership"
	ingressobjects "github.com/targetgate/targetgate/balancers/ingress/objects"
	"github.com/targetgate/targetgate/balancers/lookup"
	"github.com/targetgate/targetgate/balancers/plan"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
	ingressapi "github.com/targetgate/targetgate/balancers/v1beta1"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// account is an AWS in which stacks are seen.
type account struct {
	seen map[string]stack.Stack
	errs map[string]error
}

func (a *account) Stack(_ context.Context, id stack.ID) (stack.Stack, error) {
	out := a.seen[id.Name]
	out.ID, out.LoadBalancers = id, slices.Clone(out.LoadBalancers)
	return out, a.errs[id.Name]
}

func (a *account) Parts(ctx context.Context, id stack.ID) (stack.Stack, error) {
	return a.Stack(ctx, id)
}

func (*account) Complete(context.Context, stack.Stack) (bool, error) { return false, nil }

func (*account) Lookup(context.Context, stack.ID, lookup.Needs) (out lookup.Answers, _ error) {
	for _, zone := range []string{"a", "b"} {
		out.Subnets = append(out.Subnets, lookup.Subnet{
			ID: "subnet-" + zone, Zone: zone, Locale: "availability-zone", Free: 100, Tags: map[string]string{"kubernetes.io/role/internal-elb": "1"},
		})
	}
	return out, nil
}

// newPreview is of a cluster with the objects of these documents, in which nothing may be written.
func newPreview(t *testing.T, aws *account, documents string, more ...client.Object) *Preview {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1beta1.AddToScheme(scheme), ingressapi.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	objects := parse(t, documents)
	for _, object := range objects {
		settle(object, nil)
	}
	c := interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme).WithObjects(append(objects, more...)...).Build(), interceptor.Funcs{
		Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			t.Error("something is written")
			return nil
		},
	})
	snapshot := NewSnapshot(c, nil)
	return &Preview{Snapshot: snapshot, Reconciler: &balancers.Reconciler{
		Client: snapshot, Clock: testingclock.NewFakeClock(time.Unix(1_700_000_000, 0)), View: aws, Lookup: aws.Lookup,
		MakePlan: func(wanted, seen stack.Stack) (steps.Plan, []plan.Overflow) {
			return plan.Make(wanted, seen, plan.Options{})
		},
		Frontend: &ingressobjects.Ingresses{Client: snapshot, Options: input.DefaultOptions("prod", "vpc-1"), Class: "alb"}, Cluster: "prod",
	}}
}

func parse(t *testing.T, documents string) []client.Object {
	t.Helper()
	objects, _, err := Objects(strings.NewReader(documents), "shop")
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// ingressOf is one of group edge, for a host of its name.
func ingressOf(name string, annotations ...string) string {
	text := "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata:\n  name: " + name + "\n  annotations:\n" +
		"    kubernetes.io/ingress.class: alb\n    alb.ingress.kubernetes.io/target-type: ip\n    alb.ingress.kubernetes.io/group.name: edge\n"
	for _, annotation := range annotations {
		text += "    alb.ingress.kubernetes.io/" + annotation + "\n"
	}
	return text + "spec:\n  rules:\n  - host: " + name + ".example.com\n    http:\n      paths:\n" +
		"      - {path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}\n---\n"
}

const webService = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {ports: [{port: 80, targetPort: 8080}]}\n---\n"

func must(t *testing.T) func(Report, error) Report {
	return func(report Report, err error) Report {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return report
	}
}

func text(t *testing.T, report Report) string {
	t.Helper()
	var out strings.Builder
	if err := report.Text(&out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// golden compares with a file, which UPDATE=1 writes.
func golden(t *testing.T, name, got string) {
	t.Helper()
	name = "testdata/" + name
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(name, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got), UPDATE=1 writes it:\n%s", name, diff)
	}
}

func TestTheReportOfAGroup(t *testing.T) {
	p := newPreview(t, &account{}, webService+ingressOf("a")+ingressOf("b", "scheme: public")+ingressOf("c", "colour: red"))
	report := must(t)(p.Group(t.Context(), "edge"))
	golden(t, "group.txt", text(t, report))
	out, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "group.json", string(out)+"\n")
	var decoded Report
	if err := json.Unmarshal(out, &decoded); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(report, decoded); diff != "" {
		t.Errorf("decoded (-want +got):\n%s", diff)
	}
	if !report.Changes || !report.IsFaulty() {
		t.Errorf("changes %t, faulty %t, want both", report.Changes, report.IsFaulty())
	}
}

// A binding is found by its group, as a pass finds it.
func TestBindingsThatAreThereArePlannedFor(t *testing.T) {
	binding := func(name string, group stack.Group) *v1beta1.TargetGroupBinding {
		return &v1beta1.TargetGroupBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: membership.LabelsOf(group)},
			Spec:       v1beta1.TargetGroupBindingSpec{TargetGroupARN: "arn-gone"},
		}
	}
	p := newPreview(t, &account{}, webService+ingressOf("a"),
		binding("its-own", stack.Group{Name: "edge"}), binding("another", stack.Group{Name: "other"}))
	got := text(t, must(t)(p.Group(t.Context(), "edge")))
	if !strings.Contains(got, "delete binding shop/its-own") || strings.Contains(got, "another") {
		t.Errorf("want the binding without a target group deleted, and none of another group:\n%s", got)
	}
}

// Whatever there is: asked twice, the answer is the same, and Ingresses of the file change it only while they differ.
func TestPlansAreTheSameTwice(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	for range 30 {
		documents := webService
		for _, name := range []string{"a", "b", "c", "d"} {
			if random.Intn(2) == 0 {
				documents += ingressOf(name, []string{"scheme: internal", "scheme: public", "group.order: '5'", "tags: a=b"}[random.Intn(4)])
			}
		}
		once, twice := newPreview(t, &account{}, documents), newPreview(t, &account{}, documents)
		first := must(t)(once.All(t.Context()))
		if diff := cmp.Diff(first, must(t)(once.All(t.Context()))); diff != "" {
			t.Errorf("asked again (-first +second):\n%s", diff)
		}
		report := must(t)(twice.Objects(t.Context(), parse(t, documents)))
		if diff := cmp.Diff(first.Groups, report.Groups); diff != "" {
			t.Errorf("a file with what there is (-without +with):\n%s", diff)
		}
	}
}

func TestObjectsOfAFileStandInPlaceOfTheClusters(t *testing.T) {
	cluster := webService + ingressOf("a")
	for _, c := range []struct {
		name, file string
		has, not   []string
		notes      int
	}{
		{"another host", strings.ReplaceAll(ingressOf("a"), "a.example.com", "z.example.com"), []string{"host z.example.com"}, []string{"a.example"}, 0},
		{"one more", ingressOf("b"), []string{"host a.example.com", "host b.example.com"}, nil, 0},
		{"a Service", strings.ReplaceAll(webService, "port: 80,", "port: 81,"), []string{"Ingress shop/a is not served as it asks"}, nil, 0},
		{"another Service", strings.ReplaceAll(webService, "name: web", "name: api"), []string{"Nothing would change, in 0 groups"}, nil, 1},
		{"another class", strings.ReplaceAll(ingressOf("b"), "class: alb", "class: nginx"), []string{"belongs to no group"}, []string{"create"}, 1},
	} {
		p := newPreview(t, &account{}, cluster)
		must(t)(p.All(t.Context())) // what was read before does not count
		report := must(t)(p.Objects(t.Context(), parse(t, c.file)))
		got := text(t, report)
		for _, want := range c.has {
			if !strings.Contains(got, want) {
				t.Errorf("%s: does not say %q:\n%s", c.name, want, got)
			}
		}
		for _, no := range c.not {
			if strings.Contains(got, no) {
				t.Errorf("%s: says %q:\n%s", c.name, no, got)
			}
		}
		if len(report.Notes) != c.notes {
			t.Errorf("%s: notes %q", c.name, report.Notes)
		}
	}
}

func TestWhatIsAppliedKeepsWhatOthersHaveWritten(t *testing.T) {
	there := parse(t, ingressOf("a"))[0].(*networkingv1.Ingress)
	there.UID, there.Finalizers = "uid-a", []string{"group.ingress.k8s.aws/edge"}
	there.Status.LoadBalancer.Ingress = []networkingv1.IngressLoadBalancerIngress{{Hostname: "x"}}
	object := parse(t, ingressOf("a"))[0].(*networkingv1.Ingress)
	if settle(object, there); object.UID != "uid-a" || len(object.Finalizers) != 1 || len(object.Status.LoadBalancer.Ingress) != 1 {
		t.Errorf("%+v, want UID, finalizers and status of the cluster's", object)
	}
	old, service := parse(t, webService)[0].(*corev1.Service), parse(t, webService)[0].(*corev1.Service)
	old.Spec.Ports[0].NodePort = 30080
	service.Spec.Type, service.Spec.Ports[0].NodePort = corev1.ServiceTypeNodePort, 31000
	if settle(service, old); service.Spec.Ports[0].NodePort != 31000 {
		t.Errorf("node port %d, want that of the file", service.Spec.Ports[0].NodePort)
	}
	service.Spec.Ports[0].NodePort, old.Spec.Ports = 0, append([]corev1.ServicePort{{Port: old.Spec.Ports[0].Port, Protocol: "UDP", NodePort: 30999}}, old.Spec.Ports...)
	for kind, want := range map[corev1.ServiceType]int32{corev1.ServiceTypeNodePort: 30080, "": 0} {
		service.Spec.Type, service.Spec.Ports[0].NodePort = kind, 0
		if settle(service, old); service.Spec.Ports[0].NodePort != want {
			t.Errorf("type %q: node port %d, want %d", kind, service.Spec.Ports[0].NodePort, want)
		}
	}
}

func TestOneGroupThatCannotBeReadStopsNoOther(t *testing.T) {
	other := strings.ReplaceAll(ingressOf("z"), "name: edge", "name: other")
	p := newPreview(t, &account{errs: map[string]error{"edge": errors.New("AWS is away")}}, webService+ingressOf("a")+other)
	report := must(t)(p.All(t.Context()))
	got := text(t, report)
	if !strings.Contains(got, "could not be planned: AWS is away") || !strings.Contains(got, "Group other: shop/z\n  1. ") || !report.IsFaulty() {
		t.Errorf("faulty %t, got\n%s", report.IsFaulty(), got)
	}
}

// What is not known is not said to stay.
func TestGroupsThatCannotBePlannedAreCounted(t *testing.T) {
	claimed := func(name, group string) string {
		text := strings.ReplaceAll(ingressOf(name), "name: edge", "name: "+group)
		return strings.ReplaceAll(text, "  name: "+name+"\n", "  name: "+name+"\n  finalizers: [group.ingress.k8s.aws/"+group+"]\n")
	}
	away := errors.New("AWS is away")
	for _, c := range []struct {
		name   string
		errs   map[string]error
		failed int
		end    string
	}{
		{"none", nil, 0, "Nothing would change, in 2 groups.\n"},
		{"one", map[string]error{"edge": away}, 1, "Nothing would change in 1 other group.\n1 group could not be planned.\n"},
		{"all", map[string]error{"edge": away, "other": away}, 2, "  could not be planned: AWS is away\n2 groups could not be planned.\n"},
	} {
		p := newPreview(t, &account{errs: c.errs}, webService+claimed("a", "edge")+claimed("z", "other"))
		p.Reconciler.MakePlan = func(stack.Stack, stack.Stack) (steps.Plan, []plan.Overflow) { return nil, nil }
		report := must(t)(p.All(t.Context()))
		if got := text(t, report); !strings.HasSuffix(got, c.end) || report.Failed != c.failed || report.Changes {
			t.Errorf("%s: %d failed, changes %t, want %d and an end of %q:\n%s", c.name, report.Failed, report.Changes, c.failed, c.end, got)
		}
	}
}

func TestASnapshotHasTheWatchedNamespacesAlone(t *testing.T) {
	p := newPreview(t, &account{}, webService+ingressOf("a"))
	p.Snapshot.namespaces = []string{"elsewhere"}
	if report := must(t)(p.All(t.Context())); len(report.Groups) != 0 {
		t.Errorf("groups %v, want none", report.Groups)
	}
}

func TestIngressesThatSeemToBeOursAndBelongToNoGroupAreNamed(t *testing.T) {
	class := "apiVersion: networking.k8s.io/v1\nkind: IngressClass\nmetadata: {name: alb}\nspec: {controller: ingress.k8s.aws/alb, " +
		"parameters: {apiGroup: elbv2.k8s.aws, kind: IngressClassParams, name: gone}}\n---\n"
	stray := strings.ReplaceAll(strings.ReplaceAll(ingressOf("a"), "    kubernetes.io/ingress.class: alb\n", ""), "spec:\n", "spec:\n  ingressClassName: alb\n")
	p := newPreview(t, &account{}, class+webService+stray)
	for name, ask := range map[string]func() (Report, error){
		"all":     func() (Report, error) { return p.All(t.Context()) },
		"Ingress": func() (Report, error) { return p.Ingress(t.Context(), client.ObjectKey{Namespace: "shop", Name: "a"}) },
	} {
		if report := must(t)(ask()); len(report.Faults) != 1 || !strings.Contains(report.Faults[0].Text, "do not exist") || !report.IsFaulty() {
			t.Errorf("%s: %+v", name, report)
		}
	}
}

// Neither AWS nor a binding, a finalizer or a status would change.
func TestATakeOverWithNothingToDoSaysSo(t *testing.T) {
	served := strings.ReplaceAll(ingressOf("a"), "  name: a\n", "  name: a\n  finalizers: [group.ingress.k8s.aws/edge]\n")
	served = strings.ReplaceAll(served, "---\n", "status: {loadBalancer: {ingress: [{hostname: lb, ports: [{port: 80, protocol: TCP}]}]}}\n---\n")
	seen := stack.Stack{LoadBalancers: []stack.LoadBalancer{{
		ARN: "arn-lb", DNSName: "LB", Active: true, Scheme: "internal", AddressType: "ipv4", Listeners: []stack.Listener{{Port: 80, Protocol: "HTTP"}},
	}}}
	for documents, want := range map[string]string{
		served: "Nothing would change, in 1 group.\n",
		strings.ReplaceAll(served, "hostname: lb", "hostname: other"): "Group edge: shop/a\n  Ingress shop/a: write lb with ports 80 to the status\n" +
			"0 steps, and 1 write to Ingresses. Nothing to report for 0 other groups.\n",
	} {
		p := newPreview(t, &account{seen: map[string]stack.Stack{"edge": seen}}, webService+documents)
		p.Reconciler.MakePlan = func(stack.Stack, stack.Stack) (steps.Plan, []plan.Overflow) { return nil, nil }
		report := must(t)(p.All(t.Context()))
		if got := text(t, report); got != want || report.Changes != strings.HasPrefix(want, "Group") || report.IsFaulty() {
			t.Errorf("changes %t, got\n%s\nwant\n%s", report.Changes, got, want)
		}
	}
}

func TestTextHasNothingThatATerminalActsOn(t *testing.T) {
	report := Report{Groups: []Group{{Name: "edge", Steps: []Step{{Text: "path /\x1b[2Jx\u202e", Why: "y"}}}}}
	if got := text(t, report); strings.ContainsAny(got, "\x1b\u202e") {
		t.Errorf("%q", got)
	}
}
