// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/aws/elbv2"
	fakeelbv2 "github.com/targetgate/targetgate/aws/elbv2/fake"
	"github.com/targetgate/targetgate/targets/conditions"
	"github.com/targetgate/targetgate/targets/ownership"
	"github.com/targetgate/targetgate/targets/plan"
	"github.com/targetgate/targetgate/targets/retry"
	"github.com/targetgate/targetgate/targets/status"
	"github.com/targetgate/targetgate/targets/targetgroup"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

func TestRegistrarTakesPodFromNotReadyToOpenGate(t *testing.T) {
	pod := newPod("web-0", "10.0.0.1")
	inBed(t, func(b *bed) {
		b.settle()
		if got, want := b.condition("web-0"), "False Elb.RegistrationInProgress"; got != want {
			t.Fatalf("after the registration the condition is %q, want %q", got, want)
		}
		b.aws.SetHealth(testARN, one, elbv2.Health{State: elbv2.StateInitial, Reason: "Elb.InitialHealthChecking"})
		result := b.after(time.Second)
		if got, want := b.condition("web-0"), "False Elb.RegistrationInProgress"; got != want {
			t.Fatalf("when the first checks have just begun the condition is %q, want %q still", got, want)
		}
		if result.RequeueAfter > targetgroup.Brief {
			t.Errorf("the next look is in %s, want it in %s at most", result.RequeueAfter, targetgroup.Brief)
		}
		b.after(targetgroup.Brief)
		if got, want := b.condition("web-0"), "False Elb.InitialHealthChecking"; got != want {
			t.Fatalf("during the first checks the condition is %q, want %q", got, want)
		}
		b.aws.SetHealth(testARN, one, healthy)
		b.after(time.Second)
		if got, want := b.condition("web-0"), "True "; got != want {
			t.Fatalf("when healthy the condition is %q, want %q", got, want)
		}
		result = b.after(max(targetgroup.Brief, elbv2.SettleTime)) // the binding is new
		if result.RequeueAfter < 4*time.Minute {
			t.Errorf("with nobody waiting the next look is in %s, want minutes", result.RequeueAfter)
		}
		if n := len(b.aws.Calls("RegisterTargets")); n != 1 {
			t.Errorf("%d RegisterTargets calls, want 1", n)
		}
	}, pod, newSlice("web-1", pod))
}

func TestRegistrarPollsEverySecondWhilePodWaits(t *testing.T) {
	pod := newPod("web-0", "10.0.0.1")
	inBed(t, func(b *bed) {
		b.settle()
		before := len(b.aws.Calls("DescribeTargetHealth"))
		for range 10 {
			b.after(pollWaiting)
		}
		if polls := len(b.aws.Calls("DescribeTargetHealth")) - before; polls < 9 || polls > 11 {
			t.Errorf("%d readings in 10 s while a pod waits, want 10", polls)
		}
	}, pod, newSlice("web-1", pod))
}

func TestRegistrarRegistersNothingBeforeContainersAreReady(t *testing.T) {
	pod := newPod("web-0", "10.0.0.1")
	pod.Status.Conditions = nil
	inBed(t, func(b *bed) {
		b.settle()
		if calls := b.aws.Calls("RegisterTargets"); len(calls) != 0 {
			t.Errorf("calls %v, want none", calls)
		}
	}, pod, newSlice("web-1", pod))
}

