// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/targetgate/targetgate/aws/accounts"
	"github.com/targetgate/targetgate/aws/budget"
	"github.com/targetgate/targetgate/aws/elbv2"
	fakeelbv2 "github.com/targetgate/targetgate/aws/elbv2/fake"
	"github.com/targetgate/targetgate/targets/ownership"
	"github.com/targetgate/targetgate/targets/targetgroup"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// rivalKey names the binding that is older than newBinding's, of the same target group and Service.
var rivalKey = types.NamespacedName{Namespace: "shop", Name: "duplicate"}

func newDuplicate(change ...func(*v1beta1.TargetGroupBinding)) *v1beta1.TargetGroupBinding {
	duplicate := newBinding()
	duplicate.Name, duplicate.UID, duplicate.CreationTimestamp = rivalKey.Name, "a", metav1.NewTime(noon)
	for _, c := range change {
		c(duplicate)
	}
	return duplicate
}

// settleBoth runs passes of both bindings, as each is woken when the other one comes or goes, and until no answer wakes them.
func (b *bed) settleBoth() {
	b.t.Helper()
	was := b.duplicateExists()
	for round := range 100 {
		for len(b.queue) > 0 {
			<-b.queue
		}
		for _, key := range []types.NamespacedName{webKey, rivalKey} {
			if _, err := b.Reconcile(b.t.Context(), ctrl.Request{NamespacedName: key}); err != nil {
				b.t.Fatalf("pass of %s: %v", key, err)
			}
			synctest.Wait()
		}
		is := b.duplicateExists()
		if len(b.queue) == 0 && was == is && round > 0 {
			return
		}
		was = is
	}
	b.t.Fatal("the bindings do not come to rest")
}

func (b *bed) duplicateExists() bool {
	b.t.Helper()
	err := b.cluster.Get(b.t.Context(), rivalKey, &v1beta1.TargetGroupBinding{})
	if !apierrors.IsNotFound(err) {
		b.must(err)
	}
	return err == nil
}

// makeYounger changes newBinding's binding into one that is younger than the duplicate.
func (b *bed) makeYounger(change ...func(*v1beta1.TargetGroupBinding)) {
	b.t.Helper()
	binding := b.binding()
	binding.CreationTimestamp = metav1.NewTime(noon.Add(time.Minute))
	for _, c := range change {
		c(binding)
	}
	b.must(b.cluster.Update(b.t.Context(), binding))
}

func (b *bed) duplicateReady() *metav1.Condition {
	b.t.Helper()
	var duplicate v1beta1.TargetGroupBinding
	b.must(b.cluster.Get(b.t.Context(), rivalKey, &duplicate))
	return apimeta.FindStatusCondition(duplicate.Status.Conditions, v1beta1.ConditionReady)
}

// The younger one was seen first, and has a call under way and more to send.
func TestRegistrarRetiresYoungerBindingBeforeTheOlderActs(t *testing.T) {
	first, second := newPod("web-0", "10.0.0.1"), newPod("web-1", "10.0.0.2")
	inBed(t, func(b *bed) {
		answer := b.hangRegistrations()
		b.makeYounger()
		b.settle() // and the call hangs
		b.must(b.cluster.Create(t.Context(), second))
		b.must(b.cluster.Create(t.Context(), newSlice("web-2", second)))
		b.settle() // and the next call waits for the first
		b.must(b.cluster.Create(t.Context(), newDuplicate()))
		b.settleBoth()
		if calls := b.aws.Calls("DescribeTargetHealth"); len(calls) != 1 {
			t.Errorf("readings while the younger one's call is under way: %v, want the younger one's only", calls)
		}
		answer()
		time.Sleep(duplicatePause) // of the bubble
		b.settleBoth()
		if c := b.ready(); !strings.Contains(c.Message, "TargetGroupBinding shop/duplicate has this target group already") {
			t.Errorf("the younger one's Ready says %s: %s", c.Reason, c.Message)
		}
		if c := b.duplicateReady(); c.Reason != v1beta1.ReasonReconciled {
			t.Errorf("the older one's Ready says %s: %s", c.Reason, c.Message)
		}
		want := []fakeelbv2.Call{
			{Operation: "RegisterTargets", Group: testARN, Targets: []string{"10.0.0.1:8080"}}, // the younger one's
			{Operation: "RegisterTargets", Group: testARN, Targets: []string{"10.0.0.2:8080"}}, // the older one's
		}
		if diff := cmp.Diff(want, b.aws.Calls("RegisterTargets")); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
	}, first, newSlice("web-1", first))
}

