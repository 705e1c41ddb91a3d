// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/targetgate/targetgate/aws/elbv2"
	fakeelbv2 "github.com/targetgate/targetgate/aws/elbv2/fake"
	"github.com/targetgate/targetgate/targets/plan"
	"github.com/targetgate/targetgate/targets/retry"
	"github.com/targetgate/targetgate/targets/targetgroup"
	"github.com/targetgate/targetgate/targets/v1beta1"
	"github.com/targetgate/targetgate/targets/writes"
)

func TestRegistrarSaysReconcilingOnlyOfCallsThatLast(t *testing.T) {
	first, second := newPod("web-0", "10.0.0.1"), newPod("web-1", "10.0.0.2")
	inBed(t, func(b *bed) {
		b.settle()
		b.after(targetgroup.Brief)
		b.aws.Before = func(_ context.Context, call fakeelbv2.Call) error {
			if call.Operation == "RegisterTargets" {
				time.Sleep(2 * targetgroup.Brief)
			}
			return nil
		}
		b.must(b.cluster.Create(t.Context(), newSlice("web-2", second)))
		before := b.binding().ResourceVersion
		b.after(time.Second)
		b.after(targetgroup.Brief - time.Millisecond)
		if got := b.binding().ResourceVersion; got != before {
			t.Error("the status was written although what has changed may pass")
		}
		b.after(time.Millisecond)
		if c := b.ready(); c.Status != metav1.ConditionFalse || c.Reason != v1beta1.ReasonReconciling {
			t.Errorf("while a call lasts Ready is %s %s, want False %s", c.Status, c.Reason, v1beta1.ReasonReconciling)
		}
		b.after(2 * targetgroup.Brief)
		if c := b.ready(); c.Status != metav1.ConditionTrue {
			t.Errorf("after the call Ready is %s %s, want True", c.Status, c.Reason)
		}
	}, first, second, newSlice("web-1", first))
}

// A status that takes its time, or fails, holds nothing up, and what has changed meanwhile is written after it.
func TestGatesDoNotWaitForTheStatus(t *testing.T) {
	pod := newPod("web-0", "10.0.0.1")
	inBed(t, func(b *bed) {
		fates := make(chan error)
		b.slowStatus(fates)
		b.settle()
		b.aws.SetHealth(testARN, one, healthy)
		b.after(2 * time.Second)
		if got := b.condition("web-0"); got != "True " {
			t.Errorf("while the status is being written the gate is %q, want it open", got)
		}
		fates <- errors.New("no answer")
		synctest.Wait()
		if wait := b.settle().RequeueAfter; wait > writes.RetryPause {
			t.Errorf("the next write is in %s, want it in %s at most", wait, writes.RetryPause)
		}
		time.Sleep(writes.RetryPause)
		b.wakes("a write that failed")
		if got := b.told("FailedUpdateStatus"); got != 1 {
			t.Errorf("%d events tell of the failure, want 1", got)
		}
		fates <- nil
		b.settle()
		if c := b.ready(); c.Status != metav1.ConditionTrue {
			t.Errorf("Ready is %s %s, want True", c.Status, c.Reason)
		}
	}, pod, newSlice("web-1", pod))
}

func TestStatusThatChangesWhileItIsWrittenIsWrittenAgain(t *testing.T) {
	pod := newPod("web-0", "10.0.0.1")
	inBed(t, func(b *bed) {
		fates := make(chan error)
		b.slowStatus(fates)
		b.settle() // the first write says that the group is being read
		close(fates)
		synctest.Wait()
		b.after(targetgroup.Brief)
		if c := b.ready(); c.Reason != v1beta1.ReasonReconciled {
			t.Errorf("Ready is %s %s, want %s", c.Status, c.Reason, v1beta1.ReasonReconciled)
		}
	}, pod, newSlice("web-1", pod))
}

// wakes fails the test unless the binding is woken without any pass of the test's own, and settles.
func (b *bed) wakes(what string) {
	b.t.Helper()
	synctest.Wait()
	if len(b.queue) == 0 {
		b.t.Errorf("%s wakes nobody", what)
	}
	b.settle()
}

// slowStatus has the registrar's writes of a binding's status wait for their fate.
func (b *bed) slowStatus(fate chan error) {
	b.intercept(interceptor.Funcs{SubResourcePatch: func(ctx context.Context, c client.Client, name string, o client.Object, p client.Patch,
		opts ...client.SubResourcePatchOption,
	) error {
		select {
		case err := <-fate:
			if err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
		return c.SubResource(name).Patch(ctx, o, p, opts...)
	}})
}

// staleBinding has the registrar's cache stand still, as far as bindings go.
func (b *bed) staleBinding(stale *v1beta1.TargetGroupBinding) {
	b.intercept(interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
		if binding, ok := o.(*v1beta1.TargetGroupBinding); ok {
			stale.DeepCopyInto(binding)
			return nil
		}
		return c.Get(ctx, key, o, opts...)
	}})
}

func (b *bed) intercept(funcs interceptor.Funcs) {
	b.kube.Client = noPodWrites{interceptor.NewClient(b.cluster.(client.WithWatch), funcs)}
}