// Rule 5: the deregistration waits for no other call of its own group either.
func TestRegistrarDeregistersWhileOtherCallsHang(t *testing.T) {
	for _, hanging := range []string{"RegisterTargets", "DescribeTargetHealth", "DescribeTargetGroups"} {
		t.Run(hanging, func(t *testing.T) {
			old, young := newPod("web-0", "10.0.0.1"), newPod("web-1", "10.0.0.2")
			inBed(t, func(b *bed) {
				b.aws.SetHealth(testARN, one, healthy)
				b.aws.Before = func(ctx context.Context, call fakeelbv2.Call) error {
					if call.Operation == hanging {
						<-ctx.Done() // hangs for as long as targetgate lives
					}
					return nil
				}
				b.settle() // and one call hangs
				b.must(b.cluster.Delete(t.Context(), old))
				b.settle()
				want := []fakeelbv2.Call{{Operation: "DeregisterTargets", Group: testARN, Targets: []string{"10.0.0.1:8080"}}}
				if diff := cmp.Diff(want, b.aws.Calls("DeregisterTargets")); diff != "" {
					t.Errorf("DeregisterTargets calls (-want +got):\n%s", diff)
				}
			}, withFinalizer(old), young, newSlice("web-1", old, young))
		})
	}
}

// withFinalizer keeps a deleted pod in the fake API server, as its grace period does in a real one.
func withFinalizer(pod *corev1.Pod) *corev1.Pod {
	pod.Finalizers = []string{"test/grace-period"}
	return pod
}

// Rule 2: the address of a pod that went is registered anew for the next pod, and its stale health is nobody's.
func TestRegistrarReusedAddressInheritsNothing(t *testing.T) {
	first := newPod("web-0", "10.0.0.1")
	slice := newSlice("web-1", first)
	inBed(t, func(b *bed) {
		b.settle()
		b.aws.SetHealth(testARN, one, healthy)
		b.after(time.Second)

		second := newPod("web-0", "10.0.0.1")
		second.UID = "second"
		b.must(b.cluster.Delete(t.Context(), first))
		b.must(b.cluster.Create(t.Context(), second))
		b.must(b.cluster.Delete(t.Context(), slice))
		b.must(b.cluster.Create(t.Context(), newSlice("web-2", second)))
		b.settle()
		if got, want := b.condition("web-0"), "False Elb.RegistrationInProgress"; got != want {
			t.Errorf("condition of the second pod %q, want %q", got, want)
		}
		var operations []string
		for _, call := range b.aws.Calls("") {
			if strings.HasSuffix(call.Operation, "egisterTargets") {
				operations = append(operations, call.Operation)
			}
		}
		want := []string{"RegisterTargets", "DeregisterTargets", "RegisterTargets"}
		if diff := cmp.Diff(want, operations); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
	}, first, slice)
}

// Rule 2, after a restart: without a condition nothing shows that the pod was registered and not an earlier one at its
// address, whose health the load balancer still shows.
func TestRegistrarDistrustsHealthOfUnprovenPod(t *testing.T) {
	failed := corev1.PodCondition{Type: testGate, Status: corev1.ConditionFalse, Reason: "RegistrationFailed"}
	for name, condition := range map[string][]corev1.PodCondition{"no condition": nil, "a failed registration": {failed}} {
		t.Run(name, func(t *testing.T) {
			pod := newPod("web-0", "10.0.0.1")
			pod.Status.Conditions = append(pod.Status.Conditions, condition...)
			inBed(t, func(b *bed) {
				b.aws.SetHealth(testARN, one, healthy)
				b.settle()
				for range 5 {
					b.after(time.Second)
				}
				if got, want := b.condition("web-0"), "False Elb.RegistrationInProgress"; got != want {
					t.Errorf("condition %q, want %q", got, want)
				}
				if n := len(b.aws.Calls("RegisterTargets")); n != 1 {
					t.Errorf("%d RegisterTargets calls, want 1", n)
				}
				b.after(testDrift)
				if got, want := b.condition("web-0"), "True "; got != want {
					t.Errorf("after the load balancer had time to find out the condition is %q, want %q", got, want)
				}
			}, pod, newSlice("web-1", pod))
		})
	}
}