// Its call waits for a token when it loses its group.
func TestRegistrarRefusedBindingSendsNothingMore(t *testing.T) {
	pod := newPod("web-0", "10.0.0.1")
	inBed(t, func(b *bed) {
		const minute = 1. / 60
		client := elbv2.New(b.aws, budget.New("", []budget.Rule{
			{Operations: regexp.MustCompile("^RegisterTargets$"), Rate: minute, Burst: 1},
		}, clock.RealClock{}))
		b.Clients = oneAccount{client}
		lastToken := func() map[elbv2.Target]string { return map[elbv2.Target]string{two: ""} }
		b.must(client.Register(b.t.Context(), budget.ClassRegister.Now(), testARN, lastToken))
		b.makeYounger()
		b.settle()
		if !b.group().Working {
			t.Fatal("no registration waits for a token")
		}
		b.must(b.cluster.Create(t.Context(), newDuplicate()))
		b.settle()
		time.Sleep(2 * time.Minute) // of the bubble
		if n := len(b.aws.Calls("RegisterTargets")); n != 1 {
			t.Errorf("%d RegisterTargets calls, want the test's own only", n)
		}
	}, pod, newSlice("web-1", pod))
}

func TestRegistrarHandsGroupOver(t *testing.T) {
	shared := func(b *v1beta1.TargetGroupBinding) { b.Spec.MultiClusterTargetGroup = true }
	tests := map[string]struct {
		successor  func(*v1beta1.TargetGroupBinding)
		want       map[string]elbv2.State // right after the older one has gone
		wantReason string                 // of the younger one's Ready
	}{
		"to one that asks for the same targets": {
			successor: func(*v1beta1.TargetGroupBinding) {}, wantReason: v1beta1.ReasonReconciled,
			want: map[string]elbv2.State{"10.0.0.1:8080": elbv2.StateHealthy},
		},
		"to one that is not complete, which is none": {
			successor:  func(b *v1beta1.TargetGroupBinding) { b.Spec.TargetType = nil },
			want:       map[string]elbv2.State{"10.0.0.1:8080": elbv2.StateDraining},
			wantReason: v1beta1.ReasonNotSupported,
		},
		"to one that shares with others, which is none": {
			successor: shared, wantReason: v1beta1.ReasonReconciled,
			want: map[string]elbv2.State{"10.0.0.1:8080": elbv2.StateInitial}, // registered again
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			pod := newPod("web-0", "10.0.0.1")
			inBed(t, func(b *bed) {
				b.makeYounger(tc.successor)
				b.settleBoth()
				b.aws.SetHealth(testARN, one, healthy)
				time.Sleep(time.Second)
				b.settleBoth()
				if c := b.ready(); c.Reason != v1beta1.ReasonNotSupported {
					t.Fatalf("at first the younger one's Ready says %s: %s", c.Reason, c.Message)
				}
				calls := len(b.aws.Calls("RegisterTargets"))
				b.must(b.cluster.Delete(t.Context(), newDuplicate()))
				b.settleBoth()
				if b.duplicateExists() {
					t.Error("the older one still exists")
				}
				if c := b.ready(); c.Reason != tc.wantReason {
					t.Errorf("in the end the younger one's Ready says %s: %s", c.Reason, c.Message)
				}
				if diff := cmp.Diff(tc.want, b.targets()); diff != "" {
					t.Errorf("targets (-want +got):\n%s", diff)
				}
				handedOver := tc.want["10.0.0.1:8080"] == elbv2.StateHealthy
				again := append(b.aws.Calls("DeregisterTargets"), b.aws.Calls("RegisterTargets")[calls:]...)
				if handedOver && len(again) > 0 {
					t.Errorf("calls %v, want none", again)
				}
			}, pod, newSlice("web-1", pod), newDuplicate())
		})
	}
}

// Rule 2: the pod comes while a call of the older one's is under way, and would be Ready without a health check.
func TestRegistrarPodsOfSuccessorWaitForTheHandover(t *testing.T) {
	pod := newPod("web-0", "10.0.0.1")
	inBed(t, func(b *bed) {
		b.makeYounger()
		b.settleBoth()
		answer := b.hangRegistrations()
		older := b.bindings.find(rivalKey)
		calls := &targetgroup.Calls{Env: &b.calls, Group: older.group, Binding: rivalKey, Client: b.Clients.Client(accounts.Role{})}
		calls.Register(targetgroup.Changes{Register: targetgroup.Registrations{two: "a"}}, func(elbv2.Target) bool { return true })
		synctest.Wait()
		b.must(b.cluster.Delete(t.Context(), newDuplicate()))
		b.must(b.cluster.Create(t.Context(), pod))
		b.must(b.cluster.Create(t.Context(), newSlice("web-1", pod)))
		time.Sleep(time.Minute)
		b.settleBoth()
		if got := b.condition("web-0"); got != "" {
			t.Errorf("during the hand-over the condition is %q, want none", got)
		}
		answer()
		synctest.Wait()
		b.settleBoth()
		if got, want := b.condition("web-0"), "False Elb.RegistrationInProgress"; got != want {
			t.Errorf("after the hand-over the condition is %q, want %q", got, want)
		}
	}, newDuplicate())
}