// The cache may show the binding as it was before our own patch, which must not be sent again: it would be refused, and
// nothing registered until the next try.
func TestFinalizerIsAddedOnceDespiteStaleCache(t *testing.T) {
	pod := newPod("web-0", "10.0.0.1")
	inBed(t, func(b *bed) {
		stale := b.binding()
		b.staleBinding(stale)
		b.settle()
		b.after(time.Second)
		if got := b.told("FailedAddFinalizer"); got != 0 {
			t.Errorf("%d patches were refused, want none", got)
		}
		if got := b.targets()[one.String()]; got != elbv2.StateInitial {
			t.Errorf("the target is %q, want it registered", got)
		}
		binding := b.binding()
		binding.Finalizers = nil
		b.must(b.cluster.Update(t.Context(), binding))
		binding.DeepCopyInto(stale)
		b.settle()
		if len(b.binding().Finalizers) != 1 {
			t.Error("a finalizer that somebody has taken away is not put on again")
		}
	}, pod, newSlice("web-1", pod))
}

func TestPassOnStaleBindingIsRepeatedWithoutLog(t *testing.T) {
	inBed(t, func(b *bed) {
		stale := b.binding()
		newer := b.binding()
		newer.Labels = map[string]string{"by": "somebody"}
		b.must(b.cluster.Update(t.Context(), newer))
		b.staleBinding(stale)
		if got := b.settle().RequeueAfter; got == 0 || got > writes.ConflictPause {
			t.Errorf("the next pass is in %s, want it in %s at most", got, writes.ConflictPause)
		}
		if got := b.told("FailedAddFinalizer"); got != 0 {
			t.Errorf("%d events tell of the finalizer, want none", got)
		}
		now := metav1.Now()
		stale.DeletionTimestamp, stale.Finalizers = &now, []string{v1beta1.Finalizer}
		if got := b.after(time.Second).RequeueAfter; got == 0 || got > writes.ConflictPause {
			t.Errorf("the binding's release is tried again in %s, want it in %s at most", got, writes.ConflictPause)
		}
		if got := b.told("FailedRemoveFinalizer"); got != 0 {
			t.Errorf("%d events tell of the release, want none", got)
		}
	})
}

func TestWritesThatKeepFailingAreToldOnce(t *testing.T) {
	full := errors.New("etcdserver: mvcc: database space exceeded")
	refuse := func(o client.Object) error {
		if _, binding := o.(*v1beta1.TargetGroupBinding); binding {
			return full
		}
		return nil
	}
	refused := interceptor.Funcs{
		Patch: func(_ context.Context, _ client.WithWatch, o client.Object, _ client.Patch, _ ...client.PatchOption) error {
			return refuse(o)
		},
		SubResourcePatch: func(_ context.Context, _ client.Client, _ string, o client.Object, _ client.Patch, _ ...client.SubResourcePatchOption) error {
			return refuse(o)
		},
	}
	pod := newPod("web-0", "10.0.0.1")
	inBed(t, func(b *bed) {
		b.intercept(refused)
		for range 10 {
			b.after(writes.RetryPause)
		}
		b.intercept(interceptor.Funcs{})
		b.after(retry.MaxUrgentBackoff)
		b.must(b.cluster.Delete(t.Context(), b.binding()))
		b.intercept(refused)
		for range 10 { // of these the last ones have nothing left but the finalizer
			_, _ = b.Reconcile(b.t.Context(), ctrl.Request{NamespacedName: webKey})
			time.Sleep(plan.PollUnsettled)
		}
		got := map[string]int{}
		for range len(b.events.Events) {
			got[strings.Fields(<-b.events.Events)[1]]++
		}
		for _, reason := range []string{"FailedAddFinalizer", "FailedUpdateStatus", "FailedRemoveFinalizer"} {
			if got[reason] == 0 || got[reason] > 2 {
				t.Errorf("%s is told %d times, want once in a while that it lasts", reason, got[reason])
			}
		}
	}, pod, newSlice("web-1", pod))
}

// Often a target group comes before the rule that sends to it.
func TestStatusSoonTellsThatALoadBalancerIsAttached(t *testing.T) {
	inBed(t, func(b *bed) {
		unattached := testGroup()
		unattached.LoadBalancerArns = nil
		b.aws.AddGroup(unattached)
		b.queue <- webKey
		b.run(14*time.Second, webKey)
		if settings := b.binding().Status.TargetGroup; settings == nil || settings.LoadBalancers != 0 {
			t.Fatalf("settings %+v, want no load balancer", settings)
		}
		b.aws.AddGroup(testGroup())
		b.run(2*time.Second, webKey)
		if settings := b.binding().Status.TargetGroup; settings.LoadBalancers != 1 {
			t.Errorf("settings %+v, want a load balancer", settings)
		}
		b.aws.AddGroup(unattached)
		b.run(testDrift, webKey)
		before := len(b.aws.Calls("DescribeTargetGroups"))
		b.run(20*testDrift, webKey)
		if calls := len(b.aws.Calls("DescribeTargetGroups")) - before; calls < 15 || calls > 25 {
			t.Errorf("%d calls in twenty intervals, want one in an interval, and few more at first", calls)
		}
	})
}

// TestDefaultOfTheObservedGeneration: -1 of the CRD is neither work of a controller nor a generation that was acted on.
func TestDefaultOfTheObservedGeneration(t *testing.T) {
	for observed, want := range map[int64]bool{-1: false, 0: false, 1: true} {
		binding := &v1beta1.TargetGroupBinding{Status: v1beta1.TargetGroupBindingStatus{ObservedGeneration: &observed}}
		if got := workedFor(binding); got != want {
			t.Errorf("observed generation %d: worked for %v, want %v", observed, got, want)
		}
	}
	if workedFor(&v1beta1.TargetGroupBinding{}) {
		t.Error("no observed generation: worked for")
	}
}
