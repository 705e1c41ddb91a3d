// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/conditions"
	"github.com/targetgate/targetgate/targets/plan"
)

var notAttached = elbv2.Health{
	State: elbv2.StateUnused, Reason: "Target.NotInUse",
	Description: "Target group is not configured to receive traffic from the load balancer",
}

// Pauses between readings, as package plan has them.
const (
	pollWaiting = time.Second
	pollSlowest = 10 * time.Second
	pollTwoWay  = 15 * time.Second
)

// Rule 4: a Service that does not select the pod any more will never bring it into the group. A cache that is behind
// opens no gate.
func TestGateOpensWhenServiceSelectsPodNoLonger(t *testing.T) {
	pod := newPod("web-0", "10.0.0.1")
	slice := newSlice("web-1", pod)
	inBed(t, func(b *bed) {
		b.settle()
		service := newService()
		service.Spec.Selector = map[string]string{"app": "green"}
		b.must(b.cluster.Update(t.Context(), service))
		b.must(b.cluster.Delete(t.Context(), slice))
		b.settle()
		result := b.after(conditions.CacheLag - time.Second)
		if got, want := b.condition("web-0"), "False Elb.RegistrationInProgress"; got != want {
			t.Errorf("condition during the hold-off %q, want %q", got, want)
		}
		if result.RequeueAfter > time.Second {
			t.Errorf("next look in %s, want it when the hold-off is over", result.RequeueAfter)
		}
		b.after(time.Second)
		if got, want := b.condition("web-0"), "True ServiceDoesNotSelectPod"; got != want {
			t.Errorf("condition %q, want %q", got, want)
		}
		if told := b.told("ReadinessGateOpened"); told != 1 {
			t.Errorf("told %d times, want once", told)
		}
	}, pod, slice)
}

func TestGateOfServiceThatIsSelectedAgainWaits(t *testing.T) {
	pod := newPod("web-0", "10.0.0.1")
	slice := newSlice("web-1", pod)
	inBed(t, func(b *bed) {
		b.settle()
		service := newService()
		service.Spec.Selector = map[string]string{"app": "green"}
		b.must(b.cluster.Update(t.Context(), service))
		b.settle()
		b.after(conditions.CacheLag - time.Second)
		service.Spec.Selector = newService().Spec.Selector
		b.must(b.cluster.Update(t.Context(), service))
		b.settle()
		b.after(time.Minute)
		if got, want := b.condition("web-0"), "False Elb.RegistrationInProgress"; got != want {
			t.Errorf("condition %q, want %q", got, want)
		}
	}, pod, slice)
}

// Rule 4: whoever writes the slices of a Service without a selector lists a pod when that has started, and not before.
func TestGateOfServiceWithoutSelectorWaitsForThePodToStart(t *testing.T) {
	pod := newPod("web-0", "10.0.0.1")
	readiness.Condition(pod, corev1.ContainersReady).Status = corev1.ConditionFalse
	inBed(t, func(b *bed) {
		service := newService()
		service.Spec.Selector = nil
		b.must(b.cluster.Update(t.Context(), service))
		b.settle()
		b.after(time.Hour)
		if got := b.condition("web-0"); got != "" {
			t.Errorf("condition of a pod that starts %q, want none", got)
		}
		b.setContainersReady("web-0", corev1.ConditionTrue)
		b.settle()
		b.after(conditions.CacheLag)
		if got, want := b.condition("web-0"), "True ServiceDoesNotSelectPod"; got != want {
			t.Errorf("condition %q, want %q", got, want)
		}
	}, pod)
}

// Rule 4: a Service that is gone may come back, for as long as targets are kept for it.
func TestGateOpensWhenServiceDoesNotComeBack(t *testing.T) {
	pod := newPod("web-0", "10.0.0.1")
	inBed(t, func(b *bed) {
		b.must(b.cluster.Delete(t.Context(), newService()))
		b.settle()
		b.after(testPolicy.ReplacementTimeout - time.Second)
		if got := b.condition("web-0"); got != "" {
			t.Errorf("condition while the Service may come back %q, want none", got)
		}
		b.after(time.Second)
		if got, want := b.condition("web-0"), "True BackendNotFound"; got != want {
			t.Errorf("condition %q, want %q", got, want)
		}
	}, pod)
}

