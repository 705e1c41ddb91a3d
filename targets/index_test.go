// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/endpoints"
)

// A pass that a change wakes must find the change.
func TestIndexesChangeBeforeBindingsAreQueued(t *testing.T) {
	inBed(t, func(b *bed) {
		queue := b.watcher().newQueue("indexed", nil).(*debouncedQueue)
		defer queue.ShutDown()
		pod := newPod("web-0", "10.0.0.1")
		found := b.resolver.Cache
		var seen []int
		look := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request {
			seen = append(seen, len(found.SliceByPod.At("shop", "web-0"))+len(found.SliceByService.At("shop", "web")))
			return nil
		})
		watch := found.UpdateSlices(look)
		before, after := newSlice("web-1"), newSlice("web-1", pod)
		watch.Create(t.Context(), event.CreateEvent{Object: before}, queue)
		watch.Update(t.Context(), event.UpdateEvent{ObjectOld: before, ObjectNew: after}, queue)
		watch.Delete(t.Context(), event.DeleteEvent{Object: after}, queue)
		if diff := cmp.Diff([]int{1, 2, 2, 0}, seen); diff != "" { // an update is mapped twice
			t.Errorf("slices found when somebody is woken (-want +got):\n%s", diff)
		}
	})
}

// What the watches bring is what passes read, by way of the handlers that the controller has.
func TestPassReadsWhatTheWatchesBring(t *testing.T) {
	inBed(t, func(b *bed) {
		b.resolver.Cache = endpoints.NewCache()
		queue := b.watcher().newQueue("watched", nil).(*debouncedQueue)
		defer queue.ShutDown()
		pod := newPod("web-0", "10.0.0.1")
		b.watcher().podEvents().Create(b.t.Context(), event.CreateEvent{Object: pod}, queue)
		b.watcher().sliceEvents().Create(b.t.Context(), event.CreateEvent{Object: newSlice("web-1", pod)}, queue)
		for range 3 {
			req, _, _ := queue.GetWithPriority()
			if _, err := b.Registrar.Reconcile(b.t.Context(), req); err != nil {
				t.Fatal(err)
			}
			queue.Done(req)
			synctest.Wait()
			queue.Add(req)
		}
		if diff := cmp.Diff(map[string]elbv2.State{one.String(): elbv2.StateInitial}, b.targets()); diff != "" {
			t.Errorf("targets (-want +got):\n%s", diff)
		}
	})
}
