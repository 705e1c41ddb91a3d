// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package rollouts

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// putBack is how soon what others change of what targetgate wrote is back, here: the promise is a minute.
const putBack = 5 * time.Second

// within fails the test unless check returns nil before the time is over.
func within(t *testing.T, d time.Duration, what string, check func() error) {
	t.Helper()
	begun := time.Now()
	for err := check(); err != nil; err = check() {
		if time.Since(begun) > d {
			t.Fatalf("%s: after %s: %v", what, d, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Logf("%s: back after %s", what, time.Since(begun).Round(10*time.Millisecond))
}

// A writer of the whole status of a pod, such as a syncer between clusters, takes our condition away or changes it: right after our own
// write, and long after it.
func TestGateConditionThatSomebodyElseChangesComesBack(t *testing.T) {
	ways := map[string]func(*corev1.Pod, int){
		"removed": func(pod *corev1.Pod, at int) { pod.Status.Conditions = slices.Delete(pod.Status.Conditions, at, at+1) },
		"false":   func(pod *corev1.Pod, at int) { pod.Status.Conditions[at].Status = corev1.ConditionFalse },
		"unknown": func(pod *corev1.Pod, at int) { pod.Status.Conditions[at].Status = corev1.ConditionUnknown },
		"reworded": func(pod *corev1.Pod, at int) {
			pod.Status.Conditions[at].Reason, pod.Status.Conditions[at].Message = "Synced", "by another cluster"
		},
	}
	for _, way := range slices.Sorted(maps.Keys(ways)) {
		for when, after := range map[string]time.Duration{"soon": 2 * time.Second, "late": 20 * time.Second} {
			t.Run(way+" "+when, func(t *testing.T) {
				t.Parallel()
				app := suite.NewApp("lost-" + way + "-" + when)
				app.Replicas = 1
				bed.Deploy(t, app)
				var pod corev1.Pod
				suite.Eventually(t, "the gate to open", func() error {
					list := bed.Pods(t, app)
					if len(list) == 0 || suite.GateOf(&list[0], app) != corev1.ConditionTrue {
						return fmt.Errorf("not yet")
					}
					pod = list[0]
					return nil
				})
				time.Sleep(after)
				find := func(c corev1.PodCondition) bool { return c.Type == app.Gate() }
				suite.Must(t, bed.Client.Get(t.Context(), client.ObjectKeyFromObject(&pod), &pod))
				ours := pod.Status.Conditions[slices.IndexFunc(pod.Status.Conditions, find)]
				suite.Eventually(t, "the update", func() error {
					var fresh corev1.Pod
					if err := bed.Client.Get(t.Context(), client.ObjectKeyFromObject(&pod), &fresh); err != nil {
						return err
					}
					ways[way](&fresh, slices.IndexFunc(fresh.Status.Conditions, find))
					return bed.Client.Status().Update(t.Context(), &fresh)
				})
				within(t, putBack, way, func() error {
					if err := bed.Client.Get(t.Context(), client.ObjectKeyFromObject(&pod), &pod); err != nil {
						return err
					}
					at := slices.IndexFunc(pod.Status.Conditions, find)
					if at < 0 {
						return fmt.Errorf("the condition is missing")
					}
					got := pod.Status.Conditions[at]
					if got.Status != ours.Status || got.Reason != ours.Reason || got.Message != ours.Message {
						return fmt.Errorf("the condition is %+v, want %+v", got, ours)
					}
					return nil
				})
				suite.Eventually(t, "the event", func() error { return bed.WantEvent(t, app, pod.Name, corev1.EventTypeWarning, "Overwritten") })
			})
		}
	}
}

// A tool that replaces objects puts the manifest in the place of the binding: no finalizer, no status of ours, and what else it may change.
func TestBindingThatSomebodyElseChangesComesBack(t *testing.T) {
	for way, change := range map[string]func(*v1beta1.TargetGroupBindingStatus){
		"wiped": func(s *v1beta1.TargetGroupBindingStatus) { *s = v1beta1.TargetGroupBindingStatus{} },
		"no-ready": func(s *v1beta1.TargetGroupBindingStatus) {
			apimeta.RemoveStatusCondition(&s.Conditions, v1beta1.ConditionReady)
		},
		"not-ready":            func(s *v1beta1.TargetGroupBindingStatus) { s.Conditions[0].Status = metav1.ConditionUnknown },
		"reason":               func(s *v1beta1.TargetGroupBindingStatus) { s.Conditions[0].Reason = "Another" },
		"message":              func(s *v1beta1.TargetGroupBindingStatus) { s.Conditions[1].Message = "says so" },
		"time":                 func(s *v1beta1.TargetGroupBindingStatus) { s.Conditions[1].LastTransitionTime = metav1.Unix(1e9, 0) },
		"generation":           func(s *v1beta1.TargetGroupBindingStatus) { s.ObservedGeneration = ptr.To(int64(7)) },
		"condition-generation": func(s *v1beta1.TargetGroupBindingStatus) { s.Conditions[0].ObservedGeneration = 7 },
		"targets":              func(s *v1beta1.TargetGroupBindingStatus) { s.Targets.Registered = 77 },
		"no-targets":           func(s *v1beta1.TargetGroupBindingStatus) { s.Targets = nil },
		"pods":                 func(s *v1beta1.TargetGroupBindingStatus) { s.Pods.Gated = 77 },
		"no-pods":              func(s *v1beta1.TargetGroupBindingStatus) { s.Pods = nil },
		"no-target-group":      func(s *v1beta1.TargetGroupBindingStatus) { s.TargetGroup = nil },
	} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			app := suite.NewApp("over-" + way)
			app.Replicas = 1
			bed.Deploy(t, app)
			bed.AwaitRolled(t, app)
			bed.AwaitConverged(t, app)
			bed.AwaitSettled(t, app)
			var ours *v1beta1.TargetGroupBinding
			suite.Eventually(t, "a status that stays", func() error {
				before := bed.GetBinding(t, app)
				time.Sleep(3 * time.Second)
				if ours = bed.GetBinding(t, app); ours.ResourceVersion != before.ResourceVersion || ours.Status.TargetGroup == nil {
					return fmt.Errorf("it changes")
				}
				return nil
			})
			suite.Change(t, bed, ours.DeepCopy(), func(b *v1beta1.TargetGroupBinding) { b.Finalizers = nil })
			within(t, putBack, "the finalizer", func() error {
				if b := bed.GetBinding(t, app); len(b.Finalizers) == 0 {
					return fmt.Errorf("it is missing")
				}
				return nil
			})
			theirs := bed.GetBinding(t, app)
			change(&theirs.Status)
			suite.Must(t, bed.Client.Status().Update(t.Context(), theirs))
			within(t, putBack, "the status", func() error {
				if now := bed.GetBinding(t, app); !equality.Semantic.DeepEqual(now.Status, ours.Status) {
					return fmt.Errorf("it is %+v, want %+v", now.Status, ours.Status)
				}
				return nil
			})
		})
	}
}

// The finalizer is back before anybody can delete the binding without it.
func TestBindingThatIsReplacedAndThenDeletedLeavesNoTargets(t *testing.T) {
	t.Parallel()
	app := suite.NewApp("replaced-then-deleted")
	bed.Deploy(t, app)
	bed.AwaitRolled(t, app)
	bed.AwaitConverged(t, app)
	b := bed.GetBinding(t, app)
	b.Finalizers = nil // the same manifest, put
	suite.Must(t, bed.Client.Update(t.Context(), b))
	within(t, putBack, "the finalizer", func() error {
		if b = bed.GetBinding(t, app); len(b.Finalizers) == 0 {
			return fmt.Errorf("it is missing")
		}
		return nil
	})
	suite.Must(t, bed.Client.Delete(t.Context(), b))
	suite.Eventually(t, "all targets to be deregistered", func() error {
		if left := bed.RegisteredTargets(t, app); len(left) > 0 {
			return fmt.Errorf("%v are registered", left)
		}
		return nil
	})
}
