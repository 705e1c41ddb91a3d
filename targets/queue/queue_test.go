// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

var _ priorityqueue.PriorityQueue[reconcile.Request] = (*Queue)(nil)

func newTestQueue(t *testing.T) *Queue {
	t.Helper()
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](time.Second, time.Minute)
	q := New("", limiter, func(r reconcile.Request) string { return r.Namespace })
	t.Cleanup(q.ShutDown)
	return q
}

// request is that of a group, written as namespace/name.
func request(name string) reconcile.Request {
	namespace, name, _ := strings.Cut(name, "/")
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
}

func (q *Queue) add(priority int, names ...string) {
	for _, name := range names {
		q.AddWithOpts(priorityqueue.AddOpts{Priority: ptr.To(priority)}, request(name))
	}
}

// drain is what waits, in the order of their passes.
func (q *Queue) drain() (out []string) {
	for q.Len() > 0 {
		got, priority, _ := q.GetWithPriority()
		q.Done(got)
		out = append(out, fmt.Sprint(strings.TrimPrefix(got.String(), "/"), " ", priority))
	}
	return out
}

func many(n int, namespace string) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprintf("%s/%04d", namespace, i))
	}
	return out
}

func TestOrderOfPasses(t *testing.T) {
	const low = handler.LowPriority
	for name, tc := range map[string]struct {
		add  func(q *Queue)
		want []string
	}{
		"tenants take turns": {
			func(q *Queue) { q.add(0, "a/1", "a/2", "a/3", "b/1", "b/2", "c/1") },
			[]string{"a/1 0", "b/1 0", "c/1 0", "a/2 0", "b/2 0", "a/3 0"},
		},
		"what was there at the start comes last": {
			func(q *Queue) { q.add(low, "a/1", "a/2", "b/1"); q.add(0, "a/3", "c/1") },
			[]string{"a/3 0", "c/1 0", "a/1 -100", "b/1 -100", "a/2 -100"},
		},
		"but not for ever": {
			func(q *Queue) { q.add(low, "a/1", "a/2"); q.add(0, "b/1", "b/2", "b/3", "b/4", "b/5") },
			[]string{"b/1 0", "b/2 0", "b/3 0", "a/1 -100", "b/4 0", "b/5 0", "a/2 -100"},
		},
		"what changes after the start comes first": {
			func(q *Queue) { q.add(low, "a/1", "a/2", "a/3"); q.Add(request("a/2")); q.add(low, "a/2") },
			[]string{"a/2 0", "a/1 -100", "a/3 -100"},
		},
		"each is there once": {
			func(q *Queue) { q.add(low, "a/1"); q.add(0, "a/1", "a/1"); q.add(low, "a/1") },
			[]string{"a/1 0"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			q := newTestQueue(t)
			tc.add(q)
			if diff := cmp.Diff(tc.want, q.drain()); diff != "" {
				t.Errorf("passes (-want +got):\n%s", diff)
			}
			if left := len(q.ready.priorities) + len(q.ready.waiting); left > 0 {
				t.Errorf("%d entries are remembered in an empty queue", left)
			}
		})
	}
}

// A group is known to be of another tenant when it is asked for again.
func TestARequestMovesToItsTenantsLine(t *testing.T) {
	tenant := "flood"
	limiter := workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]()
	q := New("", limiter, func(r reconcile.Request) string {
		if r.Namespace == "" {
			return tenant
		}
		return r.Namespace
	})
	defer q.ShutDown()
	q.add(0, append(many(10, "flood"), "/edge")...)
	tenant = "other"
	q.add(0, "/edge")
	if got := q.drain(); got[1] != "edge 0" {
		t.Errorf("passes over %q, want the moved one in the second", got)
	}
}

// However many groups of a namespace wait: one of another is next but one.
func TestANamespaceWithManyGroupsDelaysNoOther(t *testing.T) {
	q := newTestQueue(t)
	q.add(0, many(10_000, "flood")...)
	q.add(0, "other/1")
	for n := range 20 {
		got, _, _ := q.GetWithPriority()
		q.Add(got) // it has more to do
		q.Done(got)
		if is := got.Namespace == "other"; is != (n%2 == 1) {
			t.Fatalf("pass %d is over %s, want the namespaces in turn", n, got)
		}
	}
}

func TestAWorkerIsToldWhetherAnotherTenantWaits(t *testing.T) {
	q := newTestQueue(t)
	own := request("a/1")
	for _, step := range []struct {
		add  func()
		want bool
	}{
		{func() {}, false},
		{func() { q.add(0, "a/2") }, false},
		{func() { q.add(0, "c/1") }, true},
		{func() { q.drain() }, false},
		{func() { q.add(handler.LowPriority, "b/1") }, true},
	} {
		if step.add(); q.OthersWait(own) != step.want {
			t.Errorf("another tenant waits: %v, want %v", !step.want, step.want)
		}
	}
}

// A pass that is asked for while one goes on comes after it; one that is asked for later comes later.
func TestPassesAreAskedForMeanwhileAndLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newTestQueue(t)
		defer q.ShutDown()
		q.add(0, "a/1")
		begun, _, _ := q.GetWithPriority()
		q.add(0, "a/1")
		if q.Len() > 0 {
			t.Error("a second pass over the group can begin")
		}
		q.Done(begun)
		q.AddWithOpts(priorityqueue.AddOpts{After: time.Minute, Priority: ptr.To(0)}, request("b/1"))
		q.AddWithOpts(priorityqueue.AddOpts{RateLimited: true, Priority: ptr.To(0)}, request("c/1"))
		for _, want := range [][]string{{"a/1 0"}, {"c/1 0"}, {"b/1 0"}} {
			if diff := cmp.Diff(want, q.drain()); diff != "" {
				t.Errorf("passes (-want +got):\n%s", diff)
			}
			time.Sleep(31 * time.Second)
			synctest.Wait()
		}
	})
}

// A process that stops begins no further pass, as AWS would be called in each.
func TestNothingIsHandedOutAfterTheEnd(t *testing.T) {
	q := newTestQueue(t)
	q.add(0, slices.Concat(many(3, "a"), many(3, "b"))...)
	q.ShutDown()
	if got, _, shutdown := q.GetWithPriority(); !shutdown {
		t.Errorf("got %s after the end", got)
	}
}