// Rule 4: no load balancer, no health check.
func TestGateOpensWhenGroupIsAttachedToNoLoadBalancer(t *testing.T) {
	pod := newPod("web-0", "10.0.0.1")
	inBed(t, func(b *bed) {
		unattached := testGroup()
		unattached.LoadBalancerArns = nil
		b.aws.AddGroup(unattached)
		b.settle()
		b.aws.SetHealth(testARN, one, notAttached)
		b.after(time.Second)
		if got, want := b.condition("web-0"), "True TargetGroupNotAttached"; got != want {
			t.Errorf("condition %q, want %q", got, want)
		}
	}, pod, newSlice("web-1", pod))
}

func TestGateOfUnattachedGroupWaits(t *testing.T) {
	zone := notAttached
	zone.Description = "Target is in an Availability Zone that is not enabled for the load balancer"
	tests := map[string]struct {
		balancers []string
		health    elbv2.Health
		change    func(*bed)
	}{
		"when users ask for that":                          {health: notAttached, change: func(b *bed) { b.Policy.ReadyWhenUnattached = false }},
		"when the zone is not enabled":                     {balancers: testGroup().LoadBalancerArns, health: zone},
		"when a zone is not enabled and settings are late": {health: zone},
		"when a load balancer is there":                    {balancers: testGroup().LoadBalancerArns, health: notAttached},
		"before the settings were read":                    {health: notAttached, change: func(b *bed) { failOn(b, "DescribeTargetGroups") }},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			pod := newPod("web-0", "10.0.0.1")
			inBed(t, func(b *bed) {
				group := testGroup()
				group.LoadBalancerArns = tc.balancers
				b.aws.AddGroup(group)
				if tc.change != nil {
					tc.change(b)
				}
				b.settle()
				b.aws.SetHealth(testARN, one, tc.health)
				for range 60 {
					b.after(time.Second)
				}
				if got, want := b.condition("web-0"), "False Target.NotInUse"; got != want {
					t.Errorf("condition %q, want %q", got, want)
				}
			}, pod, newSlice("web-1", pod))
		})
	}
}

// Settings from before the target said that no load balancer is there are not believed: one may have been attached, or
// detached, since.
func TestGateOfUnattachedGroupIsJudgedByFreshSettings(t *testing.T) {
	pod := newPod("web-0", "10.0.0.1")
	inBed(t, func(b *bed) {
		unattached := testGroup()
		unattached.LoadBalancerArns = nil
		b.aws.AddGroup(unattached)
		b.settle()
		b.aws.AddGroup(testGroup()) // attached now
		b.aws.SetHealth(testARN, one, notAttached)
		b.after(time.Second)
		b.after(time.Second)
		if got, want := b.condition("web-0"), "False Target.NotInUse"; got != want {
			t.Errorf("condition %q, want %q", got, want)
		}
	}, pod, newSlice("web-1", pod))
}

func TestGateOpensAfterReadinessTimeout(t *testing.T) {
	pod := newPod("web-0", "10.0.0.1")
	inBed(t, func(b *bed) {
		b.Policy.ReadinessTimeout = time.Minute
		b.settle()
		b.aws.SetHealth(testARN, one, elbv2.Health{State: elbv2.StateUnhealthy, Reason: "Target.Timeout", Description: "Request timed out"})
		for range 58 {
			b.after(time.Second)
		}
		if got, want := b.condition("web-0"), "False Target.Timeout"; got != want {
			t.Errorf("condition %q, want %q", got, want)
		}
		b.told("ReadinessTimeout")
		b.after(2 * time.Second)
		if got, want := b.condition("web-0"), "True ReadinessTimeout"; got != want {
			t.Errorf("condition %q, want %q", got, want)
		}
		if told := b.told("ReadinessTimeout"); told != 1 {
			t.Errorf("told %d times, want once", told)
		}
	}, pod, newSlice("web-1", pod))
}

