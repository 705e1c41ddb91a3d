// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package shared

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/smithy-go"
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

	"github.com/targetgate/targetgate/balancers/apply"
	"github.com/targetgate/targetgate/balancers/ingress/objects"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// account is an AWS with one shared security group or none.
type account struct {
	groups []stack.SecurityGroup
	uses   stack.Uses
	err    error
	reads  int
	result apply.Result
	plans  []steps.Plan
	during func() // is called while the steps are done
}

func (a *account) Shared(context.Context) ([]stack.SecurityGroup, error) { return a.groups, nil }

func (a *account) Uses(context.Context, string) (stack.Uses, error) {
	a.reads++
	return a.uses, a.err
}

func (a *account) Run(_ context.Context, pass apply.Pass) apply.Result {
	a.plans = append(a.plans, pass.Plan)
	if a.during != nil {
		a.during()
	}
	return a.result
}

func lines(plans []steps.Plan) (out []string) {
	for _, plan := range plans {
		for _, step := range plan {
			out = append(out, steps.Step{Change: step.Change}.String())
		}
	}
	return out
}

const interval = time.Hour

func newCollector(t *testing.T, aws *account, there ...client.Object) *Collector {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1beta1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	if aws.groups == nil {
		aws.groups = []stack.SecurityGroup{{ID: "sg-shared", Shared: true, Description: stack.SharedDescription}}
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(there...).Build()
	return New(Options{
		Client: c, View: aws, Applier: aws,
		Clock: testingclock.NewFakeClock(time.Unix(1_700_000_000, 0)), Cluster: "prod", Interval: interval, Held: (&objects.Ingresses{Client: c}).Held,
	})
}

func meta(finalizers ...string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "shop", Name: "web", Finalizers: finalizers}
}

func ending(finalizers ...string) metav1.ObjectMeta {
	m := meta(finalizers...)
	m.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	return m
}

func binding(peers ...string) *v1beta1.TargetGroupBinding {
	b := &v1beta1.TargetGroupBinding{ObjectMeta: meta()}
	b.Spec.Networking = &v1beta1.TargetGroupBindingNetworking{}
	for _, id := range peers {
		b.Spec.Networking.Ingress = append(b.Spec.Networking.Ingress, v1beta1.NetworkingIngressRule{
			From: []v1beta1.NetworkingPeer{{IPBlock: &v1beta1.IPBlock{CIDR: "10.0.0.0/8"}}, {SecurityGroup: &v1beta1.SecurityGroup{GroupID: id}}},
		})
	}
	return b
}

func use(group string, port int32, ours bool) stack.Use {
	return stack.Use{Group: group, Rule: stack.Inbound{From: port, To: port, Protocol: "tcp", Source: "sg-shared"}, Ours: ours}
}