// Rule 2, after a restart: a gate that was opened without a registration does not show that the target is the pod's.
func TestRegistrarRegistersPodWhoseGateOpenedWithoutOne(t *testing.T) {
	open := newPod("web-0", "10.0.0.1")
	open.Status.Conditions = append(open.Status.Conditions, corev1.PodCondition{Type: testGate, Status: corev1.ConditionTrue, Reason: "ConsentMissing"})
	inBed(t, func(b *bed) {
		b.aws.SetHealth(testARN, one, healthy)
		b.settle()
		b.after(testDrift)
		if n := len(b.aws.Calls("RegisterTargets")); n != 1 {
			t.Errorf("%d RegisterTargets calls, want 1", n)
		}
		if calls := b.aws.Calls("DeregisterTargets"); len(calls) > 0 {
			t.Errorf("calls %v, want the target left in the group", calls)
		}
		if got, want := b.condition("web-0"), "True ConsentMissing"; got != want {
			t.Errorf("condition %q, want %q", got, want)
		}
	}, open, newSlice("web-1", open))
}

// Rule 10, after a restart: what is there is adopted, what nobody explains goes only when a second reading shows it.
func TestRegistrarStartsOnSettledGroupWithoutCalls(t *testing.T) {
	open := newPod("web-0", "10.0.0.1")
	open.Status.Conditions = append(open.Status.Conditions, corev1.PodCondition{Type: testGate, Status: corev1.ConditionTrue})
	inBed(t, func(b *bed) {
		b.workedForBefore()
		b.aws.SetHealth(testARN, one, healthy)
		b.aws.SetHealth(testARN, two, elbv2.Health{State: elbv2.StateUnhealthy})
		b.settle()
		if calls := append(b.aws.Calls("RegisterTargets"), b.aws.Calls("DeregisterTargets")...); len(calls) != 0 {
			t.Errorf("calls at the start: %v, want none", calls)
		}
		b.after(plan.PollUnsettled)
		want := map[string]elbv2.State{"10.0.0.1:8080": elbv2.StateHealthy, "10.0.0.2:8080": elbv2.StateDraining}
		if diff := cmp.Diff(want, b.targets()); diff != "" {
			t.Errorf("targets after a second reading (-want +got):\n%s", diff)
		}
	}, open, newSlice("web-1", open))
}

// Rule 10: a missing Service empties no target group, for a while.
func TestRegistrarKeepsTargetsWhenServiceIsGone(t *testing.T) {
	pod := newPod("web-0", "10.0.0.1")
	slice := newSlice("web-1", pod)
	inBed(t, func(b *bed) {
		b.settle()
		b.aws.SetHealth(testARN, one, healthy)
		b.after(time.Second)
		b.must(b.cluster.Delete(t.Context(), newService()))
		b.must(b.cluster.Delete(t.Context(), slice))
		b.settle()
		result := b.after(testPolicy.ReplacementTimeout - time.Second)
		if calls := b.aws.Calls("DeregisterTargets"); len(calls) != 0 {
			t.Errorf("calls %v, want none", calls)
		}
		if result.RequeueAfter > time.Second {
			t.Errorf("next look in %s, want it when the time is over", result.RequeueAfter)
		}
		c := apimeta.FindStatusCondition(b.binding().Status.Conditions, v1beta1.ConditionReady)
		if c.Reason != v1beta1.ReasonBackendNotFound || !strings.Contains(c.Message, `Service "web" does not exist`) {
			t.Errorf("condition Ready says %s: %s", c.Reason, c.Message)
		}
		b.after(time.Second)
		if n := len(b.aws.Calls("DeregisterTargets")); n != 1 {
			t.Errorf("%d deregistrations after the time was over, want 1", n)
		}
		if told := b.told("ReplacementTimedOut"); told != 1 {
			t.Errorf("told %d times, want once", told)
		}
	}, pod, slice)
}

