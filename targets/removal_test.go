// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"fmt"
	"testing"
	"time"

	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/elbv2"
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
		b.after(unreadyPause - time.Second)
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
		if result.RequeueAfter > unreadyPause {
			t.Errorf("next look in %s, want it when the pause is over", result.RequeueAfter)
		}
		b.after(unreadyPause)
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
				b.after(settleTime + time.Second)
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
		b.aws.SetHealth(testARN, foreign, healthy)
		b.after(testDrift)
		b.after(pollUnsettled)
		b.after(pollUnsettled)
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

// Addresses outside the group's subnets need a zone, those inside must not name one. AWS says which is which, and what it
// said of one holds for its neighbours until it says otherwise.
func TestRegistrarLearnsZonesFromAWS(t *testing.T) {
	inBed(t, func(b *bed) {
		b.aws.Refuse = func(target elbv2.Target, zone string) error {
			inside := target.ID == "10.0.1.2"
			switch {
			case inside && zone != "":
				return validationError("The IP address '%s' is within the VPC, and cannot have its Availability Zone overridden to 'all' from 'eu-west-1a'", target.ID)
			case !inside && zone != elbv2.ZoneAll:
				return validationError("The Availability Zone is required for IP address '%s' because it is not in the VPC", target.ID)
			}
			return nil
		}
		b.settle()
		if n := len(b.aws.Targets(testARN)); n != 20 {
			t.Errorf("%d targets, want 20", n)
		}
		if n := len(b.aws.Calls("RegisterTargets")); n > 3 {
			t.Errorf("%d calls, want one for each thing to learn, and one", n)
		}
		b.must(b.cluster.Delete(t.Context(), newPod("web-000", "10.0.1.1")))
		b.settle()
		want := map[string]string{"10.0.1.1:8080": "all"}
		if diff := cmp.Diff(want, b.aws.Calls("DeregisterTargets")[0].Zones); diff != "" {
			t.Errorf("zones of the deregistration (-want +got):\n%s", diff)
		}
	}, manyPods(20)...)
}

// Where cross-zone load balancing is off AWS wants the zone of the node.
func TestRegistrarNamesZoneOfNode(t *testing.T) {
	pod := newPod("web-0", "10.0.0.1")
	slice := newSlice("web-1", pod)
	slice.Endpoints[0].Zone = ptr.To("eu-west-1b")
	inBed(t, func(b *bed) {
		b.aws.Refuse = func(target elbv2.Target, zone string) error {
			if zone == "eu-west-1b" {
				return nil
			}
			return validationError("When cross-zone load balancing is disabled on this target group, "+
				"you must specify an Availability Zone for IP target '%s' since it is outside of the VPC", target.ID)
		}
		b.settle()
		if n := len(b.aws.Targets(testARN)); n != 1 {
			t.Errorf("%d targets, want 1", n)
		}
	}, pod, slice)
}

// An AWS that contradicts itself is not asked for ever.
func TestZonesAreLearntOnce(t *testing.T) {
	z := newZones()
	if !z.learn("10.0.0.1", "all") || z.of("10.0.0.1") != "all" || z.of("10.0.0.2") != "all" || z.of("10.0.1.1") != "" {
		t.Errorf("after one lesson: %+v", z)
	}
	if z.learn("10.0.0.1", "") {
		t.Error("the contrary of what was said before is news")
	}
	if !z.learn("10.0.0.2", "") || z.of("10.0.0.1") != "all" || z.of("10.0.0.2") != "" || z.of("10.0.0.3") != "all" {
		t.Errorf("after a second lesson: %+v", z)
	}
}

func validationError(format string, args ...any) error {
	return &smithy.GenericAPIError{Code: "ValidationError", Message: fmt.Sprintf(format, args...)}
}
