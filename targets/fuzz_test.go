// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"encoding/json"
	"runtime"
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
)

// linear fails the test when work on an input of twice the size allocates more than some three times as much.
func linear(t *testing.T, work func(times int)) {
	t.Helper()
	const small, slack = 64, 64 << 10
	work(1) // what is made once
	once, twice := allocated(func() { work(small) }), allocated(func() { work(2 * small) })
	if twice > 3*once+slack {
		t.Errorf("allocated %d bytes, and %d for twice the input", once, twice)
	}
}

func allocated(work func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	work()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func FuzzParseRecord(f *testing.F) {
	for _, seed := range []string{
		"", "10.0.0.1:8080", "10.0.0.1:8080,10.0.0.2:8080", "fd00::1:8080", "i-0123456789abcdef0:30080", " 10.0.0.1:80 ,,", ":80", "x:0",
		"10.0.0.1:65536", "10.0.0.1:443:f00d", "10.0.0.1:443:0x000000000000f00d", "x:0xa:0xb", ":0x", "fd00::1:443:0x", "10.0.0.1:+80", "10.0.0.1:8080\x00", strings.Repeat(",", 100),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		parsed := parseRecord(text)
		if len(parsed) > strings.Count(text, ",")+1 {
			t.Errorf("%d targets of %q", len(parsed), text)
		}
		for target := range parsed {
			if target.ID == "" || target.Port < 1 || target.Port > 65535 {
				t.Errorf("target %v of %q", target, text)
			}
		}
		if diff := cmp.Diff(parsed, parseRecord(parsed.String())); diff != "" {
			t.Errorf("written and read again (-want +got):\n%s", diff)
		}
		linear(t, func(times int) { _ = parseRecord(strings.Repeat(text+",", times)).String() })
	})
}

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
		want := survey(t, &slice)
		once := strip(t, endpoints.StripSlice, &slice)
		if diff := cmp.Diff(want, survey(t, once)); diff != "" {
			t.Errorf("endpoints of the stripped slice (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(once, strip(t, endpoints.StripSlice, once)); diff != "" {
			t.Errorf("stripped twice (-want +got):\n%s", diff)
		}
		linear(t, func(times int) {
			long := slice.DeepCopy()
			long.Endpoints = slices.Repeat(slice.Endpoints, times)
			_ = survey(t, strip(t, endpoints.StripSlice, long))
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
		linear(t, func(times int) {
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
	for _, gate := range readiness.Kept(whole.Spec.ReadinessGates) { // the others are nothing to us
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

// survey is what is made of a slice of the Service that newBinding names, with some of its pods there.
func survey(t *testing.T, slice *discoveryv1.EndpointSlice) map[string]endpoints.State {
	t.Helper()
	store := newModelStore()
	store.follow = func(modelChange) {}
	for _, o := range []client.Object{newService(), newPod("web-0", "10.0.0.1"), newPod("web-1", "10.0.0.2")} {
		store.put(o)
	}
	cache := newModelCache(store)
	cache.objects["EndpointSlice"] = map[client.ObjectKey]client.Object{client.ObjectKeyFromObject(slice): slice}
	found, err := NewSurveyor(cache).Survey(t.Context(), newBinding(), nil)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]endpoints.State{}
	for _, ep := range found.Endpoints {
		out[ep.Target.String()] = ep.State
	}
	return out
}