func TestRegistrarFailedRegistrationIsToldAndTriedAgain(t *testing.T) {
	pod := newPod("web-0", "10.0.0.1")
	inBed(t, func(b *bed) {
		refuse := true
		b.aws.Before = func(_ context.Context, call fakeelbv2.Call) error {
			if call.Operation == "RegisterTargets" && refuse {
				return &smithy.GenericAPIError{Code: "AccessDenied", Message: "not authorized"}
			}
			return nil
		}
		result := b.settle()
		if got, want := b.condition("web-0"), "False RegistrationFailed"; got != want {
			t.Errorf("condition %q, want %q", got, want)
		}
		c := apimeta.FindStatusCondition(b.binding().Status.Conditions, v1beta1.ConditionDegraded)
		if c.Reason != v1beta1.ReasonAccessDenied || c.Message != "AccessDenied: not authorized" {
			t.Errorf("condition Degraded says %s: %s", c.Reason, c.Message)
		}
		if result.RequeueAfter <= 0 || result.RequeueAfter > retry.MaxBackoff {
			t.Errorf("next try in %s, want at most %s", result.RequeueAfter, retry.MaxBackoff)
		}
		refuse = false
		b.after(result.RequeueAfter)
		if got, want := b.condition("web-0"), "False Elb.RegistrationInProgress"; got != want {
			t.Errorf("condition after AWS relented %q, want %q", got, want)
		}
		if apimeta.IsStatusConditionTrue(b.binding().Status.Conditions, v1beta1.ConditionDegraded) {
			t.Error("still Degraded after AWS relented")
		}
	}, pod, newSlice("web-1", pod))
}

func TestRegistrarFinalizesBinding(t *testing.T) {
	pod := newPod("web-0", "10.0.0.1")
	inBed(t, func(b *bed) {
		b.settle()
		b.must(b.cluster.Delete(t.Context(), b.binding()))
		b.settle()
		if diff := cmp.Diff(map[string]elbv2.State{"10.0.0.1:8080": elbv2.StateDraining}, b.targets()); diff != "" {
			t.Errorf("targets (-want +got):\n%s", diff)
		}
		if got, want := b.condition("web-0"), "True TargetGroupBindingDeleted"; got != want {
			t.Errorf("condition %q, want %q", got, want)
		}
		err := b.cluster.Get(t.Context(), webKey, &v1beta1.TargetGroupBinding{})
		if !apierrors.IsNotFound(err) {
			t.Errorf("getting the deleted binding: %v, want not found", err)
		}
	}, pod, newSlice("web-1", pod))
}

func TestRegistrarOpensGatesOfDeletedBindingEvenIfAWSFails(t *testing.T) {
	pod := newPod("web-0", "10.0.0.1")
	inBed(t, func(b *bed) {
		b.settle()
		b.aws.Before = func(context.Context, fakeelbv2.Call) error { return errors.New("no route to AWS") }
		b.must(b.cluster.Delete(t.Context(), b.binding()))
		b.settle()
		if got, want := b.condition("web-0"), "True TargetGroupBindingDeleted"; got != want {
			t.Errorf("condition %q, want %q", got, want)
		}
		if len(b.binding().Finalizers) != 1 {
			t.Error("the finalizer went although the targets are still registered")
		}
	}, pod, newSlice("web-1", pod))
}

// Rule 4: a pod that is no older than the deletion of the binding may be at the gate of another binding of that name, which the
// cache does not show yet.
func TestRegistrarHoldsGateOfPodYoungerThanDeletion(t *testing.T) {
	pod := newPod("web-0", "10.0.0.1")
	inBed(t, func(b *bed) {
		b.settle()
		b.aws.Before = func(context.Context, fakeelbv2.Call) error { return errors.New("no route to AWS") }
		b.must(b.cluster.Delete(t.Context(), b.binding()))
		b.settle()
		young := newPod("web-1", "10.0.0.2")
		young.CreationTimestamp = metav1.Now()
		b.must(b.cluster.Create(t.Context(), young))
		b.settle()
		b.after(conditions.CacheLag - time.Second)
		if got := b.condition("web-1"); got != "" {
			t.Errorf("condition %q before the hold-off has passed, want none", got)
		}
		b.after(time.Second)
		if got, want := b.condition("web-1"), "True TargetGroupBindingDeleted"; got != want {
			t.Errorf("condition %q, want %q", got, want)
		}
	}, pod, newSlice("web-1", pod))
}

