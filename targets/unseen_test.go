// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/plan"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// A slice may list a pod for ever that is gone: nobody writes the slices of a Service without a selector, or kube-controller-manager is
// down. The next pod that gets the address may be anybody's.
func TestTargetOfAPodThatDoesNotExistGoes(t *testing.T) {
	for name, anonymous := range map[string]bool{"by its UID": false, "by its name alone": true} {
		t.Run(name, func(t *testing.T) {
			slice := newSlice("web-1", newPod("web-0", "10.0.0.1"))
			if anonymous {
				slice.Endpoints[0].TargetRef.UID = ""
			}
			inBed(t, func(b *bed) {
				service := newService()
				service.Spec.Selector = nil
				b.must(b.cluster.Update(t.Context(), service))
				b.aws.SetHealth(testARN, one, healthy)
				b.settle()
				b.after(4 * time.Minute)
				b.after(plan.PollUnsettled)
				if got := b.targets()[one.String()]; got != elbv2.StateHealthy {
					b.t.Fatalf("the target is %q, want it to wait for a cache that is late", got)
				}
				b.after(2 * testDrift)
				b.after(plan.PollUnsettled)
				if got := b.targets()[one.String()]; got != elbv2.StateDraining {
					t.Errorf("the target is %q, want it to drain", got)
				}
				b.aws.Forget(testARN, one)
				b.after(2 * testDrift)
				if c := b.degraded(); c.Reason != v1beta1.ReasonEndpointSkipped || !strings.Contains(c.Message, "there is no pod web-0") {
					t.Errorf("condition Degraded says %s: %s", c.Reason, c.Message)
				}
				if told := b.told("ForeignTarget"); told != 0 {
					t.Errorf("told %d times of somebody else's target, want none: it was a pod's", told)
				}
			}, slice)
		})
	}
}

// Rule 10: a pod that is in a slice but not in the cache yet keeps its target.
func TestTargetOfAPodThatIsSeenLateStays(t *testing.T) {
	pod := newPod("web-0", "10.0.0.1")
	pod.Spec.ReadinessGates = nil
	inBed(t, func(b *bed) {
		b.aws.SetHealth(testARN, one, healthy)
		b.DriftInterval = time.Hour
		b.settle()
		if result := b.after(time.Minute); result.RequeueAfter != 4*time.Minute {
			t.Errorf("the next look is in %s, want it when the pod would count as gone", result.RequeueAfter)
		}
		b.after(4*time.Minute - time.Second)
		b.must(b.cluster.Create(t.Context(), pod))
		b.settle()
		b.after(2 * testDrift)
		b.after(plan.PollUnsettled)
		if calls := b.aws.Calls("DeregisterTargets"); len(calls) > 0 || b.targets()[one.String()] != elbv2.StateHealthy {
			t.Errorf("targets %v, deregistrations %v; want none", b.targets(), calls)
		}
		if c := b.degraded(); c.Reason != v1beta1.ReasonHealthy {
			t.Errorf("condition Degraded says %s: %s", c.Reason, c.Message)
		}
	}, newSlice("web-1", pod.DeepCopy()))
}

// Rule 6 is about pods that exist.
func TestPodsThatDoNotExistKeepNoUnreadyOneInTheGroup(t *testing.T) {
	a, c, ghost := newPod("web-0", "10.0.0.1"), newPod("web-1", "10.0.0.2"), newPod("ghost", "10.0.0.3")
	inBed(t, func(b *bed) {
		b.settle()
		b.aws.SetHealth(testARN, one, healthy)
		b.aws.SetHealth(testARN, two, healthy)
		b.after(2 * testDrift) // since then the ghosts do not count
		b.setContainersReady("web-1", corev1.ConditionFalse)
		b.after(plan.UnreadyPause)
		b.after(time.Second)
		if got := b.targets()[two.String()]; got != elbv2.StateDraining {
			t.Errorf("the unready pod's target is %q, want it to drain", got)
		}
	}, a, c, newSlice("web-1", a, c), newSlice("ghosts", ghost, newPod("ghost-1", "10.0.0.4")))
}
