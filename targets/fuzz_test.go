// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/endpoints"
	"github.com/targetgate/targetgate/targets/fixture"
	"github.com/targetgate/targetgate/targets/targetgroup"
)

func FuzzStripSlice(f *testing.F) {
	listed := newSlice("web-1", newPod("web-0", "10.0.0.1"), newPod("web-1", "10.0.0.2"))
	odd := newSlice("web-1", newPod("web-0", "10.0.0.1"))
	odd.Endpoints = append(odd.Endpoints, discoveryv1.Endpoint{}, discoveryv1.Endpoint{
		Addresses: []string{"x"}, Zone: ptr.To("z"), TargetRef: &corev1.ObjectReference{Kind: "Node", Name: "web-0"},
	})
	odd.Ports = append(odd.Ports, discoveryv1.EndpointPort{}, discoveryv1.EndpointPort{Name: ptr.To("")})
	for _, seed := range []any{listed, odd, &discoveryv1.EndpointSlice{AddressType: discoveryv1.AddressTypeIPv6}} {
		f.Add(encoded(f, seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var slice discoveryv1.EndpointSlice
		if json.Unmarshal(data, &slice) != nil || len(data) > 1<<14 {
			t.Skip()
		}
		slice.Namespace, slice.Name, slice.Labels = "shop", "web-1", map[string]string{discoveryv1.LabelServiceName: "web"}
		want := resolved(t, &slice)
		once := strip(t, endpoints.StripSlice, &slice)
		if diff := cmp.Diff(want, resolved(t, once)); diff != "" {
			t.Errorf("endpoints of the stripped slice (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(once, strip(t, endpoints.StripSlice, once)); diff != "" {
			t.Errorf("stripped twice (-want +got):\n%s", diff)
		}
		fixture.Linear(t, func(times int) {
			long := slice.DeepCopy()
			long.Endpoints = slices.Repeat(slice.Endpoints, times)
			_ = resolved(t, strip(t, endpoints.StripSlice, long))
		})
	})
}

func FuzzStripPod(f *testing.F) {
	ended := newPod("web-0", "10.0.0.1")
	ended.Status.Phase = corev1.PodFailed
	gated := newPod("web-0", "10.0.0.1")
	gated.Annotations = map[string]string{"targetgate.dev/termination-delay": "0"}
	gated.Status.Conditions = append(gated.Status.Conditions,
		corev1.PodCondition{Type: testGate, Status: corev1.ConditionTrue}, corev1.PodCondition{Type: "other", Message: strings.Repeat("x", 100)})
	for _, seed := range []any{ended, gated, &corev1.Pod{}} {
		f.Add(encoded(f, seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var pod corev1.Pod
		if json.Unmarshal(data, &pod) != nil || len(data) > 1<<14 {
			t.Skip()
		}
		once := strip(t, endpoints.StripPod, &pod)
		if diff := cmp.Diff(once, strip(t, endpoints.StripPod, once)); diff != "" {
			t.Errorf("stripped twice (-want +got):\n%s", diff)
		}
		samePod(t, &pod, once)
		fixture.Linear(t, func(times int) {
			long := pod.DeepCopy()
			long.Spec.ReadinessGates = slices.Repeat(pod.Spec.ReadinessGates, times)
			long.Status.Conditions = slices.Repeat(pod.Status.Conditions, times)
			_ = readiness.Bindings(strip(t, endpoints.StripPod, long))
		})
	})
}

// samePod holds what the registrar reads of a pod against what it would read of the whole pod.
func samePod(t *testing.T, whole, stripped *corev1.Pod) {
	t.Helper()
	if endpoints.IsTerminating(whole) != endpoints.IsTerminating(stripped) || endpoints.ContainersReady(whole) != endpoints.ContainersReady(stripped) {
		t.Errorf("leaving %v, containers ready %v; stripped %v, %v",
			endpoints.IsTerminating(whole), endpoints.ContainersReady(whole), endpoints.IsTerminating(stripped), endpoints.ContainersReady(stripped))
	}
	if diff := cmp.Diff(readiness.Bindings(whole), readiness.Bindings(stripped)); diff != "" {
		t.Errorf("bindings (-want +got):\n%s", diff)
	}
	for _, gate := range readiness.Kept(whole.Spec.ReadinessGates) {
		if diff := cmp.Diff(readiness.Condition(whole, gate.ConditionType), readiness.Condition(stripped, gate.ConditionType)); diff != "" {
			t.Errorf("condition of %s (-want +got):\n%s", gate.ConditionType, diff)
		}
	}
}

func encoded(f *testing.F, o any) []byte {
	f.Helper()
	data, err := json.Marshal(o)
	if err != nil {
		f.Fatal(err)
	}
	return data
}

func strip[T any](t *testing.T, by func(any) (any, error), o T) T {
	t.Helper()
	out, err := by(o)
	if err != nil {
		t.Fatal(err)
	}
	return out.(T)
}

// resolved is what is made of a slice of the Service that newBinding names, with some of its pods there.
func resolved(t *testing.T, slice *discoveryv1.EndpointSlice) map[string]endpoints.State {
	t.Helper()
	store := newModelStore()
	store.follow = func(modelChange) {}
	for _, o := range []client.Object{newService(), newPod("web-0", "10.0.0.1"), newPod("web-1", "10.0.0.2")} {
		store.put(o)
	}
	cache := newModelCache(store)
	cache.objects["EndpointSlice"] = map[client.ObjectKey]client.Object{client.ObjectKeyFromObject(slice): slice}
	read, err := endpoints.ReadCache(t.Context(), cache, "shop")
	if err != nil {
		t.Fatal(err)
	}
	found, err := endpoints.NewResolver(cache, read, true).ForPass().Resolve(t.Context(), newBinding(), targetgroup.Targets{})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]endpoints.State{}
	for target, ep := range found.Endpoints {
		out[target.String()] = ep.State
	}
	return out
}
