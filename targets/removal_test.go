// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"testing"
	"time"

	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/aws/elbv2"
	fakeelbv2 "github.com/targetgate/targetgate/aws/elbv2/fake"
	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/plan"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// setContainersReady says of a pod whether its containers are ready, as the kubelet would.
func (b *bed) setContainersReady(name string, ready corev1.ConditionStatus) {
	b.t.Helper()
	var pod corev1.Pod
	b.must(b.cluster.Get(b.t.Context(), client.ObjectKey{Namespace: "shop", Name: name}, &pod))
	readiness.Condition(&pod, corev1.ContainersReady).Status = ready
	b.must(b.cluster.Status().Update(b.t.Context(), &pod))
	b.settle()
}

// Rule 6: probes that fail for one cause fail one after the other; no target goes, and none has to come back.
func TestRegistrarKeepsAllPodsWhenAllProbesFail(t *testing.T) {
	a, c := newPod("web-0", "10.0.0.1"), newPod("web-1", "10.0.0.2")
	inBed(t, func(b *bed) {
		b.settle()
		b.aws.SetHealth(testARN, one, healthy)
		b.aws.SetHealth(testARN, two, healthy)
		b.after(time.Second)
		calls := len(b.aws.Calls("RegisterTargets"))
		b.setContainersReady("web-0", corev1.ConditionFalse)
		b.after(plan.UnreadyPause - time.Second)
		b.setContainersReady("web-1", corev1.ConditionFalse)
		b.after(time.Second)
		b.after(time.Hour)
		if n := len(b.aws.Calls("DeregisterTargets")); n > 0 {
			t.Errorf("%d deregistrations, want none", n)
		}
		if told := b.told("UnreadyPodsKept"); told != 1 {
			t.Errorf("told %d times, want once", told)
		}
		if c := b.degraded(); c.Reason != v1beta1.ReasonUnreadyPodsKept {
			t.Errorf("condition Degraded says %s: %s", c.Reason, c.Message)
		}
		b.setContainersReady("web-0", corev1.ConditionTrue)
		b.setContainersReady("web-1", corev1.ConditionTrue)
		b.after(time.Hour)
		if n := len(b.aws.Calls("RegisterTargets")); n != calls {
			t.Errorf("%d registrations more, want none: %v", n-calls, b.aws.Calls(""))
		}
	}, a, c, newSlice("web-1", a, c))
}

func TestRegistrarDeregistersUnreadyPodAmongHealthyOnes(t *testing.T) {
	a, c := newPod("web-0", "10.0.0.1"), newPod("web-1", "10.0.0.2")
	inBed(t, func(b *bed) {
		b.settle()
		b.aws.SetHealth(testARN, one, healthy)
		b.aws.SetHealth(testARN, two, healthy)
		b.after(time.Second)
		b.setContainersReady("web-0", corev1.ConditionFalse)
		result := b.pass()
		if result.RequeueAfter > plan.UnreadyPause {
			t.Errorf("next look in %s, want it when the pause is over", result.RequeueAfter)
		}
		b.after(plan.UnreadyPause)
		if got := b.targets(); got[one.String()] != elbv2.StateDraining || got[two.String()] != elbv2.StateHealthy {
			t.Errorf("targets %v, want the unready one to drain", got)
		}
		b.setContainersReady("web-0", corev1.ConditionTrue)
		if got := b.targets()[one.String()]; got != elbv2.StateInitial {
			t.Errorf("the pod that is ready again is %q, want it registered again", got)
		}
	}, a, c, newSlice("web-1", a, c))
}

// Drift: what somebody else deregisters comes back, and users are told.
func TestRegistrarBringsLostTargetBack(t *testing.T) {
	for name, lose := range map[string]func(*bed){
		"gone":     func(b *bed) { b.aws.Forget(testARN, one) },
		"draining": func(b *bed) { b.aws.SetHealth(testARN, one, elbv2.Health{State: elbv2.StateDraining}) },
	} {
		t.Run(name, func(t *testing.T) {
			pod := newPod("web-0", "10.0.0.1")
			inBed(t, func(b *bed) {
				b.settle()
				b.aws.SetHealth(testARN, one, healthy)
				b.after(elbv2.SettleTime + time.Second)
				lose(b)
				b.after(testDrift)
				if got := b.targets()[one.String()]; got != elbv2.StateInitial {
					t.Errorf("the lost target is %q, want it registered again", got)
				}
				if told := b.told("TargetMissing"); told != 1 {
					t.Errorf("told %d times, want once", told)
				}
			}, pod, newSlice("web-1", pod))
		})
	}
}