// Rule 3 the other way, for those who ask for it: never more gates than leave enough pods Ready.
func TestGatesCloseOnlyWhileEnoughPodsAreHealthy(t *testing.T) {
	sick := elbv2.Health{State: elbv2.StateUnhealthy, Reason: "Target.Timeout"}
	a, c := newPod("web-0", "10.0.0.1"), newPod("web-1", "10.0.0.2")
	inBed(t, func(b *bed) {
		b.Policy.TwoWay, b.Writer.TwoWay = true, true
		b.settle()
		b.aws.SetHealth(testARN, one, healthy)
		b.aws.SetHealth(testARN, two, healthy)
		b.after(time.Second)
		b.aws.SetHealth(testARN, one, sick)
		b.after(pollTwoWay)
		if got, want := b.condition("web-0"), "False Target.Timeout"; got != want {
			t.Errorf("condition of the sick one %q, want %q", got, want)
		}
		b.aws.SetHealth(testARN, two, sick)
		b.after(pollTwoWay)
		b.after(pollTwoWay)
		if got, want := b.condition("web-1"), "True "; got != want {
			t.Errorf("condition of the last one %q, want %q", got, want)
		}
		b.aws.SetHealth(testARN, one, healthy)
		b.after(pollSlowest)
		if got, want := b.condition("web-0"), "True "; got != want {
			t.Errorf("condition of the one that recovered %q, want %q", got, want)
		}
	}, a, c, newSlice("web-1", a, c))
}

// The target of a pod whose gate is open recovers before the next one's gate is closed, and its gate is open by then.
func TestGateDoesNotCloseForOneThatIsNotOpenYet(t *testing.T) {
	sick := elbv2.Health{State: elbv2.StateUnhealthy, Reason: "Target.Timeout"}
	a, c := newPod("web-0", "10.0.0.1"), newPod("web-1", "10.0.0.2")
	inBed(t, func(b *bed) {
		b.Policy.TwoWay, b.Writer.TwoWay = true, true
		b.settle()
		b.aws.SetHealth(testARN, one, healthy)
		b.aws.SetHealth(testARN, two, healthy)
		b.after(time.Second)
		b.aws.SetHealth(testARN, one, sick)
		b.after(pollTwoWay)
		writer := b.Writer.Client
		b.Writer.Client = refusing{writer, "web-0"}
		b.aws.SetHealth(testARN, one, healthy)
		b.aws.SetHealth(testARN, two, sick)
		b.after(pollTwoWay)
		b.after(pollTwoWay)
		if got, want := b.condition("web-1"), "True "; got != want {
			t.Errorf("condition while the other gate is closed %q, want %q", got, want)
		}
		b.Writer.Client = writer
		b.after(pollTwoWay)
		b.after(pollTwoWay)
		if got, want := b.condition("web-1"), "False Target.Timeout"; got != want {
			t.Errorf("condition when the other gate is open %q, want %q", got, want)
		}
	}, a, c, newSlice("web-1", a, c))
}

// The time that users allow begins anew when a gate is closed again, however long ago the pod was registered.
func TestGateOfPodRegisteredLongAgoClosesAndTimesOut(t *testing.T) {
	a, c := newPod("web-0", "10.0.0.1"), newPod("web-1", "10.0.0.2")
	inBed(t, func(b *bed) {
		b.Policy.TwoWay, b.Writer.TwoWay, b.Policy.ReadinessTimeout = true, true, time.Minute
		b.settle()
		b.aws.SetHealth(testARN, one, healthy)
		b.aws.SetHealth(testARN, two, healthy)
		b.after(time.Second)
		b.after(time.Hour)
		b.aws.SetHealth(testARN, one, elbv2.Health{State: elbv2.StateUnhealthy, Reason: "Target.Timeout"})
		b.told("ReadinessGateClosed")
		b.after(pollTwoWay)
		for range 45 {
			b.after(time.Second)
		}
		if got, want := b.condition("web-0"), "False Target.Timeout"; got != want {
			t.Errorf("condition within the time that is allowed %q, want %q", got, want)
		}
		if told := b.told("ReadinessGateClosed"); told != 1 {
			t.Errorf("told %d times that the gate was closed, want once", told)
		}
		for range 120 {
			b.after(time.Second)
		}
		if got, want := b.condition("web-0"), "True ReadinessTimeout"; got != want {
			t.Errorf("condition after that %q, want %q", got, want)
		}
		if told := b.told("ReadinessTimeout"); told != 1 {
			t.Errorf("told %d times that the gate was opened, want once: it must not flap", told)
		}
	}, a, c, newSlice("web-1", a, c))
}