// Rule 35: the shared security group goes when nothing needs it, never before; nobody is called while an object needs it.
func TestTheSharedSecurityGroupGoesWhenNothingNeedsIt(t *testing.T) {
	const gone = "delete security group backend-sg (sg-shared)"
	for name, tc := range map[string]struct {
		objects []client.Object
		aws     account
		given   string
		want    []string
		reads   int
	}{
		"nothing needs it": {want: []string{gone}, reads: 1},
		"it is the user's": {given: "sg-shared"},
		"there is none":    {aws: account{groups: []stack.SecurityGroup{}}},
		"somebody else's":  {aws: account{groups: []stack.SecurityGroup{{ID: "sg-shared", Name: "theirs"}}}},
		"two that were made by two controllers": {
			aws:  account{groups: []stack.SecurityGroup{{ID: "sg-shared", Description: stack.SharedDescription}, {ID: "sg-other", Description: stack.SharedDescription}}},
			want: []string{gone, "delete security group backend-sg (sg-other)"}, reads: 2,
		},
		"objects without a finalizer": {
			objects: []client.Object{
				&networkingv1.Ingress{ObjectMeta: meta("example.com/else")}, &corev1.Service{ObjectMeta: meta("service.kubernetes.io/load-balancer-cleanup")},
				binding("sg-mine"),
			},
			want: []string{gone}, reads: 1,
		},
		"an Ingress by itself":       {objects: []client.Object{&networkingv1.Ingress{ObjectMeta: meta("ingress.k8s.aws/resources")}}},
		"an Ingress of a group":      {objects: []client.Object{&networkingv1.Ingress{ObjectMeta: meta("group.ingress.k8s.aws/edge")}}},
		"an Ingress that is deleted": {objects: []client.Object{&networkingv1.Ingress{ObjectMeta: ending("group.ingress.k8s.aws/edge")}}},
		"a Service of the incumbent": {objects: []client.Object{&corev1.Service{ObjectMeta: meta("service.k8s.aws/resources")}}},
		"a binding that lets it in":  {objects: []client.Object{binding("sg-mine", "sg-shared")}},
		"a load balancer, whoever's": {aws: account{uses: stack.Uses{LoadBalancers: []string{"k8s-web"}, Rules: []stack.Use{use("sg-node", 80, true)}}}, reads: 1},
		"a rule that others have made": {
			aws: account{uses: stack.Uses{Rules: []stack.Use{use("sg-node", 80, true), use("sg-db", 5432, false)}}}, reads: 1,
		},
		"rules of bindings go first": {
			aws: account{uses: stack.Uses{Rules: []stack.Use{use("sg-pod", 8080, true), use("sg-node", 80, true), use("sg-node", 443, true)}}},
			want: []string{
				"no longer let in sg-shared to port 80, sg-shared to port 443 by security group sg-node",
				"no longer let in sg-shared to port 8080 by security group sg-pod", gone,
			},
			reads: 1,
		},
		"AWS gives no answer": {aws: account{err: errors.New("no answer")}, reads: 1},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCollector(t, &tc.aws, tc.objects...)
			c.Given = tc.given
			pause, err := c.collect(t.Context())
			if (err != nil) != (tc.aws.err != nil) || err == nil && pause != interval || err != nil && pause != failurePause {
				t.Errorf("again in %v, error %v", pause, err)
			}
			if diff := cmp.Diff(tc.want, lines(tc.aws.plans)); diff != "" || tc.aws.reads != tc.reads {
				t.Errorf("%d reads, want %d; steps (-want +got):\n%s", tc.aws.reads, tc.reads, diff)
			}
			if !c.Enter() {
				t.Error("no pass may begin any more")
			}
		})
	}
}

// Any of the objects, load balancers and rules alone keeps it, whatever else there is.
func TestWhateverNeedsTheSharedSecurityGroupKeepsIt(t *testing.T) {
	needs := []func(*account) client.Object{
		func(*account) client.Object {
			return &networkingv1.Ingress{ObjectMeta: meta("ingress.k8s.aws/resources")}
		},
		func(*account) client.Object { return &corev1.Service{ObjectMeta: meta("service.k8s.aws/resources")} },
		func(*account) client.Object { return binding("sg-shared") },
		func(a *account) client.Object { a.uses.LoadBalancers = []string{"mine"}; return nil },
		func(a *account) client.Object {
			a.uses.Rules = append(a.uses.Rules, use("sg-db", 1, false))
			return nil
		},
	}
	for mask := range 1 << len(needs) {
		aws := &account{uses: stack.Uses{Rules: []stack.Use{use("sg-node", 80, true)}}}
		var objects []client.Object
		for i, need := range needs {
			if mask&(1<<i) == 0 {
				continue
			}
			if o := need(aws); o != nil {
				objects = append(objects, o)
			}
		}
		if _, err := newCollector(t, aws, objects...).collect(t.Context()); err != nil || (len(aws.plans) == 0) != (mask != 0) {
			t.Errorf("needs %05b: steps %q, error %v", mask, lines(aws.plans), err)
		}
	}
}