// Another controller's finalizer is no reason to leave the target group to nobody.
func TestRegistrarTakesGroupFromBindingHeldByAnotherFinalizer(t *testing.T) {
	pod := newPod("web-0", "10.0.0.1")
	duplicate := newDuplicate(func(b *v1beta1.TargetGroupBinding) { b.Finalizers = append(b.Finalizers, "gitops.example/held") })
	inBed(t, func(b *bed) {
		b.makeYounger()
		b.settleBoth()
		b.must(b.cluster.Delete(t.Context(), newDuplicate()))
		b.settleBoth()
		if !b.duplicateExists() {
			t.Fatal("the older one has gone: this proves nothing")
		}
		if c := b.ready(); c.Reason == v1beta1.ReasonNotSupported {
			t.Errorf("the younger one's Ready says %s: %s", c.Reason, c.Message)
		}
	}, pod, newSlice("web-1", pod), duplicate)
}

// What the successor does not ask for is as replaced, or nobody's, as if it had always been there.
func TestRegistrarSuccessorDeregistersUnwantedTargets(t *testing.T) {
	pod := newPod("web-0", "10.0.0.1")
	inBed(t, func(b *bed) {
		b.makeYounger(func(b *v1beta1.TargetGroupBinding) { b.Spec.ServiceRef.Name = "other" })
		other := newService()
		other.Name, other.Spec.Selector = "other", map[string]string{"app": "other"}
		b.must(b.cluster.Create(t.Context(), other))
		b.settleBoth()
		b.aws.SetHealth(testARN, one, healthy)
		b.must(b.cluster.Delete(t.Context(), newDuplicate()))
		b.settleBoth()
		time.Sleep(testPolicy.ReplacementTimeout)
		b.settleBoth()
		if diff := cmp.Diff(map[string]elbv2.State{"10.0.0.1:8080": elbv2.StateDraining}, b.targets()); diff != "" {
			t.Errorf("targets (-want +got):\n%s", diff)
		}
	}, pod, newSlice("web-1", pod), newDuplicate())
}

// The other one need not wait for its next turn.
func TestRegistrarWakesDuplicates(t *testing.T) {
	leaving := newDuplicate(func(b *v1beta1.TargetGroupBinding) { b.DeletionTimestamp = &b.CreationTimestamp })
	shared := newDuplicate(func(b *v1beta1.TargetGroupBinding) { b.Spec.MultiClusterTargetGroup = true })
	otherGroup := newDuplicate(func(b *v1beta1.TargetGroupBinding) { b.Spec.TargetGroupARN += "0" })
	labelled := newDuplicate(func(b *v1beta1.TargetGroupBinding) { b.Labels = map[string]string{"x": "y"} })
	inBed(t, func(b *bed) {
		want := []reconcile.Request{{NamespacedName: webKey}}
		if diff := cmp.Diff(want, b.watcher().bindingsOfGroup(t.Context(), newDuplicate())); diff != "" {
			t.Errorf("bindings of the group (-want +got):\n%s", diff)
		}
		if got := b.watcher().bindingsOfGroup(t.Context(), otherGroup); len(got) > 0 {
			t.Errorf("bindings of another group: %v", got)
		}
	})
	for changed, want := range map[*v1beta1.TargetGroupBinding]bool{leaving: true, shared: true, labelled: false} {
		if got := duplicatesChanged().Update(event.UpdateEvent{ObjectOld: newDuplicate(), ObjectNew: changed}); got != want {
			t.Errorf("update to %+v wakes the others: %v, want %v", changed, got, want)
		}
	}
}

// listCounter counts the bindings that lists return.
type listCounter struct {
	client.Reader
	bindings int
}

func (c *listCounter) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	err := c.Reader.List(ctx, list, opts...)
	c.bindings += apimeta.LenList(list)
	return err
}

func TestDuplicatesAreFoundWithoutThoseThatShare(t *testing.T) {
	share := func(b *v1beta1.TargetGroupBinding) { b.Spec.MultiClusterTargetGroup = true }
	var others []client.Object
	for i := range 50 {
		others = append(others, newDuplicate(share, func(b *v1beta1.TargetGroupBinding) {
			b.Name = fmt.Sprintf("other-%d", i)
			b.UID = types.UID(b.Name)
		}))
	}
	others = append(others, newDuplicate()) // has the group for itself
	inBed(t, func(b *bed) {
		binding := newBinding()
		for _, tc := range []struct{ wantRivals, wantListed int }{{51, 52}, {1, 2}} { // newBinding's own is among those listed
			counter := &listCounter{Reader: b.cluster}
			duplicates, err := ownership.Duplicates(t.Context(), counter, binding)
			if err != nil || len(duplicates) != tc.wantRivals || counter.bindings != tc.wantListed {
				t.Errorf("shared %v: %d duplicates of %d listed, error %v; want %d of %d",
					binding.Spec.MultiClusterTargetGroup, len(duplicates), counter.bindings, err, tc.wantRivals, tc.wantListed)
			}
			share(binding)
		}
	}, others...)
}
