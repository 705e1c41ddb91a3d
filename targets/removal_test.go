// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/aws/budget"
	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/endpoints"
	"github.com/targetgate/targetgate/targets/plan"
	"github.com/targetgate/targetgate/targets/targetgroup"
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
				b.after(targetgroup.SettleTime + time.Second)
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

// A target that gets lost again and again is told of now and then, and no other is forgotten meanwhile.
func TestLostTargetsAreToldOfNowAndThen(t *testing.T) {
	var told []string
	lost, start := lostTargets{}, time.Now()
	tell := func(after time.Duration, targets ...elbv2.Target) {
		if e, due := lost.event(targets, start.Add(after)); due {
			told = append(told, e.Note[strings.LastIndex(e.Note, ": ")+2:])
		}
	}
	two := elbv2.Target{ID: "10.0.0.2", Port: 8080}
	tell(0)
	tell(time.Second, one)
	tell(2*time.Second, two, one)
	tell(3*time.Second, two)
	tell(lostPause)
	tell(lostPause + time.Second)
	tell(3 * lostPause)
	tell(3*lostPause, one)
	want := []string{one.String(), one.String() + ", " + two.String(), one.String()}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}

func TestRegistrarTellsOfForeignTargetOnce(t *testing.T) {
	inBed(t, func(b *bed) {
		b.settle()
		b.aws.SetHealth(testARN, foreign, healthy)
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

// Where calls stand in line, those that other groups wait behind are worth saving: a pod that leaves waits a little for the
// next one, if a gate is about to open and take one more pod away.
func TestDeregistrationsCoalesceWhileCallsWait(t *testing.T) {
	three := elbv2.NewTarget("10.0.0.3", 8080)
	both := []string{one.String(), two.String()}
	apart := [][]string{both[:1], both[1:]}
	const grace = 30 * time.Second
	tests := map[string]struct {
		line  bool
		grace time.Duration // of the pods that leave
		state elbv2.State   // of the target of the pod at its gate
		since time.Duration // it was registered
		bare  bool          // the pods that leave have no preStop
		want  [][]string
	}{
		"a gate opens soon":              {line: true, grace: grace, state: elbv2.StateInitial, want: [][]string{both}},
		"no line":                        {line: false, grace: grace, state: elbv2.StateInitial, want: apart},
		"the gate will not open so soon": {line: true, grace: grace, state: elbv2.StateUnhealthy, want: apart},
		"the gate should have opened":    {line: true, grace: grace, state: elbv2.StateInitial, since: time.Hour, want: apart},
		"the pods get SIGTERM at once":   {line: true, grace: grace, state: elbv2.StateInitial, bare: true, want: apart},
		"the pods have no time for that": {line: true, grace: time.Second, state: elbv2.StateInitial, want: apart},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			a, c, fresh := newPod("web-0", "10.0.0.1"), newPod("web-1", "10.0.0.2"), newPod("web-2", "10.0.0.3")
			if !tc.bare {
				a.Spec.Containers, c.Spec.Containers = endpoints.Waiting, endpoints.Waiting
			}
			inBed(t, func(b *bed) {
				rule := budget.Rule{Operations: regexp.MustCompile("^(Register|Deregister)Targets$"), Rate: 4, Burst: 4}
				client := elbv2.New(b.aws, budget.New("", []budget.Rule{rule}, clock.RealClock{}))
				b.Clients = oneAccount{client}
				leaving := terminating{b.kube.Client, map[string]*metav1.Time{}}
				b.kube.Client = leaving
				leave := func(name string) { leaving.till[name] = ptr.To(metav1.NewTime(time.Now().Add(tc.grace))) }
				b.aws.SetHealth(testARN, one, healthy)
				b.aws.SetHealth(testARN, two, healthy)
				b.settle() // and registers the third
				b.after(tc.since)
				b.aws.SetHealth(testARN, three, elbv2.Health{State: tc.state})
				if tc.line {
					for range 60 {
						go func() {
							_ = client.Register(b.calls.Context, budget.ClassRegister, "arn:another", func() map[elbv2.Target]string { return map[elbv2.Target]string{one: ""} })
						}()
					}
				}
				b.after(2 * time.Second)
				leave("web-0")
				b.after(time.Second)
				leave("web-1")
				begun := time.Now()
				for len(b.aws.Calls("DeregisterTargets")) < len(tc.want) && time.Since(begun) < targetgroup.CoalesceWindow+time.Second {
					b.after(100 * time.Millisecond)
				}
				var got [][]string
				for _, call := range b.aws.Calls("DeregisterTargets") {
					got = append(got, call.Targets)
				}
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("deregistrations (-want +got):\n%s", diff)
				}
			}, a, c, fresh, newSlice("web-1", a, c, fresh))
		})
	}
}

// terminating is a client that shows pods as terminating, with the end of their grace period.
type terminating struct {
	client.Client
	till map[string]*metav1.Time // by name
}

func (c terminating) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	err := c.Client.List(ctx, list, opts...)
	if pods, ok := list.(*corev1.PodList); ok {
		for i := range pods.Items {
			pods.Items[i].DeletionTimestamp = c.till[pods.Items[i].Name]
		}
	}
	return err
}