func TestTheSharedSecurityGroupStaysWhileTheClusterCannotBeRead(t *testing.T) {
	aws := &account{}
	c := newCollector(t, aws)
	c.Client = interceptor.NewClient(c.Client.(client.WithWatch), interceptor.Funcs{
		List: func(ctx context.Context, w client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if _, ok := list.(*corev1.ServiceList); ok {
				return errors.New("no answer")
			}
			return w.List(ctx, list, opts...)
		},
	})
	if pause, err := c.collect(t.Context()); err == nil || pause != failurePause || len(aws.plans) > 0 {
		t.Errorf("again in %v, error %v, steps %q", pause, err, lines(aws.plans))
	}
}

// A pass may be about to use the group: it is not deleted meanwhile, nor does a pass begin while it is.
func TestNoPassIsUnderWayWhileTheSharedSecurityGroupIsDeleted(t *testing.T) {
	aws := &account{}
	c := newCollector(t, aws)
	entered := false
	aws.during = func() { entered = c.Enter() }
	for range 2 {
		if !c.Enter() {
			t.Fatal("a pass may not begin")
		}
	}
	for range 2 {
		if pause, err := c.collect(t.Context()); err != nil || pause != lingerPause || len(aws.plans) > 0 {
			t.Errorf("again in %v, error %v, steps %q while a pass is under way", pause, err, lines(aws.plans))
		}
		c.Leave()
	}
	if _, err := c.collect(t.Context()); err != nil || len(aws.plans) != 1 || entered {
		t.Errorf("error %v, steps %q; a pass began meanwhile: %v", err, lines(aws.plans), entered)
	}
	if !c.Enter() {
		t.Error("no pass may begin any more")
	}
}

// AWS keeps a security group busy for a while after its last load balancer.
func TestWhatIsInUseIsTriedAgainLessAndLessOften(t *testing.T) {
	inUse := apply.Failure{Step: steps.Step{Change: steps.DeleteSecurityGroup{}}, Err: &smithy.GenericAPIError{Code: "DependencyViolation"}}
	aws := &account{result: apply.Result{Later: []apply.Failure{inUse}}}
	c := newCollector(t, aws)
	clock := c.Clock.(*testingclock.FakeClock)
	var pauses []string
	for _, age := range []time.Duration{0, 4 * time.Minute, 6 * time.Minute, 100 * time.Minute, 100 * time.Hour} {
		clock.SetTime(time.Unix(1_700_000_000, 0).Add(age))
		pause, err := c.collect(t.Context())
		pauses = append(pauses, fmt.Sprintf("%v%v", pause, err))
	}
	if want := "10s<nil> 10s<nil> 36s<nil> 10m0s<nil> 1h0m0s<nil>"; strings.Join(pauses, " ") != want {
		t.Errorf("pauses %s, want %s", strings.Join(pauses, " "), want)
	}
	aws.result = apply.Result{Failures: []apply.Failure{{Step: inUse.Step, Err: errors.New("AccessDenied")}}}
	if pause, err := c.collect(t.Context()); err != nil || pause != failurePause {
		t.Errorf("again in %v, error %v after a failure, want %v", pause, err, failurePause)
	}
	aws.result = apply.Result{}
	if pause, err := c.collect(t.Context()); err != nil || pause != interval || !c.since.IsZero() {
		t.Errorf("again in %v, error %v, since %v once it is gone", pause, err, c.since)
	}
}

// It is looked at the start, and soon after a group of Ingresses has ended.
func TestTheEndOfAGroupHasItLookedAt(t *testing.T) {
	aws := &account{groups: []stack.SecurityGroup{}}
	looked := make(chan struct{}, 100)
	c := newCollector(t, aws)
	c.View = watched{aws, looked}
	if err := c.Start(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	<-looked
	for range 3 {
		c.Ended()
	}
	select {
	case <-looked:
	case <-time.After(10 * quiet):
		t.Error("it was not looked at after the end of a group")
	}
	var none *Collector
	none.Ended()
	if !none.Enter() {
		t.Error("without a collector no pass may begin")
	}
	none.Leave()
}

type watched struct {
	*account
	looked chan struct{}
}

func (w watched) Shared(context.Context) ([]stack.SecurityGroup, error) {
	w.looked <- struct{}{}
	return slices.Clone(w.groups), nil
}
