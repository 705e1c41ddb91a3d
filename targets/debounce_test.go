// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func TestDebouncedQueuePausesBetweenPasses(t *testing.T) {
	const planned = time.Hour
	web := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "shop", Name: "web"}}
	other := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "shop", Name: "other"}}
	watched := (*debouncedQueue).Add
	tests := map[string]struct {
		before time.Duration // since the pass for web began
		add    func(*debouncedQueue)
		want   time.Duration
	}{
		"change at once":            {before: 0, add: func(q *debouncedQueue) { watched(q, web) }, want: debounceInterval},
		"change a little later":     {before: debounceInterval / 4, add: func(q *debouncedQueue) { watched(q, web) }, want: debounceInterval * 3 / 4},
		"change after the interval": {before: debounceInterval, add: func(q *debouncedQueue) { watched(q, web) }, want: 0},
		"two changes":               {before: debounceInterval / 2, add: func(q *debouncedQueue) { watched(q, web); watched(q, web) }, want: debounceInterval / 2},
		"another binding":           {before: 0, add: func(q *debouncedQueue) { watched(q, other) }, want: 0},
		"new object":                {before: 0, add: func(q *debouncedQueue) { q.AddWithOpts(priorityqueue.AddOpts{}, web) }, want: debounceInterval},
		"look that was planned": {before: 0, add: func(q *debouncedQueue) {
			q.AddWithOpts(priorityqueue.AddOpts{After: planned}, web)
		}, want: planned},
		"change before a look that was planned": {before: 0, add: func(q *debouncedQueue) {
			q.AddWithOpts(priorityqueue.AddOpts{After: planned}, web)
			watched(q, web)
		}, want: debounceInterval},
		"change before a look that is planned afterwards": {before: 0, add: func(q *debouncedQueue) {
			watched(q, web)
			q.AddWithOpts(priorityqueue.AddOpts{After: planned}, web)
		}, want: debounceInterval},
		"pass that failed": {before: 0, add: func(q *debouncedQueue) {
			q.AddWithOpts(priorityqueue.AddOpts{RateLimited: true}, web)
		}, want: minBackoff},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := newDebouncedQueue("debounced", workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](
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

// Rule 5: a pod that leaves waits for one pass of another namespace, however many of its bindings change all the time.
func TestABindingWaitsForOnePassOfAnotherNamespace(t *testing.T) {
	inBed(t, func(b *bed) {
		q := b.watcher().newQueue("in turns", nil).(*debouncedQueue)
		defer q.ShutDown()
		for n := range 1000 {
			q.Add(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "flood", Name: strconv.Itoa(n)}})
		}
		pod := newPod("web-0", "10.0.0.1")
		b.watcher().podEvents().Delete(b.calls.Context, event.DeleteEvent{Object: pod}, q)
		for n := range 2 {
			req, _, _ := q.GetWithPriority()
			if (n == 1) != (req.NamespacedName == webKey) {
				t.Errorf("pass %d is over %s", n, req)
			}
		}
	})
}

// A pass that begins is the one, too, that was to begin later, and takes the higher priority along.
func TestAPassTakesThePlannedOneAlong(t *testing.T) {
	web, rival := reconcile.Request{NamespacedName: webKey}, reconcile.Request{NamespacedName: rivalKey}
	inBed(t, func(b *bed) {
		q := b.watcher().newQueue("planned", nil).(*debouncedQueue)
		defer q.ShutDown()
		soon, later := priorityqueue.AddOpts{}, priorityqueue.AddOpts{After: time.Minute}
		lowSoon, lowLater := soon, later
		lowSoon.Priority, lowLater.Priority = ptr.To(handler.LowPriority), ptr.To(handler.LowPriority)
		pass := func(want reconcile.Request, wanted int) {
			t.Helper()
			req, priority, _ := q.GetWithPriority()
			if req != want || priority != wanted {
				t.Errorf("a pass over %s of priority %d, want %s and %d", req, priority, want, wanted)
			}
			q.Done(req)
		}
		q.AddWithOpts(lowLater, web)
		undelayed(q).Add(web)
		pass(web, 0)
		q.Add(web) // is delayed
		q.AddWithOpts(lowLater, web)
		pass(web, 0)
		time.Sleep(time.Second)
		q.AddWithOpts(lowSoon, rival)
		q.AddWithOpts(later, web)
		q.AddWithOpts(lowSoon, web)
		pass(web, 0)
		pass(rival, handler.LowPriority)
		time.Sleep(time.Second)
		q.AddWithOpts(lowSoon, web)
		q.AddWithOpts(later, web)
		pass(web, 0)
		undelayed(q).Add(web)
		req, _, _ := q.GetWithPriority()
		q.Done(req)
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := q.Len(); n > 0 {
			t.Errorf("%d more passes, want none", n)
		}
		if n := len(q.planned); n > 0 {
			t.Errorf("%d passes are planned", n)
		}
	})
}

