// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/plan"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// inSharedBed is inBed with a binding of a group that is shared, in which there is a target of somebody else's.
func inSharedBed(t *testing.T, test func(b *bed), more ...client.Object) {
	t.Helper()
	inBed(t, func(b *bed) {
		binding := b.binding()
		binding.Spec.MultiClusterTargetGroup = true
		b.must(b.cluster.Update(t.Context(), binding))
		b.aws.SetHealth(testARN, foreign, healthy)
		test(b)
		if b.targets()[foreign.String()] != elbv2.StateHealthy {
			t.Error("the target of another cluster was deregistered")
		}
	}, more...)
}

var foreign = elbv2.Target{ID: "10.99.0.1", Port: 8080}

// record is what the ConfigMap of the binding says.
func (b *bed) record() string {
	b.t.Helper()
	var configMap corev1.ConfigMap
	b.must(b.cluster.Get(b.t.Context(), client.ObjectKey{Namespace: "shop", Name: "aws-lbc-targets-web"}, &configMap))
	return configMap.Data["targets"]
}

func writtenRecord(targets string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "aws-lbc-targets-web"}, Data: map[string]string{"targets": targets},
	}
}

func TestSharedGroupIsRecordedBeforeRegistration(t *testing.T) {
	pod := newPod("web-0", "10.0.0.1")
	inSharedBed(t, func(b *bed) {
		b.aws.Refuse = func(target elbv2.Target, _ string) error {
			if got := b.record(); got != "10.0.0.1:8080" {
				t.Errorf("when %s is registered the record says %q", target, got)
			}
			return nil
		}
		b.settle()
		b.after(testDrift)
		b.after(testDrift)
		if got := b.record(); got != "10.0.0.1:8080" {
			t.Errorf("record %q", got)
		}
		b.must(b.cluster.Delete(t.Context(), pod))
		b.settle()
		if got := b.record(); got != "" {
			t.Errorf("record after the pod has left: %q, want nothing", got)
		}
	}, withFinalizer(pod), newSlice("web-1", pod))
}

// Take-over: the first pass without a ConfigMap deregisters nothing; what belongs there is adopted without a call.
func TestSharedGroupWithoutRecordAdopts(t *testing.T) {
	pod := newPod("web-0", "10.0.0.1")
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: testGate, Status: corev1.ConditionTrue})
	inSharedBed(t, func(b *bed) {
		b.aws.SetHealth(testARN, one, healthy)
		b.settle()
		b.after(testDrift)
		if calls := append(b.aws.Calls("RegisterTargets"), b.aws.Calls("DeregisterTargets")...); len(calls) > 0 {
			t.Errorf("calls %v, want none", calls)
		}
		if got := b.record(); got != "10.0.0.1:8080" {
			t.Errorf("record %q", got)
		}
	}, pod, newSlice("web-1", pod))
}

// workedForBefore gives the binding the status that an earlier targetgate, or the incumbent, has left.
func (b *bed) workedForBefore() {
	b.t.Helper()
	binding := b.binding()
	binding.Status.ObservedGeneration = &binding.Generation
	b.must(b.cluster.Status().Update(b.t.Context(), binding))
}

// After a restart, targets of pods that have gone meanwhile go by the record, and nothing else does.
func TestSharedGroupForgottenTargetsGo(t *testing.T) {
	inSharedBed(t, func(b *bed) {
		b.workedForBefore()
		b.aws.SetHealth(testARN, one, healthy)
		b.aws.SetHealth(testARN, two, healthy)
		b.settle()
		b.after(plan.PollUnsettled)
		b.after(plan.PollUnsettled)
		want := map[string]elbv2.State{
			one.String(): elbv2.StateHealthy, two.String(): elbv2.StateDraining, foreign.String(): elbv2.StateHealthy,
		}
		if diff := cmp.Diff(want, b.targets()); diff != "" {
			t.Errorf("targets (-want +got):\n%s", diff)
		}
		if got := b.record(); got != "" {
			t.Errorf("record %q, want nothing", got)
		}
	}, writtenRecord("10.0.0.2:8080"))
}

