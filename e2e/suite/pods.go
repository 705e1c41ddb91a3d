// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/e2e/kubelet"
	"github.com/targetgate/targetgate/e2e/testbed"
	"github.com/targetgate/targetgate/readiness"
)

// Pods are the app's pods, terminating ones too.
func (bed *Bed) Pods(t *testing.T, app *testbed.App) []corev1.Pod {
	t.Helper()
	list, err := bed.Bed.Pods(t.Context(), app)
	Must(t, err)
	return list
}

// MomentOf is when the pod came to an event for the first time.
func (bed *Bed) MomentOf(uid types.UID, event kubelet.Event) (time.Time, error) {
	for _, moment := range bed.Kubelet.Moments() {
		if moment.UID == uid && moment.Event == event {
			return moment.At, nil
		}
	}
	return time.Time{}, fmt.Errorf("pod %s has not come to %s", uid, event)
}

// DeletePod deletes the pod as kubectl does.
func (bed *Bed) DeletePod(t *testing.T, pod *corev1.Pod, options ...client.DeleteOption) {
	t.Helper()
	Must(t, bed.Client.Delete(t.Context(), pod, options...))
}

// OldestPod is the one that was created first.
func (bed *Bed) OldestPod(t *testing.T, app *testbed.App) *corev1.Pod {
	t.Helper()
	list := bed.Pods(t, app)
	slices.SortFunc(list, func(a, b corev1.Pod) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	return &list[0]
}

// AwaitContainersReady waits until the containers of all the app's pods are ready, whatever their gates.
func (bed *Bed) AwaitContainersReady(t *testing.T, app *testbed.App) {
	t.Helper()
	Eventually(t, "the pods' containers to be ready", func() error {
		list := bed.Pods(t, app)
		for _, pod := range list {
			if c := readiness.Condition(&pod, corev1.ContainersReady); c == nil || c.Status != corev1.ConditionTrue {
				return fmt.Errorf("those of %s are not", pod.Name)
			}
		}
		if len(list) < int(app.Replicas) {
			return fmt.Errorf("%d pods", len(list))
		}
		return nil
	})
}

// PretendPods creates pods on a node that nobody has heard of, with these addresses and containers that are ready.
func (bed *Bed) PretendPods(t *testing.T, app *testbed.App, n int, address func(int) string) []corev1.Pod {
	t.Helper()
	list := make([]corev1.Pod, n)
	var creations errgroup.Group
	creations.SetLimit(16)
	for i := range list {
		list[i] = *app.Pod(fmt.Sprintf("pretend-%03d", i))
		list[i].Spec.SchedulerName = "nobody" // a node that does not exist would be one that is gone
		if i == 0 {
			bed.Create(t, &list[0]) // waits for the namespace to be ready
		}
		creations.Go(func() error {
			if i > 0 {
				if err := bed.Client.Create(t.Context(), &list[i]); err != nil {
					return err
				}
			}
			ip := address(i)
			list[i].Status = corev1.PodStatus{
				Phase: corev1.PodRunning, PodIP: ip, PodIPs: []corev1.PodIP{{IP: ip}},
				Conditions: []corev1.PodCondition{{Type: corev1.ContainersReady, Status: corev1.ConditionTrue}},
			}
			return bed.Client.Status().Update(t.Context(), &list[i])
		})
	}
	Must(t, creations.Wait())
	return list
}

// UIDs are the names of the pods by UID, for NewPods.
func UIDs(list []corev1.Pod) map[types.UID]string {
	out := map[types.UID]string{}
	for _, pod := range list {
		out[pod.UID] = pod.Name
	}
	return out
}

// NewPods are the pods that are not in old.
func (bed *Bed) NewPods(t *testing.T, app *testbed.App, old map[types.UID]string) []corev1.Pod {
	t.Helper()
	var out []corev1.Pod
	for _, pod := range bed.Pods(t, app) {
		if _, known := old[pod.UID]; !known {
			out = append(out, pod)
		}
	}
	return out
}