// What the registrar sets up, with the queue that it sets up.
func TestWhatIsNotDebounced(t *testing.T) {
	web := reconcile.Request{NamespacedName: webKey}
	update := func(before, after func(*corev1.Pod)) func(*bed, *debouncedQueue) {
		return func(b *bed, q *debouncedQueue) {
			old, pod := newPod("web-0", "10.0.0.1"), newPod("web-0", "10.0.0.1")
			before(old)
			after(pod)
			pod.ResourceVersion = "2"
			b.watcher().podEvents().Update(b.calls.Context, event.UpdateEvent{ObjectOld: old, ObjectNew: pod}, q)
		}
	}
	gone := func(change func(*corev1.Pod)) func(*bed, *debouncedQueue) {
		return func(b *bed, q *debouncedQueue) {
			pod := newPod("web-0", "10.0.0.1")
			change(pod)
			b.watcher().podEvents().Delete(b.calls.Context, event.DeleteEvent{Object: pod}, q)
		}
	}
	alive := func(*corev1.Pod) {}
	deleted := func(p *corev1.Pod) { p.DeletionTimestamp = ptr.To(metav1.Now()) }
	moved := func(p *corev1.Pod) { p.Status.PodIPs = nil }
	ended := func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }
	endedAndMoved := func(p *corev1.Pod) { ended(p); moved(p) }
	tests := map[string]struct {
		happens func(*bed, *debouncedQueue)
		want    time.Duration
	}{
		"end of a call": {func(b *bed, q *debouncedQueue) {
			if err := b.startWithQueue(b.calls.Context, q); err != nil {
				b.t.Fatal(err)
			}
			b.calls.Requeue(webKey)
		}, 0},
		"pod deleted":              {update(alive, deleted), 0},
		"pod ended":                {update(alive, ended), 0},
		"pod gone, not seen to go": {gone(alive), 0},
		"pod ended before":         {update(ended, endedAndMoved), debounceInterval},
		"pod at another address":   {update(alive, moved), debounceInterval},
		"pod gone, as expected":    {gone(deleted), debounceInterval},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			inBed(t, func(b *bed) {
				q := b.watcher().newQueue("debounced", workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](minBackoff, time.Minute)).(*debouncedQueue)
				defer q.ShutDown()
				q.Add(web)
				req, _, _ := q.GetWithPriority()
				q.Done(req)
				begun := time.Now()
				tc.happens(b, q)
				if req, _, _ = q.GetWithPriority(); time.Since(begun) != tc.want {
					b.t.Errorf("the pass begins after %s, want %s", time.Since(begun), tc.want)
				}
				q.Done(req)
			})
		})
	}
}

func TestUnrelatedPodUpdatesQueueNoBinding(t *testing.T) {
	inBed(t, func(b *bed) {
		q := b.watcher().newQueue("debounced", workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](minBackoff, time.Minute)).(*debouncedQueue)
		defer q.ShutDown()
		before, after := newPod("web-0", "10.0.0.1"), newPod("web-0", "10.0.0.1")
		after.ResourceVersion, after.Status.StartTime = "2", ptr.To(metav1.Now())
		b.watcher().podEvents().Update(b.calls.Context, event.UpdateEvent{ObjectOld: before, ObjectNew: after}, q)
		time.Sleep(2 * debounceInterval)
		if n := q.Len(); n != 0 {
			t.Errorf("%d passes, want none", n)
		}
		if got := b.resolver.PodByName.First("shop", "web-0"); got != after {
			t.Error("the index has not followed")
		}
	})
}