func TestRegistrarTellsOfForeignTargetOnce(t *testing.T) {
	inBed(t, func(b *bed) {
		b.settle()
		b.after(elbv2.SettleTime + time.Second)
		b.aws.SetHealth(testARN, foreign, elbv2.Health{State: elbv2.StateUnhealthy})
		b.after(testDrift)
		b.after(plan.PollUnsettled)
		b.after(plan.PollUnsettled)
		if told := b.told("ForeignTarget"); told != 1 || b.targets()[foreign.String()] != elbv2.StateDraining {
			t.Errorf("told %d times, targets %v; want once, and the target to drain", told, b.targets())
		}
	})
}

func TestRegistrarTellsPodThatIsLeftOut(t *testing.T) {
	a, c := newPod("web-0", "10.0.0.1"), newPod("web-1", "10.0.0.2")
	inBed(t, func(b *bed) {
		b.Policy.MaxTargets = 1
		b.settle()
		if got, want := b.condition("web-1"), "False TargetGroupFull"; got != want {
			t.Errorf("condition %q, want %q", got, want)
		}
		if told := b.told("TargetGroupFull"); told != 2 { // on the pod and on the binding
			t.Errorf("told %d times, want on pod and binding", told)
		}
		b.must(b.cluster.Delete(t.Context(), a))
		b.settle()
		if got, want := b.condition("web-1"), "False Elb.RegistrationInProgress"; got != want {
			t.Errorf("condition when there is room %q, want %q", got, want)
		}
	}, withFinalizer(a), c, newSlice("web-1", a, c))
}

func TestRegistrarReplacesAFullGroupStepByStep(t *testing.T) {
	a, c, d, e := newPod("blue-0", "10.0.0.1"), newPod("blue-1", "10.0.0.2"), newPod("green-0", "10.0.0.3"), newPod("green-1", "10.0.0.4")
	inBed(t, func(b *bed) {
		b.Policy.MaxTargets = 2
		b.settle()
		b.aws.SetHealth(testARN, one, healthy)
		b.aws.SetHealth(testARN, two, healthy)
		b.after(testDrift)
		service := newService()
		service.Spec.Selector = map[string]string{"version": "green"}
		b.must(b.cluster.Update(t.Context(), service))
		for _, pod := range []*corev1.Pod{d, e} {
			pod.Labels = map[string]string{"version": "green"}
			b.must(b.cluster.Create(t.Context(), pod))
		}
		b.must(b.cluster.Delete(t.Context(), newSlice("web-1")))
		b.must(b.cluster.Create(t.Context(), newSlice("web-1", d, e)))
		for range 60 {
			b.after(time.Second)
			serving := 0
			for target, health := range b.aws.Targets(testARN) {
				switch health.State {
				case elbv2.StateHealthy:
					serving++
				case elbv2.StateInitial:
					b.aws.SetHealth(testARN, target, healthy)
				}
			}
			if serving < 1 {
				b.t.Fatalf("none serves: %v", b.targets())
			}
		}
		want := map[string]elbv2.State{
			"10.0.0.1:8080": elbv2.StateDraining, "10.0.0.2:8080": elbv2.StateDraining,
			"10.0.0.3:8080": elbv2.StateHealthy, "10.0.0.4:8080": elbv2.StateHealthy,
		}
		if diff := cmp.Diff(want, b.targets()); diff != "" {
			t.Errorf("targets (-want +got):\n%s", diff)
		}
	}, a, c, newSlice("web-1", a, c))
}

