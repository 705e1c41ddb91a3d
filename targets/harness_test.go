// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/targetgate/targetgate/aws/accounts"
	"github.com/targetgate/targetgate/aws/budget"
	"github.com/targetgate/targetgate/aws/elbv2"
	fakeelbv2 "github.com/targetgate/targetgate/aws/elbv2/fake"
	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/fixture"
	"github.com/targetgate/targetgate/targets/ownership"
	"github.com/targetgate/targetgate/targets/plan"
	"github.com/targetgate/targetgate/targets/targetgroup"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

const (
	testARN  = fixture.ARN
	testGate = fixture.Gate
)

// The objects that tests begin with.
var (
	newBinding, newService, newPod, newSlice, newNode = fixture.Binding, fixture.Service, fixture.Pod, fixture.Slice, fixture.Node
)

const testDrift = 5 * time.Minute

var (
	noon, one, two, healthy = fixture.Noon, fixture.One, fixture.Two, fixture.Healthy

	testPolicy = plan.Policy{MinReadyPercent: 50, ReplacementTimeout: 5 * time.Minute, ReadyWhenUnattached: true}
)

var webKey = types.NamespacedName{Namespace: "shop", Name: "web"}

// bed is a registrar between an API server and an AWS that are both in memory. Time is the synctest bubble's.
type bed struct {
	*Registrar
	t       *testing.T
	cluster client.Client // the test's own way to the API server
	aws     *fakeelbv2.API
	events  *events.FakeRecorder
	queue   chan types.NamespacedName
	own     client.Client                      // the registrar's, unless a test replaces it
	kube    *switchedClient                    // the registrar's
	api     *switchedReader                    // the registrar's, without a cache
	due     map[types.NamespacedName]time.Time // of run
	end     func()                             // of what begin has begun
	writes  atomic.Int64                       // to the API server
	seen    sight                              // of watch
}

// inBed runs test in a bubble, with the objects of newObjects and more in the API server.
func inBed(t *testing.T, test func(b *bed), more ...client.Object) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		test(newBed(t.Context(), t, append([]client.Object{newBinding(), newService()}, more...)))
	})
}

func newBed(ctx context.Context, t *testing.T, objects []client.Object) *bed {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	if err := v1beta1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	b := &bed{t: t, aws: &fakeelbv2.API{}, events: events.NewFakeRecorder(10000), queue: make(chan types.NamespacedName, 1000)}
	b.aws.AddGroup(testGroup())
	b.Registrar = &Registrar{
		Clients:  oneAccount{elbv2.New(b.aws, budget.New("", nil, clock.RealClock{}))},
		Recorder: b.events, Clock: clock.RealClock{},
		Policy: testPolicy, DriftInterval: testDrift, InjectsGates: true,
	}
	builder := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
		WithStatusSubresource(&corev1.Pod{}, &v1beta1.TargetGroupBinding{}).WithInterceptorFuncs(counting(&b.writes))
	if err := errors.Join(ownership.AddIndexes(ctx, indexer{builder}), addIndexes(ctx, indexer{builder})); err != nil {
		t.Fatal(err)
	}
	b.cluster = builder.Build()
	b.own = &noPodWrites{b.cluster}
	b.kube, b.api = &switchedClient{b.own}, &switchedReader{b.cluster}
	b.Client, b.Uncached = b.kube, b.api
	b.LastResort = true
	b.Writer = &readiness.Writer{Client: b.cluster.Status(), Clock: clock.RealClock{}}
	b.begin(ctx)
	return b
}

// begin has the registrar begin anew, as after a restart, with the clients that it has now.
func (b *bed) begin(ctx context.Context) {
	if b.end != nil {
		b.end()
		synctest.Wait()
	}
	ctx, b.end = context.WithCancel(context.WithoutCancel(ctx)) // the one before may have ended
	context.AfterFunc(b.t.Context(), b.end)
	b.prepare(nil)
	b.watch()
	b.start(ctx, func(key types.NamespacedName, pause time.Duration) {
		time.AfterFunc(pause, func() { b.queue <- key })
	})
}

// testGroup is attached to a load balancer.
func testGroup() elbv2types.TargetGroup {
	return elbv2types.TargetGroup{
		TargetGroupArn: aws.String(testARN), TargetGroupName: aws.String("web"), Protocol: elbv2types.ProtocolEnumHttp,
		TargetType: elbv2types.TargetTypeEnumIp, HealthCheckIntervalSeconds: aws.Int32(10),
		HealthCheckTimeoutSeconds: aws.Int32(5), UnhealthyThresholdCount: aws.Int32(2),
		LoadBalancerArns: []string{"arn:aws:elasticloadbalancing:eu-west-1:123456789012:loadbalancer/app/web/0"},
	}
}

// noPodWrites is what the registrar works with. Rule 1: it writes to pods by way of readiness.Writer and in no other.
type noPodWrites struct{ client.Client }

func (c noPodWrites) Status() client.SubResourceWriter { return noPodStatusWrites{c.Client.Status()} }