// Whoever may write ConfigMaps may write one before the binding, with whichever targets. Other CRDs have no default for the status.
func TestSharedGroupRecordFromBeforeTheBindingIsIgnored(t *testing.T) {
	pod := newPod("web-0", "10.0.0.1")
	for name, status := range map[string]v1beta1.TargetGroupBindingStatus{"without a status": {}, "with the default": newBinding().Status} {
		t.Run(name, func(t *testing.T) {
			inSharedBed(t, func(b *bed) {
				binding := b.binding()
				binding.Status = status
				b.must(b.cluster.Status().Update(t.Context(), binding))
				b.aws.SetHealth(testARN, two, healthy)
				b.settle()
				b.after(testDrift)
				b.after(testDrift)
				if got := b.targets()[two.String()]; got != elbv2.StateHealthy {
					t.Errorf("the target that was listed is %q", got)
				}
				if got := b.record(); got != "10.0.0.1:8080" {
					t.Errorf("record %q", got)
				}
				if n := b.told("RecordIgnored"); n != 1 {
					t.Errorf("told %d times, want once", n)
				}
			}, pod.DeepCopy(), newSlice("web-1", pod), writtenRecord("10.0.0.2:8080,10.99.0.1:8080"))
		})
	}
}

// A process may die before the first status says that it has worked on the binding.
func TestSharedGroupRecordFromBeforeTheFirstStatusIsBelieved(t *testing.T) {
	pod := withFinalizer(newPod("web-0", "10.0.0.1"))
	inSharedBed(t, func(b *bed) {
		b.settle()
		binding := b.binding()
		binding.Status = newBinding().Status
		b.must(b.cluster.Status().Update(t.Context(), binding))
		b.must(b.cluster.Delete(t.Context(), pod))
		b.begin(b.calls.Context)
		b.settle()
		if got := b.targets()[one.String()]; got != elbv2.StateDraining {
			t.Errorf("the target of the pod that leaves is %q, want it to drain", got)
		}
		if n := b.told("RecordIgnored"); n != 0 {
			t.Errorf("told %d times that the record is ignored, want never", n)
		}
	}, pod, newSlice("web-1", pod))
}

// What a binding of that name listed that is gone may be anybody's by now.
func TestSharedGroupRecordOfAnotherBindingIsIgnored(t *testing.T) {
	record := writtenRecord("10.0.0.2:8080")
	record.Annotations = map[string]string{"targetgate.dev/binding-uid": "another"}
	pod := newPod("web-0", "10.0.0.1")
	inSharedBed(t, func(b *bed) {
		b.workedForBefore()
		b.aws.SetHealth(testARN, two, healthy)
		b.settle()
		b.after(testDrift)
		b.after(testDrift)
		if got := b.targets()[two.String()]; got != elbv2.StateHealthy {
			t.Errorf("the target that was listed is %q", got)
		}
		var now corev1.ConfigMap
		b.must(b.cluster.Get(t.Context(), client.ObjectKeyFromObject(record), &now))
		if got, of := now.Data["targets"], now.Annotations["targetgate.dev/binding-uid"]; got != "10.0.0.1:8080" || of != "binding" {
			t.Errorf("record %q of binding %q, want our own", got, of)
		}
		if n := b.told("to an earlier binding of this name,"); n != 1 {
			t.Errorf("told %d times, want once", n)
		}
	}, pod, newSlice("web-1", pod), record)
}

// The incumbent looks for the server IDs again, should it come back.
func TestSharedGroupKeepsServerIDs(t *testing.T) {
	gone, pod := "10.0.0.2:8080:0x00000000000000f2", newPod("web-0", "10.0.0.1")
	inSharedBed(t, func(b *bed) {
		b.workedForBefore()
		b.aws.SetHealth(testARN, one, healthy)
		b.aws.SetHealth(testARN, two, healthy)
		b.settle()
		b.after(plan.PollUnsettled)
		b.after(plan.PollUnsettled)
		if got := b.targets()[two.String()]; got != elbv2.StateDraining {
			t.Errorf("the target whose pod is gone is %q, want it to drain", got)
		}
		if got := b.record(); got != "10.0.0.1:8080:0x00000000000000f1" {
			t.Errorf("record %q", got)
		}
	}, pod, newSlice("web-1", pod), writtenRecord("10.0.0.1:8080:0x00000000000000f1,"+gone))
}

