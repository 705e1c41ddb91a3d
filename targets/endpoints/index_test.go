// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package endpoints

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
)

func TestWhatAnIndexHasFoundStays(t *testing.T) {
	first, second := newPod("web-0", "10.0.0.1"), newPod("web-1", "10.0.0.1")
	first.Spec.ReadinessGates = append(first.Spec.ReadinessGates, first.Spec.ReadinessGates...) // nobody forbids it
	found := NewCache()
	found.pods().change(nil, first)
	found.pods().change(nil, second)
	before := found.PodByGate.At("shop", "web")
	found.pods().change(first, nil)
	if diff := cmp.Diff([]*corev1.Pod{first, second}, before); diff != "" {
		t.Errorf("what was found before the first pod went (-want +got):\n%s", diff)
	}
}

// An update that changes no value of an object brings the newer object all the same.
func TestIndexHasTheNewestObject(t *testing.T) {
	for name, others := range map[string]int{"one": 0, "a few": 3, "many": 2 * fewObjects} {
		t.Run(name, func(t *testing.T) {
			found := NewCache()
			for i := range others {
				found.pods().change(nil, newPod(fmt.Sprintf("other-%d", i), "10.0.0.1"))
			}
			before, after := newPod("web-0", "10.0.0.1"), newPod("web-0", "10.0.0.1")
			found.pods().change(nil, before)
			found.pods().change(before, after)
			for _, at := range [][]*corev1.Pod{
				found.PodByAddress.At("shop", "10.0.0.1"), found.PodByGate.At("shop", "web"), found.PodByName.At("shop", "web-0"),
			} {
				if slices.Contains(at, before) || !slices.Contains(at, after) {
					t.Errorf("%d pods: the old one is there: %v, the new one: %v", len(at), slices.Contains(at, before), slices.Contains(at, after))
				}
			}
			if got := len(found.PodByAddress.At("shop", "10.0.0.1")); got != others+1 {
				t.Errorf("%d pods at the address, want %d", got, others+1)
			}
			found.pods().change(after, nil)
			if got := found.PodByAddress.At("shop", "10.0.0.1"); len(got) != others || slices.Contains(got, after) {
				t.Errorf("%d pods at the address when it has gone, want %d", len(got), others)
			}
		})
	}
}

// countedPod counts how often somebody looks at it.
type countedPod struct {
	*corev1.Pod
	looks *int
}

func (n countedPod) GetName() string {
	*n.looks++
	return n.Name
}

// All pods of a namespace may have one value, and each of them changes a dozen times.
func TestIndexWorkDoesNotGrowWithTheObjectsOfAValue(t *testing.T) {
	looksOf := func(count int) (looks int) {
		x := newIndex(func(countedPod) []string { return []string{"web"} })
		pods := make([]countedPod, count)
		for i := range pods {
			pods[i] = countedPod{newPod(fmt.Sprintf("web-%d", i), "10.0.0.1"), &looks}
			x.change(countedPod{}, pods[i])
		}
		looks = 0
		for i := range pods {
			x.change(pods[i], pods[i])
		}
		for i := range pods {
			x.change(pods[i], countedPod{})
		}
		if left := x.At("shop", "web"); left != nil {
			t.Errorf("%d of %d pods are left", len(left), count)
		}
		return looks / count
	}
	if few, many := looksOf(100), looksOf(5000); many > 2*few {
		t.Errorf("%d looks at names for each of 5,000 pods, %d for each of 100; want about as many", many, few)
	}
}

func BenchmarkIndexChange(b *testing.B) {
	for _, count := range []int{100, 1_000, 10_000} {
		b.Run(strconv.Itoa(count), func(b *testing.B) {
			found := NewCache().pods()
			pods := make([]*corev1.Pod, count)
			for i := range pods {
				pods[i] = newPod(fmt.Sprintf("web-%d", i), "10.0.0.1")
				found.change(nil, pods[i])
			}
			i := 0
			for b.Loop() {
				found.change(pods[i%count], pods[i%count])
				i++
			}
		})
	}
}

func TestIndexesFollowTheWatch(t *testing.T) {
	at := func(name, ip string) *corev1.Pod { return newPod(name, ip) }
	elsewhere := at("web-0", "10.0.0.1")
	elsewhere.Namespace = "elsewhere"
	ungated := at("web-1", "10.0.0.2")
	ungated.Spec.ReadinessGates = nil
	create := func(h handler.EventHandler, pod *corev1.Pod) {
		h.Create(t.Context(), event.CreateEvent{Object: pod}, nil)
	}
	update := func(h handler.EventHandler, before, after *corev1.Pod) {
		h.Update(t.Context(), event.UpdateEvent{ObjectOld: before, ObjectNew: after}, nil)
	}
	remove := func(h handler.EventHandler, pod *corev1.Pod) {
		h.Delete(t.Context(), event.DeleteEvent{Object: pod}, nil)
	}
	tests := map[string]struct {
		happens                   func(handler.EventHandler)
		byGate, byOld, byNew, all []string // names of the pods in the namespace: gated, at .1, at .2, web-0 and web-1
	}{
		"pods come": {func(h handler.EventHandler) {
			create(h, at("web-0", "10.0.0.1"))
			create(h, ungated)
		}, []string{"web-0"}, []string{"web-0"}, []string{"web-1"}, []string{"web-0", "web-1"}},
		"two at one address": {func(h handler.EventHandler) {
			create(h, at("web-0", "10.0.0.1"))
			create(h, at("web-1", "10.0.0.1"))
		}, []string{"web-0", "web-1"}, []string{"web-0", "web-1"}, nil, []string{"web-0", "web-1"}},
		"a pod moves": {func(h handler.EventHandler) {
			create(h, at("web-0", "10.0.0.1"))
			update(h, at("web-0", "10.0.0.1"), at("web-0", "10.0.0.2"))
		}, []string{"web-0"}, nil, []string{"web-0"}, []string{"web-0"}},
		"one of two leaves": {func(h handler.EventHandler) {
			create(h, at("web-0", "10.0.0.1"))
			create(h, at("web-1", "10.0.0.1"))
			remove(h, at("web-0", "10.0.0.1"))
		}, []string{"web-1"}, []string{"web-1"}, nil, []string{"web-1"}},
		"a namesake elsewhere leaves": {func(h handler.EventHandler) {
			create(h, at("web-0", "10.0.0.1"))
			create(h, elsewhere)
			remove(h, elsewhere)
		}, []string{"web-0"}, []string{"web-0"}, nil, []string{"web-0"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			found := NewCache()
			tc.happens(found.UpdatePods(handler.Funcs{}))
			got := [][]string{
				namesOf(found.PodByGate.At("shop", "web")), namesOf(found.PodByAddress.At("shop", "10.0.0.1")),
				namesOf(found.PodByAddress.At("shop", "10.0.0.2")),
				append(namesOf(found.PodByName.At("shop", "web-0")), namesOf(found.PodByName.At("shop", "web-1"))...),
			}
			if diff := cmp.Diff([][]string{tc.byGate, tc.byOld, tc.byNew, tc.all}, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("found (-want +got):\n%s", diff)
			}
		})
	}
}

func namesOf(pods []*corev1.Pod) []string {
	var out []string
	for _, pod := range pods {
		out = append(out, pod.Name)
	}
	slices.Sort(out)
	return out
}
