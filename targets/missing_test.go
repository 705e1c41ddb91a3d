// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/aws/smithy-go"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/targetgate/targetgate/aws/elbv2"
	fakeelbv2 "github.com/targetgate/targetgate/aws/elbv2/fake"
	"github.com/targetgate/targetgate/targets/plan"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// refuse has the calls of some operations answered with err.
func (b *bed) refuse(err error, operations ...string) {
	b.aws.Before = func(_ context.Context, call fakeelbv2.Call) error {
		for _, operation := range operations {
			if call.Operation == operation {
				return err
			}
		}
		return nil
	}
}

var errDenied = &smithy.GenericAPIError{Code: "AccessDenied", Message: "no"}

// removeByHand has an operator take the target of a deleted pod out, as AWS denies that to us. Then the pod ends.
func (b *bed) removeByHand(pod *corev1.Pod, slice string) {
	b.t.Helper()
	b.run(time.Second, webKey)
	b.aws.SetHealth(testARN, one, healthy)
	b.run(elbv2.SettleTime + time.Second)
	b.refuse(errDenied, "DeregisterTargets")
	b.must(b.cluster.Delete(b.t.Context(), pod))
	b.run(time.Minute, webKey)
	b.aws.Forget(testARN, one)
	b.run(time.Second, webKey)
	var ended corev1.Pod
	b.must(b.cluster.Get(b.t.Context(), podKey(pod.Name), &ended))
	ended.Finalizers = nil
	b.must(b.cluster.Update(b.t.Context(), &ended))
	b.must(b.cluster.Delete(b.t.Context(), newSlice(slice)))
	b.run(2*testDrift, webKey)
}

// readsForDriftOnly lets an hour pass.
func (b *bed) readsForDriftOnly() {
	b.t.Helper()
	before := b.readings()
	b.run(time.Hour)
	if n := b.readings() - before; n > 16 {
		b.t.Errorf("%d readings in an hour, want those for drift", n)
	}
}

// A target that somebody has removed is not asked for again and again because its pod is not ready.
func TestMissingTargetOfUnreadyPodIsDeregistered(t *testing.T) {
	a, c := newPod("web-0", "10.0.0.1"), newPod("web-1", "10.0.0.2")
	inBed(t, func(b *bed) {
		b.run(time.Second, webKey)
		b.aws.SetHealth(testARN, one, healthy)
		b.aws.SetHealth(testARN, two, healthy)
		b.run(elbv2.SettleTime + time.Second)
		b.setContainersReady("web-0", corev1.ConditionFalse)
		b.aws.Forget(testARN, one)
		b.run(testDrift, webKey)
		b.readsForDriftOnly()
		if n := len(b.aws.Calls("DeregisterTargets")); n != 1 {
			t.Errorf("%d deregistrations, want one", n)
		}
	}, a, c, newSlice("web-1", a, c))
}

// There is nothing to keep of a pod that is not ready, and whose target is not there.
func TestMissingTargetOfTheOnlyPodIsNotKept(t *testing.T) {
	pod := newPod("web-0", "10.0.0.1")
	inBed(t, func(b *bed) {
		b.run(time.Second, webKey)
		b.aws.SetHealth(testARN, one, healthy)
		b.run(elbv2.SettleTime + time.Second)
		b.setContainersReady("web-0", corev1.ConditionFalse)
		b.aws.Forget(testARN, one)
		b.run(testDrift, webKey)
		b.readsForDriftOnly()
		if c := b.degraded(); c.Status != metav1.ConditionFalse {
			t.Errorf("degraded: %s: %s", c.Reason, c.Message)
		}
	}, pod, newSlice("web-1", pod))
}

