// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func TestSpacedQueuePutsBreatherBetweenPasses(t *testing.T) {
	const planned = time.Hour
	web := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "shop", Name: "web"}}
	other := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "shop", Name: "other"}}
	watched := func(q workqueue.TypedRateLimitingInterface[reconcile.Request], req reconcile.Request) { q.Add(req) }
	tests := map[string]struct {
		before time.Duration // since the pass for web began
		add    func(*spacedQueue)
		want   time.Duration
	}{
		"change at once":          {before: 0, add: func(q *spacedQueue) { watched(q, web) }, want: breather},
		"change a little later":   {before: breather / 4, add: func(q *spacedQueue) { watched(q, web) }, want: breather * 3 / 4},
		"change after a breather": {before: breather, add: func(q *spacedQueue) { watched(q, web) }, want: 0},
		"two changes":             {before: breather / 2, add: func(q *spacedQueue) { watched(q, web); watched(q, web) }, want: breather / 2},
		"another binding":         {before: 0, add: func(q *spacedQueue) { watched(q, other) }, want: 0},
		"new object":              {before: 0, add: func(q *spacedQueue) { q.AddWithOpts(priorityqueue.AddOpts{}, web) }, want: breather},
		"answer of a lane":        {before: 0, add: func(q *spacedQueue) { urgentQueue{q}.Add(web) }, want: 0},
		"look that was planned": {before: 0, add: func(q *spacedQueue) {
			q.AddWithOpts(priorityqueue.AddOpts{After: planned}, web)
		}, want: planned},
		"change before a look that was planned": {before: 0, add: func(q *spacedQueue) {
			q.AddWithOpts(priorityqueue.AddOpts{After: planned}, web)
			watched(q, web)
		}, want: breather},
		"pass that failed": {before: 0, add: func(q *spacedQueue) {
			q.AddWithOpts(priorityqueue.AddOpts{RateLimited: true}, web)
		}, want: minBackoff},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := newSpacedQueue("spaced", workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](
					minBackoff, time.Minute), clock.RealClock{})
				defer q.ShutDown()
				watched(q, web)
				req, _, _ := q.GetWithPriority()
				q.Done(req)
				time.Sleep(tc.before)
				begun := time.Now()
				tc.add(q)
				if req, _, _ = q.GetWithPriority(); time.Since(begun) != tc.want {
					t.Errorf("the pass begins after %s, want %s", time.Since(begun), tc.want)
				}
				q.Done(req)
				if n := q.Len(); n != 0 {
					t.Errorf("%d more passes, want none", n)
				}
				if n := len(q.begun); n > 2 {
					t.Errorf("%d passes are remembered", n)
				}
			})
		})
	}
}

func TestPodThatLeavesWaitsForNoBreather(t *testing.T) {
	web := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "shop", Name: "web"}}
	pods := podHandler{handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request {
		return []reconcile.Request{web}
	})}
	tests := map[string]struct {
		before, after func(*corev1.Pod)
		want          time.Duration
	}{
		"deleted":        {after: func(p *corev1.Pod) { p.DeletionTimestamp = ptr.To(metav1.Now()) }, want: 0},
		"ended":          {after: func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }, want: 0},
		"other address":  {after: func(p *corev1.Pod) { p.Status.PodIPs = nil }, want: breather},
		"deleted before": {before: func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }, after: func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }, want: breather},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := newSpacedQueue("pods", workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](
					minBackoff, time.Minute), clock.RealClock{})
				defer q.ShutDown()
				q.Add(web)
				req, _, _ := q.GetWithPriority()
				q.Done(req)
				begun := time.Now()
				before, after := newPod("web-0", "10.0.0.1"), newPod("web-0", "10.0.0.1")
				after.ResourceVersion = "2"
				if tc.before != nil {
					tc.before(before)
				}
				tc.after(after)
				pods.Update(t.Context(), event.UpdateEvent{ObjectOld: before, ObjectNew: after}, q)
				if req, _, _ = q.GetWithPriority(); time.Since(begun) != tc.want {
					t.Errorf("the pass begins after %s, want %s", time.Since(begun), tc.want)
				}
				q.Done(req)
			})
		})
	}
}
