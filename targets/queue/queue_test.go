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
	testclock "k8s.io/utils/clock/testing"
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

func newLimited(t *testing.T, limits Limits) *Queue {
	t.Helper()
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](time.Second, time.Minute)
	q := NewLimited("", limiter, func(r reconcile.Request) string { return r.Namespace }, limits)
	t.Cleanup(q.ShutDown)
	return q
}

// While a tenant has as many workers as it may, one of another finds the next, and what more there is of the first waits until one of its
// passes has ended.
func TestNoTenantHasAllWorkers(t *testing.T) {
	q := newLimited(t, Limits{OfTenant: 2})
	begun := map[string][]reconcile.Request{}
	begin := func() {
		for q.Len() > 0 {
			got, _, _ := q.GetWithPriority()
			begun[got.Namespace] = append(begun[got.Namespace], got)
		}
	}
	check := func(want map[string]int) {
		t.Helper()
		for tenant, n := range want {
			if len(begun[tenant]) != n {
				t.Errorf("%d passes of %s have begun, want %d", len(begun[tenant]), tenant, n)
			}
		}
	}
	q.add(0, many(4, "flood")...)
	q.add(handler.LowPriority, append(many(3, "first"), "flood/x")...)
	begin()
	check(map[string]int{"flood": 2, "first": 2})
	q.add(0, "other/1")
	begin()
	check(map[string]int{"flood": 2, "first": 2, "other": 1})
	for _, ended := range []string{"flood", "first", "other"} {
		q.Done(begun[ended][0])
	}
	begin()
	check(map[string]int{"flood": 3, "first": 3, "other": 1})
	for i := 1; i < len(begun["flood"]); i++ {
		q.Done(begun["flood"][i])
		begin()
	}
	q.Done(begun["first"][1])
	q.Done(begun["first"][2])
	check(map[string]int{"flood": 5, "first": 3, "other": 1})
	if left := q.ready.first.Len() + q.ready.last.Len() + len(q.ready.running) + len(q.ready.workers); left > 0 {
		t.Errorf("%d entries are left of passes that have ended", left)
	}
}

// The next pass over a group whose last one was long comes after those over others, also of its own tenant; after a short one in its turn.
func TestALongPassIsFollowedByOthers(t *testing.T) {
	clock := testclock.NewFakePassiveClock(time.Unix(1_700_000_000, 0))
	q := newLimited(t, Limits{Long: time.Second, Clock: clock})
	pass := func(took time.Duration) string {
		got, _, _ := q.GetWithPriority()
		clock.SetTime(clock.Now().Add(took))
		q.Done(got)
		return strings.TrimPrefix(got.String(), "/")
	}
	q.add(0, "a/long")
	pass(time.Second)
	q.add(0, "a/long", "a/1", "a/2", "b/1")
	var got []string
	for range 4 {
		got = append(got, pass(0))
	}
	q.add(0, "a/long", "a/1")
	got = append(got, pass(0), pass(0))
	if want := []string{"a/1", "b/1", "a/2", "a/long", "a/long", "a/1"}; !slices.Equal(got, want) {
		t.Errorf("passes over %q, want %q", got, want)
	}
	if left := len(q.ready.long); left > 0 {
		t.Errorf("%d are remembered as long", left)
	}
}
