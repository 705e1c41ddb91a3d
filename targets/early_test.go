// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/beside"
	"github.com/targetgate/targetgate/targets/conditions"
	"github.com/targetgate/targetgate/targets/consent"
	"github.com/targetgate/targetgate/targets/fixture"
	"github.com/targetgate/targetgate/targets/ownership"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

var (
	protected = map[string]string{ownership.ProtectLabel: ownership.Enabled}
	both      = map[string]string{ownership.ProtectLabel: ownership.Enabled, ownership.RegisterLabel: ownership.Enabled}
)

const openedEarly = "True TargetHealthy"

// inBedEarly is inBedBeside, in which gates are opened early, and the incumbent has registered pod web-0.
func inBedEarly(t *testing.T, labels map[string]string, test func(b *bed)) {
	t.Helper()
	pod := newPod("web-0", "10.0.0.1")
	inBedBeside(t, labels, func(b *bed) {
		b.OpenIncumbentGates, b.beside.Early.Wanted = true, true
		b.aws.SetHealth(testARN, one, elbv2.Health{State: elbv2.StateInitial})
		b.incumbentSays("web-0", corev1.ConditionFalse, elbv2.ReasonRegistrationInProgress)
		test(b)
		if n := len(b.aws.Calls("RegisterTargets")) + len(b.aws.Calls("DeregisterTargets")); n > 0 {
			t.Errorf("%d registrations and deregistrations, want none", n)
		}
	}, pod, newSlice("web-1", pod))
}

// incumbentSays has the incumbent write the condition of a pod's gate.
func (b *bed) incumbentSays(name string, status corev1.ConditionStatus, reason string) {
	b.t.Helper()
	var pod corev1.Pod
	b.must(b.cluster.Get(b.t.Context(), podKey(name), &pod))
	conditions := pod.Status.Conditions[:0]
	for _, c := range pod.Status.Conditions {
		if c.Type != testGate {
			conditions = append(conditions, c)
		}
	}
	pod.Status.Conditions = append(conditions, corev1.PodCondition{
		Type: testGate, Status: status, Reason: reason, LastTransitionTime: metav1.Now(),
	})
	b.must(b.cluster.Status().Update(b.t.Context(), &pod))
}

func (b *bed) readings() int { return len(b.aws.Calls("DescribeTargetHealth")) }

func TestEarlyOpensGateWhenItsTargetIsHealthy(t *testing.T) {
	inBedEarly(t, protected, func(b *bed) {
		before := b.binding()
		var writes []string
		b.countWrites(func(what string) error { writes = append(writes, what); return nil })
		b.run(20*time.Second, webKey)
		if got := b.condition("web-0"); got != "False Elb.RegistrationInProgress" {
			t.Fatalf("the condition of a target that is not healthy is %q", got)
		}
		if n := b.readings(); n < 10 || n > 22 {
			t.Errorf("%d readings in 20 s, want about one a second", n)
		}
		b.aws.SetHealth(testARN, one, healthy)
		b.run(2 * time.Second)
		if got := b.condition("web-0"); got != openedEarly {
			t.Errorf("the condition is %q, want %q", got, openedEarly)
		}
		if n := b.told("ReadinessGateOpened"); n != 1 {
			t.Errorf("the pod is told %d times, want once", n)
		}
		n := b.readings()
		b.run(time.Hour, webKey)
		if more := b.readings() - n; more > 0 {
			t.Errorf("%d readings while no pod waits, want none", more)
		}
		if diff := cmp.Diff(before, b.binding()); diff != "" || len(writes) > 0 || b.bindings.find(webKey) != nil {
			t.Errorf("writes %q, and the binding changes (-before +after):\n%s", writes, diff)
		}
	})
}

// The incumbent may say that it has registered a pod before AWS shows the target.
func TestEarlyReadsGroupUntilTheTargetIsThere(t *testing.T) {
	inBedEarly(t, protected, func(b *bed) {
		b.aws.Forget(testARN, one)
		b.aws.SetHealth(testARN, two, healthy)
		b.aws.SetHealth(testARN, fixture.Three, healthy)
		b.run(10*time.Second, webKey)
		if n := b.readings(); n < 5 || n > 12 {
			t.Errorf("%d readings in 10 s, want about one a second", n)
		}
		b.aws.SetHealth(testARN, one, healthy)
		b.run(2 * time.Second)
		if got := b.condition("web-0"); got != openedEarly {
			t.Errorf("the condition is %q, want %q", got, openedEarly)
		}
	})
}

func TestEarlyLeavesOtherGatesAlone(t *testing.T) {
	tests := map[string]struct {
		labels map[string]string
		change func(*bed)
	}{
		"nobody asks for it":             {labels: protected, change: func(b *bed) { b.beside.Early.Wanted = false }},
		"the namespace is not protected": {},
		"the incumbent says nothing":     {labels: protected, change: func(b *bed) { b.incumbentSays("web-0", corev1.ConditionFalse, "Elb.InitialHealthChecking") }},
		"the gate is open":               {labels: protected, change: func(b *bed) { b.incumbentSays("web-0", corev1.ConditionTrue, "") }},
		"the pod has no gate":            {labels: protected, change: func(b *bed) { b.ungate("web-0") }},
		"the binding is being deleted":   {labels: protected, change: func(b *bed) { b.must(b.cluster.Delete(b.t.Context(), b.binding())) }},
		"the binding is of nodes": {labels: protected, change: func(b *bed) {
			b.changeSpec(func(s *v1beta1.TargetGroupBindingSpec) { s.TargetType = ptr.To(v1beta1.TargetTypeInstance) })
		}},
		"the binding names no target group": {labels: protected, change: func(b *bed) { b.changeSpec(func(s *v1beta1.TargetGroupBindingSpec) { s.TargetGroupARN = "" }) }},
		"targetgate is to register, and cannot": {labels: both, change: func(b *bed) {
			b.changeSpec(func(s *v1beta1.TargetGroupBindingSpec) { s.TargetGroupProtocol = ptr.To(v1beta1.Protocol("QUIC")) })
		}},
		"no EndpointSlice lists the pod":      {labels: protected, change: func(b *bed) { b.must(b.cluster.Delete(b.t.Context(), newSlice("web-1"))) }},
		"the binding is not complete":         {labels: protected, change: func(b *bed) { b.changeSpec(func(s *v1beta1.TargetGroupBindingSpec) { s.TargetType = nil }) }},
		"the namespace may not have the role": {labels: protected, change: forbidRole},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			inBedEarly(t, tc.labels, func(b *bed) {
				if tc.change != nil {
					tc.change(b)
				}
				b.aws.SetHealth(testARN, one, healthy)
				before := b.condition("web-0")
				b.run(time.Minute, webKey)
				if got := b.condition("web-0"); got != before || len(b.aws.Calls("")) > 0 {
					t.Errorf("the condition becomes %q, before %q, with %d calls to AWS", got, before, len(b.aws.Calls("")))
				}
			})
		})
	}
}