// While no reading shows a target that AWS refuses to deregister, it is not there: nothing waits for it, and it is not asked for again.
func TestMissingTargetThatCannotBeDeregisteredIsForgotten(t *testing.T) {
	quiet := func(b *bed) {
		before := len(b.aws.Calls(""))
		b.run(time.Hour)
		if n := len(b.aws.Calls("")) - before; n > 40 { // for drift, and settings
			b.t.Errorf("%d calls in an hour, want none but readings for drift", n)
		}
		if c := b.ready(); c.Status != metav1.ConditionTrue {
			b.t.Errorf("not ready: %s: %s", c.Reason, c.Message)
		}
	}
	for name, then := range map[string]func(b *bed){
		"and all is quiet": quiet,
		"and its binding goes": func(b *bed) {
			binding := b.binding()
			b.must(b.cluster.Delete(b.t.Context(), binding))
			b.run(time.Minute, webKey)
			if err := b.cluster.Get(b.t.Context(), webKey, binding); !apierrors.IsNotFound(err) {
				b.t.Errorf("the deleted binding is still there: %v", err)
			}
		},
		"and its address is another pod's": func(b *bed) {
			next := newPod("web-1", "10.0.0.1")
			b.must(b.cluster.Create(b.t.Context(), next))
			b.must(b.cluster.Create(b.t.Context(), newSlice("web-2", next)))
			b.run(time.Second, webKey)
			if got := b.targets()[one.String()]; got != elbv2.StateInitial {
				b.t.Errorf("the pod's target is %q, want it registered", got)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			pod := withFinalizer(newPod("web-0", "10.0.0.1"))
			inBed(t, func(b *bed) {
				b.removeByHand(pod, "web-1")
				then(b)
			}, pod, newSlice("web-1", pod))
		})
	}
	t.Run("an instance that does not exist any more", func(t *testing.T) {
		first, second := elbv2.Target{ID: "i-01", Port: nodePort}, elbv2.Target{ID: "i-02", Port: nodePort}
		node := newNode("node-1", first.ID, corev1.ConditionTrue)
		inInstanceBed(t, func(b *bed) {
			b.run(time.Second, webKey)
			b.aws.SetHealth(testARN, first, healthy)
			b.aws.SetHealth(testARN, second, healthy)
			b.run(testDrift)
			b.refuse(&smithy.GenericAPIError{Code: "InvalidTarget", Message: "i-01 does not exist"}, "RegisterTargets", "DeregisterTargets")
			b.aws.Forget(testARN, first) // AWS takes out what was terminated
			b.run(testDrift)
			b.must(b.cluster.Delete(t.Context(), node))
			b.run(2*testDrift, webKey)
			quiet(b)
		}, node, newNode("node-2", second.ID, corev1.ConditionTrue))
	})
}

// By the time that we may deregister again, the address may be a pod's of another cluster.
func TestMissingTargetThatCannotBeDeregisteredIsLeftToOtherClusters(t *testing.T) {
	pod := withFinalizer(newPod("web-0", "10.0.0.1"))
	inSharedBed(t, func(b *bed) {
		b.removeByHand(pod, "web-1")
		b.aws.SetHealth(testARN, one, healthy)
		b.aws.Before = nil
		b.run(2*testDrift, webKey)
		if got := b.targets()[one.String()]; got != elbv2.StateHealthy {
			t.Errorf("the target of another cluster is %q, want healthy", got)
		}
	}, pod, newSlice("web-1", pod))
}

// A target that no reading shows is registered for whoever inherits it, and not at the next look for drift.
func TestMissingTargetIsRegisteredForThePodThatInheritsIt(t *testing.T) {
	owner, twin := newPod("web-0", "10.0.0.1"), newPod("web-1", "10.0.0.1")
	owner.Spec.ReadinessGates, twin.Spec.ReadinessGates = nil, nil
	inBed(t, func(b *bed) {
		b.run(time.Second, webKey)
		b.aws.SetHealth(testARN, one, healthy)
		b.must(b.cluster.Create(t.Context(), twin.DeepCopy()))
		b.must(b.cluster.Create(t.Context(), newSlice("web-b", twin)))
		b.run(time.Minute, webKey)
		b.refuse(&smithy.GenericAPIError{Code: "Throttling"}, "RegisterTargets")
		b.aws.Forget(testARN, one)
		b.run(testDrift)
		b.must(b.cluster.Delete(t.Context(), owner))
		b.must(b.cluster.Delete(t.Context(), newSlice("web-a")))
		b.aws.Before = nil
		b.run(5*time.Second, webKey)
		if got := b.targets()[one.String()]; got != elbv2.StateInitial {
			t.Errorf("the target is %q, want it registered", got)
		}
	}, owner, newSlice("web-a", owner))
}