// Rule 4: a pod that got the gate in the binding's last moment is let through, too; but it may as well be one of another
// binding of that name, which the cache does not show yet.
func TestRegistrarOpensGateOfPodThatCameAfterTheBindingWent(t *testing.T) {
	inBed(t, func(b *bed) {
		b.settle()
		b.must(b.cluster.Delete(t.Context(), b.binding()))
		b.settle()
		b.after(conditions.CacheLag - time.Second)
		b.must(b.cluster.Create(t.Context(), newPod("web-0", "10.0.0.1")))
		b.settle()
		result := b.after(conditions.CacheLag - time.Second)
		if got := b.condition("web-0"); got != "" || result.RequeueAfter != time.Second {
			t.Errorf("condition %q, next look in %s; want none yet, and 1s", got, result.RequeueAfter)
		}
		b.after(time.Second)
		b.after(debounceInterval)
		if got, want := b.condition("web-0"), "True TargetGroupBindingDeleted"; got != want {
			t.Errorf("condition %q, want %q", got, want)
		}
	})
}

// Rule 4: a binding that nobody has seen may be one that the cache does not show yet.
func TestRegistrarHoldsGateOfUnknownBindingForAWhile(t *testing.T) {
	inBed(t, func(b *bed) {
		binding := b.binding()
		b.must(b.cluster.Delete(t.Context(), binding))
		result := b.settle()
		if got := b.condition("web-0"); got != "" || result.RequeueAfter != conditions.CacheLag {
			t.Fatalf("condition %q, next look in %s; want none yet, and %s", got, result.RequeueAfter, conditions.CacheLag)
		}
		b.after(conditions.CacheLag)
		b.after(debounceInterval)
		if got, want := b.condition("web-0"), "True TargetGroupBindingDeleted"; got != want {
			t.Errorf("condition %q, want %q", got, want)
		}
	}, newPod("web-0", "10.0.0.1"))
}

func TestRegistrarReleasesBindingWhoseTargetGroupIsGone(t *testing.T) {
	inBed(t, func(b *bed) {
		b.settle()
		b.aws.Before = func(context.Context, fakeelbv2.Call) error {
			return &smithy.GenericAPIError{Code: "TargetGroupNotFound", Message: "no such group"}
		}
		b.after(2 * testDrift)
		b.must(b.cluster.Delete(t.Context(), b.binding()))
		b.settle()
		if err := b.cluster.Get(t.Context(), webKey, &v1beta1.TargetGroupBinding{}); !apierrors.IsNotFound(err) {
			t.Errorf("getting the deleted binding: %v, want not found", err)
		}
	})
}

func TestRegistrarWritesStatusOnceSettled(t *testing.T) {
	pod := newPod("web-0", "10.0.0.1")
	inBed(t, func(b *bed) {
		b.settle()
		b.aws.SetHealth(testARN, one, healthy)
		b.after(time.Second)
		b.after(targetgroup.Brief) // and the pod has an event
		status := b.binding().Status
		if *status.ObservedGeneration != 1 || !apimeta.IsStatusConditionTrue(status.Conditions, v1beta1.ConditionReady) {
			t.Errorf("status %+v, want observed generation 1 and Ready", status)
		}
		wantTargets := &v1beta1.TargetCounts{Summary: "1/1", Registered: 1, Healthy: 1}
		if diff := cmp.Diff(wantTargets, status.Targets); diff != "" {
			t.Errorf("targets (-want +got):\n%s", diff)
		}
		wantGroup := &v1beta1.TargetGroupSettings{
			Protocol: "HTTP", LoadBalancers: 1, DeregistrationDelaySeconds: ptr.To[int32](300),
			HealthCheck: v1beta1.HealthCheckSettings{IntervalSeconds: 10, TimeoutSeconds: 5, UnhealthyThreshold: 2},
		}
		if diff := cmp.Diff(wantGroup, status.TargetGroup); diff != "" {
			t.Errorf("target group (-want +got):\n%s", diff)
		}
		b.after(elbv2.SettleTime) // what was in the group before the binding is known by now
		version := b.binding().ResourceVersion
		b.settle()
		b.after(testDrift)
		if got := b.binding().ResourceVersion; got != version {
			t.Error("a settled binding was written again")
		}
	}, pod, newSlice("web-1", pod))
}