// A gate that something else than health has opened would be opened again as soon as it is closed.
func TestGateThatHealthHasNotOpenedIsNotClosed(t *testing.T) {
	pod, other := newPod("web-0", "10.0.0.1"), newPod("web-1", "10.0.0.2")
	pod.Status.Conditions = append(pod.Status.Conditions,
		corev1.PodCondition{Type: testGate, Status: corev1.ConditionTrue, Reason: readiness.ReasonNotAttached})
	inBed(t, func(b *bed) {
		b.Policy.TwoWay, b.Writer.TwoWay = true, true
		b.aws.SetHealth(testARN, one, elbv2.Health{State: elbv2.StateUnhealthy, Reason: "Target.Timeout"})
		b.aws.SetHealth(testARN, two, healthy)
		b.settle()
		b.after(testDrift)
		if got, want := b.condition("web-0"), "True TargetGroupNotAttached"; got != want {
			t.Errorf("condition %q, want %q", got, want)
		}
	}, pod, other, newSlice("web-1", pod, other))
}

// Users are told on the pod when it takes longer than the health check settings explain, once.
func TestPodThatWaitsTooLongIsTold(t *testing.T) {
	pod := newPod("web-0", "10.0.0.1")
	inBed(t, func(b *bed) {
		b.settle()
		expected := plan.ExpectedWait(b.group().Settings, elbv2.StateInitial)
		b.after(expected - time.Second)
		if told := b.told("ReadinessGateWaiting"); told != 0 {
			t.Errorf("told %d times before %s, want not yet", told, expected)
		}
		for range 60 {
			b.after(time.Second)
		}
		if told := b.told("ReadinessGateWaiting"); told != 1 {
			t.Errorf("told %d times, want once", told)
		}
	}, pod, newSlice("web-1", pod))
}

// No health check runs for an unused target, so there is nothing to wait for before users are told.
func TestPodWithUnusedTargetIsToldSoon(t *testing.T) {
	pod := newPod("web-0", "10.0.0.1")
	inBed(t, func(b *bed) {
		b.Policy.ReadyWhenUnattached = false
		b.settle()
		b.aws.SetHealth(testARN, one, notAttached)
		for range 12 {
			b.after(time.Second)
		}
		if told := b.told("ReadinessGateWaiting"); told != 1 {
			t.Errorf("told %d times in 12 s, want once", told)
		}
	}, pod, newSlice("web-1", pod))
}

// Pods from before the binding: their owner is told once, where the namespace asks for gates.
func TestOwnerOfUngatedPodsIsTold(t *testing.T) {
	for name, tc := range map[string]struct {
		label string
		want  int
	}{"gates are asked for": {"enabled", 1}, "gates are not asked for": {"disabled", 0}} {
		t.Run(name, func(t *testing.T) {
			a, c := newPod("web-0", "10.0.0.1"), newPod("web-1", "10.0.0.2")
			for _, pod := range []*corev1.Pod{a, c} {
				pod.Spec.ReadinessGates = nil
				yes := true
				pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "owner", Controller: &yes}}
			}
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", Labels: map[string]string{readiness.InjectLabel: tc.label}}}
			inBed(t, func(b *bed) {
				b.settle()
				b.after(plan.PollUnsettled)
				if told := b.told("PodWithoutReadinessGate"); told != tc.want {
					t.Errorf("told %d times, want %d", told, tc.want)
				}
				if n := b.binding().Status.Pods.Ungated; n != 2 {
					t.Errorf("%d ungated pods in the status, want 2", n)
				}
			}, a, c, newSlice("web-1", a, c), namespace)
		})
	}
}

