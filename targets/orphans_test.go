// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/conditions"
	"github.com/targetgate/targetgate/targets/endpoints"
)

// strayPod is at the gates of that many bindings, none of which exists.
func strayPod(gates int) *corev1.Pod {
	pod := newPod("stray", "10.0.0.9")
	pod.Labels, pod.Spec.ReadinessGates = nil, nil
	for i := range gates {
		pod.Spec.ReadinessGates = append(pod.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: readiness.GateFor(fmt.Sprint(i))})
	}
	return pod
}

// lookAt runs a pass for each binding of whose gates the pod has one, and for those that are woken by that.
func (b *bed) lookAt(pod *corev1.Pod) {
	b.t.Helper()
	for _, name := range readiness.Bindings(pod) {
		b.queue <- types.NamespacedName{Namespace: pod.Namespace, Name: name}
	}
	for len(b.queue) > 0 {
		if _, err := b.Reconcile(b.t.Context(), ctrl.Request{NamespacedName: <-b.queue}); err != nil {
			b.t.Fatal(err)
		}
	}
	synctest.Wait()
}

// countPatches has the registrar's writes to pods counted, and answered by refuse unless that is nil.
func (b *bed) countPatches(refuse func() error) (patches *int) {
	patches = new(int)
	b.Writer.Client = interceptor.NewClient(b.cluster.(client.WithWatch), interceptor.Funcs{
		SubResourcePatch: func(ctx context.Context, c client.Client, name string, o client.Object, p client.Patch,
			opts ...client.SubResourcePatchOption,
		) error {
			*patches++
			if refuse != nil {
				return refuse()
			}
			return c.SubResource(name).Patch(ctx, o, p, opts...)
		},
	}).Status()
	return patches
}

func TestOrphanedGatesOfPodAreOpenedInOneWrite(t *testing.T) {
	pod := strayPod(readiness.MaxGates)
	inBed(t, func(b *bed) {
		patches := b.countPatches(nil)
		b.lookAt(pod)
		time.Sleep(conditions.CacheLag)
		b.lookAt(pod)
		time.Sleep(debounceInterval)
		synctest.Wait()
		var got corev1.Pod
		b.must(b.cluster.Get(t.Context(), podKey("stray"), &got))
		for _, gate := range got.Spec.ReadinessGates {
			if !readiness.IsOpen(&got, gate.ConditionType) {
				t.Fatalf("gate %s is closed", gate.ConditionType)
			}
		}
		b.lookAt(&got)
		if told := b.told("ReadinessGateOpened"); *patches != 1 || told != 1 {
			t.Errorf("%d writes and %d events, want one of each", *patches, told)
		}
		time.Sleep(conditions.CacheLag)
		b.lookAt(&got)
	}, pod)
}

// A pod may be as large as etcd takes, so that no condition has room in it.
func TestOrphanThatRefusesWritesIsTriedLessAndLess(t *testing.T) {
	pod := strayPod(10)
	inBed(t, func(b *bed) {
		patches := b.countPatches(func() error { return apierrors.NewRequestEntityTooLargeError("limit is 3145728") })
		for range 10 * time.Minute / (5 * time.Second) {
			time.Sleep(5 * time.Second)
			b.lookAt(pod)
		}
		if *patches < 15 || *patches > 40 {
			t.Errorf("%d writes within 10 minutes, want 15 to 40", *patches)
		}
		b.must(b.cluster.Delete(t.Context(), pod))
		b.lookAt(pod)
		time.Sleep(time.Minute)
		synctest.Wait()
	}, pod)
}

// The same of a pod whose binding exists.
func TestPodThatRefusesConditionsIsTriedLessAndLess(t *testing.T) {
	pod := newPod("web-0", "10.0.0.1")
	for name, tc := range map[string]struct {
		err         error
		least, most int
	}{
		"too large":           {apierrors.NewRequestEntityTooLargeError("limit is 3145728"), 15, 40},
		"nobody has answered": {apierrors.NewServiceUnavailable("starting"), 150, 400},
	} {
		t.Run(name, func(t *testing.T) {
			inBed(t, func(b *bed) {
				patches := b.countPatches(func() error { return tc.err })
				for range 10 * time.Minute / (2 * time.Second) {
					b.after(2 * time.Second)
				}
				if *patches < tc.least || *patches > tc.most {
					t.Errorf("%d writes within 10 minutes, want %d to %d", *patches, tc.least, tc.most)
				}
			}, pod, newSlice("web-1", pod))
		})
	}
}

// A pod of too many gates wakes nobody, and its owner is told.
func TestPodOfTooManyGatesIsLeftAlone(t *testing.T) {
	stripped, err := endpoints.StripPod(strayPod(40_000))
	if err != nil {
		t.Fatal(err)
	}
	pod := stripped.(*corev1.Pod)
	inBed(t, func(b *bed) {
		queue := b.watcher().newQueue("left alone", nil).(*debouncedQueue)
		defer queue.ShutDown()
		relabelled := pod.DeepCopy()
		relabelled.Labels = map[string]string{"n": "1"}
		events := b.watcher().podEvents()
		events.Create(t.Context(), event.CreateEvent{Object: pod}, queue)
		events.Update(t.Context(), event.UpdateEvent{ObjectOld: pod, ObjectNew: relabelled}, queue)
		if n := queue.Len(); n > 0 {
			t.Errorf("%d bindings are woken, want none", n)
		}
		if told := b.told("TooManyReadinessGates"); told != 1 {
			t.Errorf("told %d times that the gates stay closed, want once", told)
		}
	})
}
