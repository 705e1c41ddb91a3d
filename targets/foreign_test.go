// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/smithy-go"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/targetgate/targetgate/aws/elbv2"
	fakeelbv2 "github.com/targetgate/targetgate/aws/elbv2/fake"
	"github.com/targetgate/targetgate/targets/consent"
	"github.com/targetgate/targetgate/targets/plan"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

var (
	unhealthy = elbv2.Health{State: elbv2.StateUnhealthy}
	unused    = elbv2.Health{State: elbv2.StateUnused, Reason: elbv2.ReasonNotInUse}
)

// wait lets so much time pass that everything about unexplained targets is decided: passes, readings, and what they wake.
func (b *bed) wait() {
	b.t.Helper()
	for range 12 {
		b.after(plan.PollUnsettled)
	}
}

// wantForeign holds the condition ForeignTargets against its reason, empty for none, and how many targets it counts.
func wantForeign(b *bed, reason string, count int) {
	b.t.Helper()
	c := apimeta.FindStatusCondition(b.binding().Status.Conditions, v1beta1.ConditionForeignTargets)
	switch {
	case reason == "" && c == nil:
	case c == nil:
		b.t.Errorf("no condition ForeignTargets, want reason %s", reason)
	case c.Reason != reason || c.Status != metav1.ConditionTrue || !strings.HasPrefix(c.Message, fmt.Sprintf("%d target", count)):
		b.t.Errorf("condition ForeignTargets is %s, %s: %s; want %s of %d", c.Status, c.Reason, c.Message, reason, count)
	}
}

// wantStays holds that the target has not been deregistered, and wantGoes that it has.
func wantStays(b *bed, target elbv2.Target) {
	b.t.Helper()
	if b.wasDeregistered(target) {
		b.t.Errorf("%s was deregistered, want it to stay", target)
	}
}

func wantGoes(b *bed, target elbv2.Target) {
	b.t.Helper()
	if !b.wasDeregistered(target) {
		b.t.Errorf("%s is %q and was not deregistered, want it to go", target, b.targets()[target.String()])
	}
}

func (b *bed) wasDeregistered(target elbv2.Target) bool {
	return slices.ContainsFunc(b.aws.Calls("DeregisterTargets"), func(c fakeelbv2.Call) bool { return slices.Contains(c.Targets, target.String()) })
}

// Rule 38: what was in the group before the binding stays, whatever its health, over a restart at any moment, and when the binding goes.
func TestTargetsFromBeforeTheBindingStay(t *testing.T) {
	for name, health := range map[string]elbv2.Health{"healthy": healthy, "unhealthy": unhealthy, "of an unattached group": unused} {
		for moment := range 8 {
			t.Run(fmt.Sprintf("%s, restart after %d s", name, 2*moment), func(t *testing.T) {
				pod := newPod("web-0", "10.0.0.1")
				inBed(t, func(b *bed) {
					b.aws.SetHealth(testARN, foreign, health)
					b.settle()
					for range moment {
						b.after(2 * time.Second)
					}
					b.begin(t.Context())
					b.wait()
					wantStays(b, foreign)
					wantForeign(b, v1beta1.ReasonRegisteredBefore, 1)
					if n := b.told(v1beta1.ConditionForeignTargets); n != 1 {
						t.Errorf("told %d times, want once", n)
					}
					b.must(b.cluster.Delete(t.Context(), b.binding()))
					b.wait()
					wantStays(b, foreign)
					wantGoes(b, one)
					if n := b.told(v1beta1.ConditionForeignTargets); n != 1 {
						t.Errorf("told %d times of what the binding leaves, want once", n)
					}
				}, pod, newSlice("web-1", pod))
			})
		}
	}
}

// A backup restores what it has of the first cluster's binding: its finalizer, and with some tools its status.
func TestRestoredBindingIsANewOne(t *testing.T) {
	now := metav1.NewTime(noon)
	restored := map[string]func(*v1beta1.TargetGroupBinding){
		"the finalizer": func(b *v1beta1.TargetGroupBinding) { b.Finalizers = []string{v1beta1.Finalizer} },
		"a status": func(b *v1beta1.TargetGroupBinding) {
			b.Status.ObservedGeneration = ptr.To[int64](3)
			b.Status.ForeignTargets = &v1beta1.ForeignTargets{BindingUID: "another", Complete: true}
		},
		"an older targetgate's status": func(b *v1beta1.TargetGroupBinding) {
			b.Status.ObservedGeneration = ptr.To[int64](3)
			b.Status.Conditions = []metav1.Condition{{Type: v1beta1.ConditionReady, Status: metav1.ConditionTrue, LastTransitionTime: now}}
		},
		"the incumbent's": func(b *v1beta1.TargetGroupBinding) {
			b.Finalizers, b.Status.ObservedGeneration = []string{v1beta1.Finalizer}, ptr.To[int64](1)
			b.Annotations = map[string]string{v1beta1.CheckpointAnnotation: "x", v1beta1.CheckpointTimestampAnnotation: fmt.Sprint(noon.Unix())}
		},
	}
	for name, change := range restored {
		t.Run(name, func(t *testing.T) {
			inBed(t, func(b *bed) {
				b.must(b.cluster.Delete(t.Context(), b.binding()))
				binding := newBinding()
				change(binding)
				status := binding.Status
				binding.CreationTimestamp = metav1.NewTime(noon.Add(time.Hour))
				b.must(b.cluster.Create(t.Context(), binding))
				binding.Status = status
				b.must(b.cluster.Status().Update(t.Context(), binding))
				b.aws.SetHealth(testARN, foreign, unhealthy)
				b.wait()
				wantStays(b, foreign)
				wantForeign(b, v1beta1.ReasonRegisteredBefore, 1)
			})
		})
	}
}