func TestRegistrarLeavesUnmanageableBindingsAlone(t *testing.T) {
	older := newBinding()
	older.Name, older.UID, older.CreationTimestamp = "older", "a", metav1.NewTime(noon)
	tests := map[string]struct {
		change func(*v1beta1.TargetGroupBindingSpec)
		more   []client.Object
		want   string
	}{
		"no target type": {
			change: func(s *v1beta1.TargetGroupBindingSpec) { s.TargetType = nil }, want: "spec.targetType is not set",
		},
		"a node selector of many expressions": {
			change: func(s *v1beta1.TargetGroupBindingSpec) {
				s.NodeSelector = &metav1.LabelSelector{MatchExpressions: slices.Repeat(
					[]metav1.LabelSelectorRequirement{{Key: "a", Operator: metav1.LabelSelectorOpExists}}, v1beta1.MaxNodeSelectorExpressions+1)}
			},
			want: "spec.nodeSelector takes at most 32 labels and expressions together, and 64 values in each expression",
		},
		"a node selector of many values": {
			change: func(s *v1beta1.TargetGroupBindingSpec) {
				s.NodeSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
					Key: "a", Operator: metav1.LabelSelectorOpIn, Values: slices.Repeat([]string{"b"}, v1beta1.MaxNodeSelectorValues+1),
				}}}
			},
			want: "spec.nodeSelector takes at most 32 labels and expressions together, and 64 values in each expression",
		},
		"second binding of the group": {
			change: func(*v1beta1.TargetGroupBindingSpec) {}, more: []client.Object{older},
			want: "spec.targetGroupARN: TargetGroupBinding shop/older has this target group already",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			pod := newPod("web-0", "10.0.0.1")
			inBed(t, func(b *bed) {
				binding := b.binding()
				tc.change(&binding.Spec)
				binding.CreationTimestamp = metav1.NewTime(noon.Add(time.Minute))
				b.must(b.cluster.Update(t.Context(), binding))
				b.settle()
				c := apimeta.FindStatusCondition(b.binding().Status.Conditions, v1beta1.ConditionReady)
				if c.Reason != v1beta1.ReasonNotSupported || !strings.Contains(c.Message, tc.want) {
					t.Errorf("condition Ready says %s: %s", c.Reason, c.Message)
				}
				if calls := b.aws.Calls(""); len(calls) != 0 {
					t.Errorf("calls %v, want none", calls)
				}
				if got, want := b.condition("web-0"), "True TargetGroupBindingNotManaged"; got != want {
					t.Errorf("condition %q, want %q", got, want)
				}
			}, append(tc.more, pod, newSlice("web-1", pod))...)
		})
	}
}