func TestSharedGroupIsLeftWithItsOwnTargetsOnly(t *testing.T) {
	pod := newPod("web-0", "10.0.0.1")
	inSharedBed(t, func(b *bed) {
		b.settle()
		b.must(b.cluster.Delete(t.Context(), b.binding()))
		b.settle()
		err := b.cluster.Get(t.Context(), webKey, &v1beta1.TargetGroupBinding{})
		if !apierrors.IsNotFound(err) {
			t.Errorf("getting the binding: %v, want it gone", err)
		}
		err = b.cluster.Get(t.Context(), client.ObjectKeyFromObject(writtenRecord("")), &corev1.ConfigMap{})
		if !apierrors.IsNotFound(err) {
			t.Errorf("getting the record: %v, want it gone", err)
		}
		if got := b.targets()[one.String()]; got != elbv2.StateDraining {
			t.Errorf("our target is %q, want it to drain", got)
		}
	}, pod, newSlice("web-1", pod))
}

// ConfigMaps of a namespace that is deleted go before its bindings, and after a restart nobody knows any more which targets are theirs.
func TestSharedGroupSaysThatItsRecordWasLost(t *testing.T) {
	pod := newPod("web-0", "10.0.0.1")
	inSharedBed(t, func(b *bed) {
		binding := b.binding()
		binding.Finalizers = []string{v1beta1.Finalizer}
		b.must(b.cluster.Update(t.Context(), binding))
		b.workedForBefore()
		b.aws.SetHealth(testARN, one, healthy)
		b.must(b.cluster.Delete(t.Context(), b.binding()))
		b.settle()
		b.after(plan.PollUnsettled)
		if err := b.cluster.Get(t.Context(), webKey, &v1beta1.TargetGroupBinding{}); !apierrors.IsNotFound(err) {
			t.Errorf("getting the binding: %v, want it gone", err)
		}
		if told := b.told("FailedCleanup"); told != 1 {
			t.Errorf("told %d times, want once", told)
		}
	}, pod, newSlice("web-1", pod))
}

// The end of a release may be another process's: nothing is left, and nothing is told.
func TestSharedGroupIsReleasedAfterAnInterruption(t *testing.T) {
	pod := newPod("web-0", "10.0.0.1")
	inSharedBed(t, func(b *bed) {
		b.settle()
		b.workedForBefore()
		b.must(b.cluster.Delete(t.Context(), b.binding()))
		b.intercept(refuseFinalizers)
		b.settle()
		b.aws.Forget(testARN, one)
		b.intercept(interceptor.Funcs{})
		b.told("")
		b.begin(b.calls.Context)
		b.run(time.Minute, webKey)
		if err := b.cluster.Get(t.Context(), webKey, &v1beta1.TargetGroupBinding{}); !apierrors.IsNotFound(err) {
			t.Errorf("getting the binding: %v, want it gone", err)
		}
		if err := b.cluster.Get(t.Context(), client.ObjectKeyFromObject(writtenRecord("")), &corev1.ConfigMap{}); !apierrors.IsNotFound(err) {
			t.Errorf("getting the record: %v, want it gone", err)
		}
		if n := b.told("FailedCleanup"); n != 0 {
			t.Errorf("told %d times that targets may be left, want never", n)
		}
	}, pod, newSlice("web-1", pod))
}

// The next binding of that name may be there before the record of the one that is gone has been deleted.
func TestSharedGroupRecordOfTheNextBindingStays(t *testing.T) {
	pod := newPod("web-0", "10.0.0.1")
	inSharedBed(t, func(b *bed) {
		b.settle()
		b.intercept(interceptor.Funcs{
			Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
				b.must(c.Update(ctx, writtenRecord("10.0.0.2:8080")))
				return c.Delete(ctx, o, opts...)
			},
		})
		b.must(b.cluster.Delete(t.Context(), b.binding()))
		b.settle()
		if got := b.record(); got != "10.0.0.2:8080" {
			t.Errorf("record %q, want the next binding's", got)
		}
	}, pod, newSlice("web-1", pod))
}

// Where the record cannot be written nothing is registered: nobody would know whose it is.
func TestSharedGroupWithoutPermissionRegistersNothing(t *testing.T) {
	pod := newPod("web-0", "10.0.0.1")
	inSharedBed(t, func(b *bed) {
		b.kube.Client = noApply{b.kube.Client}
		b.settle()
		b.after(time.Minute)
		if calls := b.aws.Calls("RegisterTargets"); len(calls) > 0 {
			t.Errorf("calls %v, want none", calls)
		}
	}, pod, newSlice("web-1", pod))
}