// What an earlier process, or the incumbent, has left of a pod that has ended goes; what serves stays, as it may be another cluster's.
func TestLeftoversAreToldByTheirHealth(t *testing.T) {
	for name, tc := range map[string]struct {
		health elbv2.Health
		goes   bool
		reason string
	}{
		"dead":  {health: unhealthy, goes: true},
		"alive": {health: healthy, reason: v1beta1.ReasonOtherOwner},
		"nobody looks, as the group is attached to no load balancer": {health: unused},
	} {
		t.Run(name, func(t *testing.T) {
			inBed(t, func(b *bed) {
				b.workedForBefore()
				b.aws.SetHealth(testARN, foreign, tc.health)
				b.wait()
				if tc.goes {
					wantGoes(b, foreign)
				} else {
					wantStays(b, foreign)
				}
				wantForeign(b, tc.reason, 1)
			})
		})
	}
}

// What ran in this cluster is this cluster's, whoever says what.
func TestTargetsOfThisClusterGo(t *testing.T) {
	inBed(t, func(b *bed) {
		b.aws.SetTags(testARN, map[string]string{"elbv2.k8s.aws/cluster": "other"})
		elsewhere := newPod("api-0", "10.0.0.2")
		elsewhere.Namespace = "till"
		b.must(b.cluster.Create(t.Context(), elsewhere))
		node := newNode("n1", "i-0123456789abcdef1", corev1.ConditionTrue)
		node.Spec.PodCIDRs = []string{"10.0.3.0/24"}
		b.must(b.cluster.Create(t.Context(), node))
		ranged := elbv2.Target{ID: "10.0.3.9", Port: 8080}
		b.aws.SetHealth(testARN, two, healthy)
		b.aws.SetHealth(testARN, ranged, healthy)
		b.wait()
		wantGoes(b, two)
		wantGoes(b, ranged)
		wantForeign(b, "", 0)
	})
}

// The tags, and the network, say whose targets are, also where an earlier version has worked on the binding before.
func TestWhatSaysThatTargetsAreAnothers(t *testing.T) {
	abroad := unhealthy
	abroad.Zone = elbv2.ZoneAll
	for name, tc := range map[string]struct {
		tags   map[string]string
		health elbv2.Health
		reason string // empty when it goes
	}{
		"made by another cluster":      {tags: map[string]string{"elbv2.k8s.aws/cluster": "other"}, health: unhealthy, reason: v1beta1.ReasonOtherCluster},
		"the incumbent's first tags":   {tags: map[string]string{"ingress.k8s.aws/cluster": "other"}, health: unhealthy, reason: v1beta1.ReasonOtherCluster},
		"another cluster may bind it":  {tags: map[string]string{consent.TagKey: "other/shop"}, health: unhealthy, reason: v1beta1.ReasonOtherCluster},
		"both may":                     {tags: map[string]string{consent.TagKey: "other/shop prod/shop"}, health: unhealthy},
		"made by this cluster":         {tags: map[string]string{"elbv2.k8s.aws/cluster": "prod"}, health: unhealthy},
		"another namespace may":        {tags: map[string]string{consent.TagKey: "prod/till"}, health: unhealthy},
		"nobody says, outside the VPC": {health: abroad, reason: v1beta1.ReasonOtherNetwork},
		"nobody says":                  {health: unhealthy},
	} {
		t.Run(name, func(t *testing.T) {
			pod := newPod("web-0", "10.0.0.1")
			inBed(t, func(b *bed) {
				b.calls.Consent.Cluster = "prod"
				b.workedForBefore()
				b.aws.SetHealth(testARN, one, elbv2.Health{State: elbv2.StateHealthy, Zone: "eu-west-1a"})
				b.aws.SetTags(testARN, tc.tags)
				b.aws.SetHealth(testARN, foreign, tc.health)
				b.wait()
				if tc.reason == "" {
					wantGoes(b, foreign)
				} else {
					wantStays(b, foreign)
				}
				wantForeign(b, tc.reason, 1)
			}, pod, newSlice("web-1", pod))
		})
	}
}