// Of names from before they were bounded.
func TestLongNamesAreTold(t *testing.T) {
	named := func(length int, shared bool, targetType v1beta1.TargetType) *v1beta1.TargetGroupBinding {
		b := newBinding()
		b.Name, b.Spec.MultiClusterTargetGroup, b.Spec.TargetType = strings.Repeat("a", length), shared, &targetType
		return b
	}
	speaking := func(protocol v1beta1.Protocol) *v1beta1.TargetGroupBinding {
		b := newBinding()
		b.Spec.TargetGroupProtocol = &protocol
		return b
	}
	factsSay := func(protocol v1beta1.Protocol) *v1beta1.TargetGroupBinding {
		b := newBinding()
		b.Status.TargetGroup = &v1beta1.TargetGroupSettings{Protocol: protocol}
		return b
	}
	tests := map[string]struct {
		binding                       *v1beta1.TargetGroupBinding
		wantShortfall, wantUnrecorded bool
	}{
		"a gate's length":                 {named(63, true, v1beta1.TargetTypeIP), false, false},
		"longer":                          {named(64, false, v1beta1.TargetTypeIP), true, false},
		"of instances, without gates":     {named(64, false, v1beta1.TargetTypeInstance), false, false},
		"shared, and just recordable":     {named(237, true, v1beta1.TargetTypeInstance), false, false},
		"shared, and not recordable":      {named(238, true, v1beta1.TargetTypeInstance), false, true},
		"QUIC":                            {speaking("QUIC"), true, false},
		"TCP and QUIC":                    {speaking("TCP_QUIC"), true, false},
		"QUIC, as AWS says":               {factsSay("QUIC"), true, false},
		"TCP":                             {speaking("TCP"), false, false},
		"not shared, and so not recorded": {named(238, false, v1beta1.TargetTypeInstance), false, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			why, _ := ownership.Unmanageable(tc.binding, nil)
			if (why != "") != tc.wantUnrecorded {
				t.Errorf("it is left alone as %q, want: %v", why, tc.wantUnrecorded)
			}
			if told := status.Shortfall(tc.binding, true); (told != "") != tc.wantShortfall {
				t.Errorf("shortfall %q, want: %v", told, tc.wantShortfall)
			}
		})
	}
}

func TestRegistrarOnePodsFailedPatchDelaysNoOther(t *testing.T) {
	bad, good := newPod("web-0", "10.0.0.1"), newPod("web-1", "10.0.0.2")
	inBed(t, func(b *bed) {
		b.Writer.Client = refusing{b.Writer.Client, "web-0"}
		b.settle()
		b.aws.SetHealth(testARN, two, healthy)
		result := b.after(time.Second)
		if got, want := b.condition("web-1"), "True "; got != want {
			t.Errorf("condition of the other pod %q, want %q", got, want)
		}
		if result.RequeueAfter <= 0 || result.RequeueAfter > pollWaiting {
			t.Errorf("next look in %s, want at most %s as for every waiting pod", result.RequeueAfter, pollWaiting)
		}
	}, bad, good, newSlice("web-1", bad, good))
}

// refusing refuses to write to one pod.
type refusing struct {
	client.SubResourceWriter
	name string
}

func (r refusing) Patch(ctx context.Context, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
	if o.GetName() == r.name {
		return errors.New("a policy refuses it")
	}
	return r.SubResourceWriter.Patch(ctx, o, p, opts...)
}

func TestRegistrarRemovesCheckpointsOfTheIncumbent(t *testing.T) {
	inBed(t, func(b *bed) {
		binding := b.binding()
		binding.Annotations = map[string]string{v1beta1.CheckpointAnnotation: "abc", v1beta1.CheckpointTimestampAnnotation: "1", "own": "stays"}
		b.must(b.cluster.Update(t.Context(), binding))
		b.settle()
		if diff := cmp.Diff(map[string]string{"own": "stays"}, b.binding().Annotations); diff != "" {
			t.Errorf("annotations (-want +got):\n%s", diff)
		}
	})
}

// No lock across a call: with every AWS call hanging, a pass still comes to its end.
func TestRegistrarPassWaitsForNoCall(t *testing.T) {
	pod := newPod("web-0", "10.0.0.1")
	inBed(t, func(b *bed) {
		b.aws.Before = func(ctx context.Context, _ fakeelbv2.Call) error {
			<-ctx.Done()
			return ctx.Err()
		}
		start := time.Now()
		for range 5 {
			b.pass()
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("5 passes took %s of time with AWS hanging, want none", took)
		}
		synctest.Wait()
	}, pod, newSlice("web-1", pod))
}