// forbidden is an API server that lets nobody read ConfigMaps.
type forbidden struct{ client.Reader }

func (forbidden) Get(_ context.Context, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	return apierrors.NewForbidden(corev1.Resource("configmaps"), key.Name, errors.New("no rule"))
}

func TestSharedGroupSaysThatSharingIsOff(t *testing.T) {
	pod := newPod("web-0", "10.0.0.1")
	inSharedBed(t, func(b *bed) {
		b.api.Reader = forbidden{b.cluster}
		for range 3 { // the finalizer comes first
			_, _ = b.Reconcile(b.t.Context(), ctrl.Request{NamespacedName: webKey})
			time.Sleep(time.Second)
		}
		if c := b.ready(); c.Status != metav1.ConditionFalse || !strings.Contains(c.Message, "sharedTargetGroups=true") {
			t.Errorf("the condition Ready is %s: %q, want it to say what to switch on", c.Status, c.Message)
		}
		if calls := b.aws.Calls("RegisterTargets"); len(calls) > 0 || b.condition("web-0") == "True" {
			t.Errorf("calls %v, gate %q; want no call and a closed gate", calls, b.condition("web-0"))
		}
		b.api.Reader = b.cluster
		for range 2 {
			b.after(30 * time.Second)
		}
		if got := b.record(); got != "10.0.0.1:8080" {
			t.Errorf("once it is on the record says %q", got)
		}
	}, pod, newSlice("web-1", pod))
}

// An API server in trouble is not an empty record: nothing is forgotten, and nothing written over.
func TestSharedGroupRecordThatCannotBeReadIsKept(t *testing.T) {
	inSharedBed(t, func(b *bed) {
		b.api.Reader = unreadable{b.cluster}
		if _, err := b.Reconcile(b.t.Context(), ctrl.Request{NamespacedName: webKey}); err == nil {
			t.Error("no error")
		}
		b.api.Reader = b.cluster
		if got := b.record(); got != "10.0.0.2:8080" {
			t.Errorf("record %q", got)
		}
	}, writtenRecord("10.0.0.2:8080"))
}

type unreadable struct{ client.Reader }

func (unreadable) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errors.New("timeout")
}

// Nothing tells that somebody else has changed the record: it is read from time to time, and costs no write while nobody does.
func TestSharedGroupRecordThatSomebodyElseChangesIsPutBack(t *testing.T) {
	pod := newPod("web-0", "10.0.0.1")
	inSharedBed(t, func(b *bed) {
		b.run(30*time.Second, webKey)
		key, ours := client.ObjectKey{Namespace: "shop", Name: "aws-lbc-targets-web"}, b.record()
		before := b.writes.Load()
		if b.run(10 * time.Minute); b.writes.Load() != before {
			t.Errorf("%d writes while nobody changes anything", b.writes.Load()-before)
		}
		for name, change := range map[string]func(*corev1.ConfigMap) error{
			"removed": func(c *corev1.ConfigMap) error { return b.cluster.Delete(t.Context(), c) },
			"emptied": func(c *corev1.ConfigMap) error {
				c.Data = nil
				return b.cluster.Update(t.Context(), c)
			},
			"of another target": func(c *corev1.ConfigMap) error {
				c.Data["targets"] = "10.0.0.7:8080"
				return b.cluster.Update(t.Context(), c)
			},
			"of nobody": func(c *corev1.ConfigMap) error {
				c.Annotations = nil
				return b.cluster.Update(t.Context(), c)
			},
		} {
			var configMap corev1.ConfigMap
			b.must(b.cluster.Get(t.Context(), key, &configMap))
			b.must(change(&configMap))
			b.run(time.Minute)
			configMap = corev1.ConfigMap{}
			err := b.cluster.Get(t.Context(), key, &configMap)
			if err != nil || configMap.Data["targets"] != ours || configMap.Annotations["targetgate.dev/binding-uid"] != string(b.binding().UID) {
				t.Errorf("%s: a minute later it is %v, %v, error %v", name, configMap.Data, configMap.Annotations, err)
			}
		}
		if told := b.told("Overwritten"); told != 1 {
			t.Errorf("told %d times", told)
		}
	}, pod, newSlice("web-1", pod))
}