func forbidRole(b *bed) {
	b.changeSpec(func(s *v1beta1.TargetGroupBindingSpec) { s.IamRoleArnToAssume = "arn:aws:iam::123456789012:role/other" })
	b.Consent.Roles = func() *consent.Roles { return &consent.Roles{} }
	b.beside.Early.Consent = b.Consent
}

func (b *bed) ungate(name string) {
	var pod corev1.Pod
	b.must(b.cluster.Get(b.t.Context(), podKey(name), &pod))
	pod.Spec.ReadinessGates = nil
	b.must(b.cluster.Update(b.t.Context(), &pod))
}

// The incumbent writes what it has read before us.
func TestEarlyAnswersAnOlderReading(t *testing.T) {
	inBedEarly(t, protected, func(b *bed) {
		b.aws.SetHealth(testARN, one, healthy)
		b.run(3*time.Second, webKey)
		for _, reason := range []string{"Elb.InitialHealthChecking", elbv2.ReasonRegistrationInProgress, "Elb.InitialHealthChecking"} {
			b.incumbentSays("web-0", corev1.ConditionFalse, reason)
			n := b.readings()
			b.run(2*time.Second, webKey)
			if got := b.condition("web-0"); got != openedEarly || b.readings() > n+2 { // the first begins when the condition is seen, to the nanosecond
				t.Errorf("2 s after %s the condition is %q and %d readings were made, want it open by two at most", reason, got, b.readings()-n)
			}
		}
	})
}

func TestEarlyLeavesAGateClosedThatTheIncumbentClosedRightly(t *testing.T) {
	inBedEarly(t, protected, func(b *bed) {
		b.aws.SetHealth(testARN, one, healthy)
		b.run(3*time.Second, webKey)
		b.aws.SetHealth(testARN, one, elbv2.Health{State: elbv2.StateUnhealthy, Reason: "Target.Timeout"})
		b.incumbentSays("web-0", corev1.ConditionFalse, "Target.Timeout")
		b.run(conditions.CacheLag+time.Minute, webKey)
		if got := b.condition("web-0"); got != "False Target.Timeout" {
			t.Errorf("the condition is %q, want it as the incumbent wrote it", got)
		}
		b.aws.SetHealth(testARN, one, healthy)
		b.run(15 * time.Second)
		if got := b.condition("web-0"); got != openedEarly {
			t.Errorf("the condition is %q, want %q", got, openedEarly)
		}
	})
}

func TestEarlyEndsWithTheLabel(t *testing.T) {
	for name, labels := range map[string]map[string]string{"without a label": nil, "with the label register, too": both} {
		t.Run(name, func(t *testing.T) {
			inBedEarly(t, protected, func(b *bed) {
				b.run(5*time.Second, webKey)
				b.label(labels)
				n := b.readings()
				b.aws.SetHealth(testARN, one, healthy)
				b.run(beside.FenceDelay-time.Second, webKey)
				if got := b.condition("web-0"); got != "False Elb.RegistrationInProgress" || b.readings() > n {
					t.Errorf("the condition is %q after %d readings, want none", got, b.readings()-n)
				}
				b.run(2*time.Second, webKey)
				if b.beside.Early.Reads(webKey) {
					t.Error("the binding is remembered")
				}
			})
		})
	}
}

func TestEarlyForgetsABindingThatIsGone(t *testing.T) {
	inBedEarly(t, protected, func(b *bed) {
		b.run(5*time.Second, webKey)
		b.update(func(binding *v1beta1.TargetGroupBinding) { binding.Finalizers = nil })
		b.must(b.cluster.Delete(b.t.Context(), b.binding()))
		b.run(5*time.Second, webKey)
		if b.beside.Early.Reads(webKey) {
			t.Error("the binding is remembered")
		}
	})
}

// The incumbent's word that a pod is registered wakes the binding, but not where nobody waits for that.
func TestRegistrationShownWakesBinding(t *testing.T) {
	for name, wanted := range map[string]bool{"gates are opened early": true, "they are not": false} {
		t.Run(name, func(t *testing.T) {
			inBedEarly(t, protected, func(b *bed) {
				b.OpenIncumbentGates = wanted
				before := newPod("web-0", "10.0.0.1")
				var after corev1.Pod
				b.must(b.cluster.Get(t.Context(), client.ObjectKeyFromObject(before), &after))
				if got := b.watcher().podChanged(before, &after); got != wanted {
					t.Errorf("let through: %t, want %t", got, wanted)
				}
			})
		})
	}
}