// Rule 5: the pause after a deregistration that failed is not for pods that leave later.
func TestRegistrarDeregistersNextPodDuringBackOff(t *testing.T) {
	a, c := newPod("web-0", "10.0.0.1"), newPod("web-1", "10.0.0.2")
	inBed(t, func(b *bed) {
		b.settle()
		var tried [][]string
		b.aws.Before = func(_ context.Context, call fakeelbv2.Call) error {
			if call.Operation == "DeregisterTargets" {
				tried = append(tried, call.Targets)
				return errors.New("no answer")
			}
			return nil
		}
		b.must(b.cluster.Delete(t.Context(), a))
		b.settle()
		b.must(b.cluster.Delete(t.Context(), c))
		b.settle()
		want := [][]string{{"10.0.0.1:8080"}, {"10.0.0.1:8080", "10.0.0.2:8080"}}
		if diff := cmp.Diff(want, tried); diff != "" {
			t.Errorf("calls in the first moment (-want +got):\n%s", diff)
		}
		b.settle()
		if len(tried) != 2 {
			t.Errorf("%d calls in the first moment, want a back-off when nobody new leaves", len(tried))
		}
	}, withFinalizer(a), withFinalizer(c), newSlice("web-1", a, c))
}

// A binding that is deleted and created again under its name starts without the memory of the first.
func TestRegistrarForgetsBindingThatWasCreatedAgain(t *testing.T) {
	pod := newPod("web-0", "10.0.0.1")
	inBed(t, func(b *bed) {
		b.settle()
		before := b.bindings.find(webKey)
		binding := b.binding()
		binding.Finalizers = nil
		b.must(b.cluster.Update(t.Context(), binding))
		b.must(b.cluster.Delete(t.Context(), binding))
		again := newBinding()
		again.UID = "again"
		b.must(b.cluster.Create(t.Context(), again))
		b.settle()
		if b.bindings.find(webKey) == before {
			t.Error("the second binding has the memory of the first")
		}
	}, pod, newSlice("web-1", pod))
}

// What an earlier binding of the group has deregistered may be shown as before for a while.
func TestRegistrarReadsGroupOfNewBindingAgain(t *testing.T) {
	open := newPod("web-0", "10.0.0.1")
	open.Status.Conditions = append(open.Status.Conditions, corev1.PodCondition{Type: testGate, Status: corev1.ConditionTrue})
	inBed(t, func(b *bed) {
		b.aws.SetHealth(testARN, one, healthy)
		b.settle()
		b.aws.SetHealth(testARN, one, elbv2.Health{State: elbv2.StateDraining})
		if result := b.after(time.Second); result.RequeueAfter > plan.PollUnsettled {
			t.Errorf("next reading in %s, want at most %s", result.RequeueAfter, plan.PollUnsettled)
		}
		b.after(plan.PollUnsettled)
		if got := b.targets()[one.String()]; got != elbv2.StateInitial {
			t.Errorf("the target is %q, want it registered again", got)
		}
	}, open, newSlice("web-1", open))
}

// A registration under way when the binding goes is waited for, or its target would stay.
func TestRegistrarReleasesBindingOnlyAfterRegistrationsUnderWay(t *testing.T) {
	pod := newPod("web-0", "10.0.0.1")
	inBed(t, func(b *bed) {
		answer := b.hangRegistrations()
		b.settle()
		b.must(b.cluster.Delete(t.Context(), b.binding()))
		b.settle()
		b.after(plan.PollUnsettled)
		b.binding() // is still there
		answer()
		b.settle()
		b.after(plan.PollUnsettled)
		if got := b.targets()[one.String()]; got != elbv2.StateDraining {
			t.Errorf("the target is %q, want it to drain", got)
		}
	}, pod, newSlice("web-1", pod))
}