func TestGateSaysWhatItWaitsForAndSinceWhen(t *testing.T) {
	pod := newPod("web-0", "10.0.0.1")
	inBed(t, func(b *bed) {
		b.settle()
		b.aws.SetHealth(testARN, one, elbv2.Health{
			State: elbv2.StateUnhealthy, Reason: "Target.ResponseCodeMismatch", Description: "Health checks failed with these codes: [503]",
		})
		b.after(time.Second)
		since := time.Now().UTC().Format(time.RFC3339)
		b.after(plan.PollUnsettled)
		var got corev1.Pod
		b.must(b.cluster.Get(t.Context(), podKey("web-0"), &got))
		message := readiness.Condition(&got, testGate).Message
		if !strings.HasPrefix(message, "Health checks failed with these codes: [503]") || !strings.Contains(message, "since "+since) {
			t.Errorf("message %q, want AWS's words, and since %s", message, since)
		}
	}, pod, newSlice("web-1", pod))
}

// Rule 34: what somebody else makes of a condition while no targetgate runs is put back by the next one, as far as the load balancer tells
// what it said.
func TestGateThatIsOverwrittenWhileWeAreDownIsPutBack(t *testing.T) {
	foreign := corev1.PodCondition{Type: testGate, Status: corev1.ConditionTrue, Reason: "Mine", Message: "x"}
	for name, tc := range map[string]struct {
		now          *corev1.PodCondition
		twoWay, sick bool
		want         string // "Status Reason Message"
	}{
		"removed":          {want: "True  "},
		"closed":           {now: &corev1.PodCondition{Type: testGate, Status: corev1.ConditionFalse, Reason: "Mine", Message: "x"}, want: "True  "},
		"another reason":   {now: &foreign, want: "True  "},
		"another message":  {now: &corev1.PodCondition{Type: testGate, Status: corev1.ConditionTrue, Message: "x"}, want: "True  "},
		"a reason of ours": {now: &corev1.PodCondition{Type: testGate, Status: corev1.ConditionTrue, Reason: "ReadinessTimeout", Message: "y"}, want: "True ReadinessTimeout y"},
		"its target fails": {now: &foreign, sick: true, want: "True Mine x"},
		"opened by others, where gates close again": {now: &foreign, twoWay: true, want: "True Mine x"},
	} {
		t.Run(name, func(t *testing.T) {
			pod := newPod("web-0", "10.0.0.1")
			inBed(t, func(b *bed) {
				b.Policy.TwoWay, b.Writer.TwoWay = tc.twoWay, tc.twoWay
				b.settle()
				b.aws.SetHealth(testARN, one, healthy)
				b.after(time.Second)
				if got := b.condition("web-0"); got != "True " {
					t.Fatalf("condition %q before", got)
				}
				if tc.sick {
					b.aws.SetHealth(testARN, one, elbv2.Health{State: elbv2.StateUnhealthy, Reason: "Target.Timeout"})
				}
				now := &corev1.Pod{}
				b.must(b.cluster.Get(t.Context(), client.ObjectKeyFromObject(pod), now))
				now.Status.Conditions = slices.DeleteFunc(now.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == testGate })
				if tc.now != nil {
					now.Status.Conditions = append(now.Status.Conditions, *tc.now)
				}
				b.must(b.cluster.Status().Update(t.Context(), now))
				b.begin(b.calls.Context)
				b.run(time.Minute, webKey)
				b.must(b.cluster.Get(t.Context(), client.ObjectKeyFromObject(pod), now))
				c := readiness.Condition(now, testGate)
				if c == nil {
					t.Fatal("there is no condition")
				}
				if got := fmt.Sprintf("%s %s %s", c.Status, c.Reason, c.Message); got != tc.want {
					t.Errorf("condition %q, want %q", got, tc.want)
				}
			}, pod, newSlice("web-1", pod))
		})
	}
}