func (c noPodWrites) Patch(ctx context.Context, o client.Object, p client.Patch, opts ...client.PatchOption) error {
	if _, pod := o.(*corev1.Pod); pod {
		panic("rule 1: only readiness writes to pods")
	}
	return c.Client.Patch(ctx, o, p, opts...)
}

type noPodStatusWrites struct{ client.SubResourceWriter }

func (w noPodStatusWrites) Patch(ctx context.Context, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
	if _, pod := o.(*corev1.Pod); pod {
		panic("rule 1: only readiness writes the conditions of pods")
	}
	return w.SubResourceWriter.Patch(ctx, o, p, opts...)
}

// switchedClient is a client that a test may replace.
type switchedClient struct{ client.Client }

// switchedReader is a reader that a test may replace.
type switchedReader struct{ client.Reader }

type oneAccount struct{ client *elbv2.Client }

func (a oneAccount) Client(accounts.Role) *elbv2.Client { return a.client }

type indexer struct{ builder *fake.ClientBuilder }

func (i indexer) IndexField(_ context.Context, o client.Object, field string, values client.IndexerFunc) error {
	i.builder.WithIndex(o, field, values)
	return nil
}

// Reconcile is a pass after a look at the API server.
func (b *bed) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	b.watch()
	return b.Registrar.Reconcile(ctx, req)
}

// pass runs one pass and waits until every call it started is answered or blocked.
func (b *bed) pass() ctrl.Result {
	b.t.Helper()
	result, err := b.Reconcile(b.t.Context(), ctrl.Request{NamespacedName: webKey})
	if err != nil {
		b.t.Fatalf("pass: %v", err)
	}
	synctest.Wait()
	return result
}

// settle runs passes as long as answers wake the binding, and says when the last one wants to look again.
func (b *bed) settle() ctrl.Result {
	b.t.Helper()
	result := b.pass()
	for range 100 {
		if len(b.queue) == 0 {
			return result
		}
		for len(b.queue) > 0 {
			<-b.queue
		}
		result = b.pass()
	}
	b.t.Fatal("the binding does not come to rest")
	return result
}

// after lets d pass and settles.
func (b *bed) after(d time.Duration) ctrl.Result {
	b.t.Helper()
	time.Sleep(d) // of the bubble
	return b.settle()
}

func (b *bed) binding() *v1beta1.TargetGroupBinding {
	b.t.Helper()
	var binding v1beta1.TargetGroupBinding
	if err := b.cluster.Get(b.t.Context(), webKey, &binding); err != nil {
		b.t.Fatal(err)
	}
	return &binding
}

// condition is the gate's condition of a pod as "Status Reason", empty when there is none.
func (b *bed) condition(name string) string {
	b.t.Helper()
	var pod corev1.Pod
	if err := b.cluster.Get(b.t.Context(), types.NamespacedName{Namespace: "shop", Name: name}, &pod); err != nil {
		b.t.Fatal(err)
	}
	c := readiness.Condition(&pod, testGate)
	if c == nil {
		return ""
	}
	return string(c.Status) + " " + c.Reason
}

// told takes the events so far and counts those with the reason.
func (b *bed) told(reason string) int {
	n := 0
	for {
		select {
		case event := <-b.events.Events:
			if strings.Contains(event, " "+reason+" ") {
				n++
			}
		default:
			return n
		}
	}
}

// must fails the test when a change of the API server's objects fails.
func (b *bed) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bed) targets() map[string]elbv2.State {
	out := map[string]elbv2.State{}
	for target, health := range b.aws.Targets(testARN) {
		out[target.String()] = health.State
	}
	return out
}

// ready is the binding's condition Ready, and degraded the other one.
func (b *bed) ready() *metav1.Condition { return b.bindingCondition(v1beta1.ConditionReady) }

func (b *bed) degraded() *metav1.Condition { return b.bindingCondition(v1beta1.ConditionDegraded) }

func (b *bed) bindingCondition(kind string) *metav1.Condition {
	b.t.Helper()
	c := apimeta.FindStatusCondition(b.binding().Status.Conditions, kind)
	if c == nil {
		b.t.Fatalf("the binding has no condition %s", kind)
	}
	return c
}

// noApply is a client that may not write ConfigMaps.
type noApply struct{ client.Client }

func (noApply) Apply(context.Context, runtime.ApplyConfiguration, ...client.ApplyOption) error {
	return errors.New("forbidden")
}

// group is what is known of the binding's group.
func (b *bed) group() targetgroup.Snapshot { return b.bindings.find(webKey).group.Snapshot() }

func podKey(name string) client.ObjectKey { return client.ObjectKey{Namespace: "shop", Name: name} }

// failOn lets every call of an operation fail.
func failOn(b *bed, operation string) {
	b.aws.Before = func(_ context.Context, call fakeelbv2.Call) error {
		if call.Operation == operation {
			return errors.New("no answer")
		}
		return nil
	}
}

// hangRegistrations keeps AWS from answering registrations until answer is called.
func (b *bed) hangRegistrations() (answer func()) {
	hanging := make(chan struct{})
	b.aws.Before = func(_ context.Context, call fakeelbv2.Call) error {
		if call.Operation == "RegisterTargets" {
			<-hanging
		}
		return nil
	}
	return func() { close(hanging) }
}