// A pod that leaves and serves on stays until another one replaces it, at the latest until the load balancer needs the rest of its time.
func TestPodThatLeavesStaysUntilItIsReplacedOrDue(t *testing.T) {
	const grace, sleep = time.Minute, 30 * time.Second
	tests := map[string]struct {
		alone    bool          // no other pod is of its workload
		bare     bool          // it has no preStop
		replaced time.Duration // after the deletion, 0 for never
		within   [2]time.Duration
	}{
		"nobody replaces it": {alone: true, within: [2]time.Duration{plan.ReplacementPause, plan.ReplacementPause + time.Second}},
		"it is not replaced": {within: [2]time.Duration{8 * time.Second, 9500 * time.Millisecond}}, // the deadline, less what the call takes
		"it is replaced":     {replaced: 3 * time.Second, within: [2]time.Duration{3 * time.Second, 6 * time.Second}},
		"it may end at once": {bare: true, within: [2]time.Duration{0, time.Second}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			three := elbv2.NewTarget("10.0.0.3", 8080)
			a, c, fresh := newPod("web-0", "10.0.0.1"), newPod("web-1", "10.0.0.2"), newPod("web-2", "10.0.0.3")
			for _, pod := range []*corev1.Pod{a, c, fresh} {
				if pod.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "web", UID: "web", Controller: ptr.To(true)}}; tc.alone {
					pod.OwnerReferences[0].Name, pod.OwnerReferences[0].UID = pod.Name, pod.UID
				}
			}
			if !tc.bare {
				a.Spec.Containers = []corev1.Container{{Name: "web", Lifecycle: &corev1.Lifecycle{
					PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: int64(sleep / time.Second)}},
				}}}
			}
			inBed(t, func(b *bed) {
				b.Policy.Lead, b.Policy.KeepUntilReplaced = plan.Lead{ALB: 20 * time.Second, NLB: 200 * time.Second}, true
				leaving := terminating{b.kube.Client, map[string]*metav1.Time{}, int64(grace / time.Second)}
				b.kube.Client = leaving
				b.aws.SetHealth(testARN, one, healthy)
				b.aws.SetHealth(testARN, two, healthy)
				b.settle()
				b.aws.SetHealth(testARN, three, elbv2.Health{State: elbv2.StateInitial})
				b.after(2 * time.Second)
				leaving.till["web-0"] = ptr.To(metav1.NewTime(time.Now().Add(grace)))
				begun := time.Now()
				for len(b.aws.Calls("DeregisterTargets")) == 0 && time.Since(begun) < sleep {
					b.after(100 * time.Millisecond)
					if tc.replaced > 0 && time.Since(begun) >= tc.replaced {
						b.aws.SetHealth(testARN, three, healthy)
					}
				}
				if took := time.Since(begun); took < tc.within[0] || took > tc.within[1] {
					t.Errorf("deregistered %s after the deletion, want from %s to %s", took, tc.within[0], tc.within[1])
				}
			}, a, c, fresh, newSlice("web-1", a, c, fresh))
		})
	}
}

// A reading may leave a target out that is there. Its pod takes it along all the same when it leaves: nobody else would.
func TestTargetThatNoReadingShowsLeavesWithItsPod(t *testing.T) {
	for name, leave := range map[string]func(b *bed, pod *corev1.Pod, leaving terminating){
		"deleted": func(_ *bed, pod *corev1.Pod, leaving terminating) {
			leaving.till[pod.Name] = ptr.To(metav1.NewTime(time.Now().Add(time.Minute)))
		},
		"deleted without grace": func(b *bed, pod *corev1.Pod, _ terminating) {
			b.must(b.cluster.Delete(t.Context(), pod))
			b.must(b.cluster.Delete(t.Context(), newSlice("web-1", pod)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			pod := newPod("web-0", "10.0.0.1")
			inBed(t, func(b *bed) {
				leaving := terminating{b.kube.Client, map[string]*metav1.Time{}, 60}
				b.kube.Client = leaving
				b.settle()
				b.aws.SetHealth(testARN, one, healthy)
				b.after(elbv2.SettleTime + time.Second)
				b.aws.Before = func(_ context.Context, call fakeelbv2.Call) error {
					if call.Operation == "RegisterTargets" { // else it is there again at once
						return &smithy.GenericAPIError{Code: "Throttling"}
					}
					return nil
				}
				b.aws.Forget(testARN, one)
				b.after(testDrift)
				b.after(plan.PollUnsettled)
				leave(b, pod, leaving)
				b.after(time.Second)
				if calls := b.aws.Calls("DeregisterTargets"); len(calls) != 1 {
					t.Errorf("%d deregistrations, want one: %v", len(calls), calls)
				}
				b.after(testDrift)
				b.after(testDrift)
				if calls := b.aws.Calls("DeregisterTargets"); len(calls) != 1 {
					t.Errorf("%d deregistrations in the end, want one: %v", len(calls), calls)
				}
			}, pod, newSlice("web-1", pod))
		})
	}
}

// terminating is a client that shows pods as terminating, with the end of their grace period.
type terminating struct {
	client.Client
	till  map[string]*metav1.Time // by name
	grace int64                   // in seconds
}

func (c terminating) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	err := c.Client.List(ctx, list, opts...)
	if pods, ok := list.(*corev1.PodList); ok {
		for i := range pods.Items {
			if till := c.till[pods.Items[i].Name]; till != nil {
				pods.Items[i].DeletionTimestamp, pods.Items[i].DeletionGracePeriodSeconds = till, &c.grace
			}
		}
	}
	return err
}