// What comes of an unanswered deregistration is not known because one reading leaves the target out.
func TestUnansweredDeregistrationIsRepeatedThoughAReadingDoesNotShowTheTarget(t *testing.T) {
	pod := newPod("web-0", "10.0.0.1")
	inBed(t, func(b *bed) {
		leaving := terminating{b.kube.Client, map[string]*metav1.Time{}, 60}
		b.kube.Client = leaving
		b.run(time.Second, webKey)
		b.aws.SetHealth(testARN, one, healthy)
		b.run(2 * elbv2.SettleTime)
		leaving.till[pod.Name] = ptr.To(metav1.NewTime(time.Now().Add(time.Minute)))
		sent, read := false, false
		b.aws.Before = func(_ context.Context, call fakeelbv2.Call) error {
			switch {
			case call.Operation == "DeregisterTargets" && !sent:
				sent = true
				return errors.New("no answer") // and no effect
			case call.Operation == "DescribeTargetHealth" && sent && !read:
				read = true
				b.aws.Forget(testARN, one)
				time.AfterFunc(100*time.Millisecond, func() { b.aws.SetHealth(testARN, one, healthy) })
			}
			return nil
		}
		b.run(5*time.Second, webKey)
		if got := b.targets()[one.String()]; !read || got != elbv2.StateDraining {
			t.Errorf("read %t, and the target is %q, want it to drain", read, got)
		}
	}, pod, newSlice("web-1", pod))
}

// omit has readings leave the target out from then until then, counted from now.
func (b *bed) omit(target elbv2.Target, from, until time.Duration) {
	begin, end := time.Now().Add(from), time.Now().Add(until)
	b.aws.Omit = func(other elbv2.Target) bool {
		return other == target && !time.Now().Before(begin) && time.Now().Before(end)
	}
}

// Rule 10: what one reading leaves out is not forgotten. The record is all that says whose it is.
func TestRecordedTargetThatOneReadingLeavesOutIsDeregistered(t *testing.T) {
	for name, from := range map[string]time.Duration{"the first": 0, "the second": time.Second} {
		t.Run(name, func(t *testing.T) {
			inSharedBed(t, func(b *bed) {
				b.workedForBefore()
				b.aws.SetHealth(testARN, two, healthy)
				b.omit(two, from, from+plan.PollUnsettled)
				b.settle()
				b.after(plan.PollUnsettled)
				if got := b.record(); got != two.String() {
					t.Errorf("record %q, want that it still lists the target", got)
				}
				for range 3 {
					b.after(plan.PollUnsettled)
				}
				if got := b.targets()[two.String()]; got != elbv2.StateDraining || b.record() != "" {
					t.Errorf("the target is %q and the record %q, want it to drain and not listed", got, b.record())
				}
			}, writtenRecord(two.String()))
		})
	}
}

// Rule 5: nor does its pod leave without it.
func TestRecordedTargetThatOneReadingLeavesOutLeavesWithItsPod(t *testing.T) {
	pod := withFinalizer(newPod("web-0", "10.0.0.1"))
	pod.Status.Conditions = nil // it is not ready
	inSharedBed(t, func(b *bed) {
		b.workedForBefore()
		b.aws.SetHealth(testARN, one, healthy)
		b.omit(one, 0, plan.PollUnsettled)
		b.settle()
		b.must(b.cluster.Delete(t.Context(), pod))
		b.after(time.Second)
		if got := b.targets()[one.String()]; got != elbv2.StateDraining {
			t.Errorf("the target is %q, want it to drain", got)
		}
	}, pod, newSlice("web-1", pod), writtenRecord(one.String()))
}

// What an earlier process has registered may be left out by the first reading of the next one.
func TestDeletedBindingWaitsForTargetThatOneReadingLeavesOut(t *testing.T) {
	for name, shared := range map[string]bool{"shared": true, "not shared": false} {
		t.Run(name, func(t *testing.T) {
			inBed(t, func(b *bed) {
				binding := b.binding()
				binding.Finalizers, binding.Spec.MultiClusterTargetGroup = []string{v1beta1.Finalizer}, shared
				b.must(b.cluster.Update(t.Context(), binding))
				b.workedForBefore()
				state := healthy
				if !shared { // their pods have gone, and nothing but their health says whose they are
					state.State = elbv2.StateUnhealthy
				}
				b.aws.SetHealth(testARN, one, state)
				b.aws.SetHealth(testARN, two, state)
				b.omit(two, 0, time.Second)
				b.must(b.cluster.Delete(t.Context(), b.binding()))
				b.settle()
				b.binding() // is there still
				b.after(plan.PollUnsettled)
				b.after(plan.PollUnsettled + time.Second)
				if got := b.targets(); got[one.String()] != elbv2.StateDraining || got[two.String()] != elbv2.StateDraining {
					t.Errorf("targets %v, want both to drain", got)
				}
				if err := b.cluster.Get(t.Context(), webKey, binding); !apierrors.IsNotFound(err) {
					t.Errorf("getting the binding: %v, want it gone", err)
				}
			}, writtenRecord("10.0.0.1:8080,10.0.0.2:8080"))
		})
	}
}