// Rule 38: somebody else who registers targets beside us is not fought.
func TestSomebodyElsesTargetsAreNotFought(t *testing.T) {
	inBed(t, func(b *bed) {
		b.settle()
		b.wait()
		b.aws.SetHealth(testARN, foreign, elbv2.Health{State: elbv2.StateInitial})
		b.after(testDrift)
		b.wait()
		wantForeign(b, "", 0) // nobody knows yet
		b.aws.SetHealth(testARN, foreign, healthy)
		b.wait()
		wantForeign(b, v1beta1.ReasonOtherOwner, 1)
		b.aws.SetHealth(testARN, foreign, unhealthy)
		b.aws.SetHealth(testARN, two, unhealthy) // a rollout of theirs that fails
		b.after(testDrift)
		b.wait()
		b.begin(t.Context())
		b.wait()
		wantForeign(b, v1beta1.ReasonOtherOwner, 2)
		wantStays(b, foreign)
		wantStays(b, two)
		for range 3 {
			b.after(testDrift)
		}
		health, tags := len(b.aws.Calls("DescribeTargetHealth")), len(b.aws.Calls("DescribeTags"))
		for range 3 {
			b.after(testDrift)
		}
		if health, tags = len(b.aws.Calls("DescribeTargetHealth"))-health, len(b.aws.Calls("DescribeTags"))-tags; health > 3 || tags > 0 {
			t.Errorf("%d readings of health and %d of tags while nothing happens, want those for drift", health, tags)
		}
		b.aws.Forget(testARN, foreign)
		b.aws.Forget(testARN, two)
		for range 3 {
			b.after(testDrift)
		}
		wantForeign(b, "", 0)
	})
}

// Somebody's targets that fail their checks are taken for nobody's once.
func TestWhatComesBackIsSomebodys(t *testing.T) {
	inBed(t, func(b *bed) {
		b.settle()
		b.wait()
		for range 3 {
			b.aws.SetHealth(testARN, foreign, unhealthy)
			b.after(testDrift)
			b.wait()
		}
		if n := len(b.aws.Calls("DeregisterTargets")); n != 1 {
			t.Errorf("deregistered %d times, want once", n)
		}
		wantForeign(b, v1beta1.ReasonOtherOwner, 1)
	})
}

// A binding that no longer shares its group knows by its record what is its own: what is not in it is the others'.
func TestTargetsOfAGroupThatIsNoLongerSharedStay(t *testing.T) {
	for name, down := range map[string]bool{"while targetgate runs": false, "while it is down": true} {
		t.Run(name, func(t *testing.T) {
			pod := newPod("web-0", "10.0.0.1")
			inBed(t, func(b *bed) {
				b.changeSpec(func(s *v1beta1.TargetGroupBindingSpec) { s.MultiClusterTargetGroup = true })
				b.aws.SetHealth(testARN, foreign, unhealthy)
				b.settle()
				b.wait()
				wantForeign(b, "", 0)
				if down {
					b.end()
				}
				b.changeSpec(func(s *v1beta1.TargetGroupBindingSpec) { s.MultiClusterTargetGroup = false })
				if down {
					b.begin(t.Context())
				}
				b.settle()
				b.wait()
				wantStays(b, foreign)
				wantForeign(b, v1beta1.ReasonRegisteredBefore, 1)
				wantStays(b, one)
			}, pod, newSlice("web-1", pod))
		})
	}
}

// Whoever may not read tags goes by the rest, and is not told that something is wrong.
func TestTagsThatMayNotBeReadAreNoTrouble(t *testing.T) {
	inBed(t, func(b *bed) {
		var readings atomic.Int32
		b.aws.Before = func(_ context.Context, call fakeelbv2.Call) error {
			if call.Operation == "DescribeTags" {
				readings.Add(1)
				return &smithy.GenericAPIError{Code: "AccessDenied", Message: "not authorized"}
			}
			return nil
		}
		b.workedForBefore()
		b.aws.SetHealth(testARN, foreign, unhealthy)
		b.wait()
		wantGoes(b, foreign)
		if c := b.degraded(); c.Status != metav1.ConditionFalse {
			t.Errorf("condition Degraded is %s: %s", c.Reason, c.Message)
		}
		if n := readings.Load(); n != 1 {
			t.Errorf("%d readings of tags, want one", n)
		}
	})
}

// Where all targets are explained nobody asks for tags.
func TestTagsAreReadOnlyForUnexplainedTargets(t *testing.T) {
	pod := newPod("web-0", "10.0.0.1")
	inBed(t, func(b *bed) {
		b.settle()
		b.aws.SetHealth(testARN, one, healthy)
		b.wait()
		b.after(2 * testDrift)
		if n := len(b.aws.Calls("DescribeTags")); n != 0 {
			t.Errorf("%d readings of tags, want none", n)
		}
	}, pod, newSlice("web-1", pod))
}
