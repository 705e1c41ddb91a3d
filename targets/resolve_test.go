// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/targets/elbv2"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

func TestResolve(t *testing.T) {
	pod := func(change func(*corev1.Pod)) *corev1.Pod {
		p := newPod("web-0", "10.0.0.1")
		change(p)
		return p
	}
	slice := func(p *corev1.Pod, change func(*discoveryv1.EndpointSlice)) *discoveryv1.EndpointSlice {
		s := newSlice("web-1", p)
		change(s)
		return s
	}
	plain := pod(func(*corev1.Pod) {})
	starting := pod(func(p *corev1.Pod) { p.Status.Conditions = nil })
	stranger := pod(func(p *corev1.Pod) { p.Labels = map[string]string{"app": "other"} })
	terminating := withFinalizer(pod(func(p *corev1.Pod) { p.DeletionTimestamp = ptr.To(metav1.Now()) }))
	known := map[elbv2.Target]entry{one: {presence: registered}}

	tests := map[string]struct {
		objects []client.Object
		port    intstr.IntOrString
		known   map[elbv2.Target]entry
		want    map[elbv2.Target]standing
		missing string
	}{
		"not ready in the slice, containers ready": {
			objects: []client.Object{plain, newSlice("web-1", plain)}, want: map[elbv2.Target]standing{one: wanted},
		},
		"port by name": {
			objects: []client.Object{plain, newSlice("web-1", plain)}, port: intstr.FromString("http"),
			want: map[elbv2.Target]standing{one: wanted},
		},
		"port that does not exist": {
			objects: []client.Object{plain, newSlice("web-1", plain)}, port: intstr.FromString("grpc"),
			missing: `Service "web" has no port "grpc"`,
		},
		"containers not ready": {
			objects: []client.Object{starting, newSlice("web-1", starting)}, want: map[elbv2.Target]standing{one: unready},
		},
		"containers not ready but published": {
			objects: []client.Object{starting, slice(starting, func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].Conditions.Ready = nil })},
			want:    map[elbv2.Target]standing{one: wanted},
		},
		"terminating, whatever the slice says": {
			objects: []client.Object{terminating, slice(terminating, func(s *discoveryv1.EndpointSlice) {
				s.Endpoints[0].Conditions.Ready = ptr.To(true)
			})},
			want: map[elbv2.Target]standing{one: leaving},
		},
		"ended": {
			objects: []client.Object{pod(func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }), newSlice("web-1", plain)},
			want:    map[elbv2.Target]standing{one: leaving},
		},
		"pod not in the cache": {
			objects: []client.Object{newSlice("web-1", plain)}, want: map[elbv2.Target]standing{one: kept},
		},
		"pod of the same name with another UID": {
			objects: []client.Object{pod(func(p *corev1.Pod) { p.UID = "second" }), newSlice("web-1", plain)},
			want:    map[elbv2.Target]standing{one: kept},
		},
		"endpoint without a pod": {
			objects: []client.Object{slice(plain, func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].TargetRef = nil })},
		},
		"other address family": {
			objects: []client.Object{plain, slice(plain, func(s *discoveryv1.EndpointSlice) {
				s.AddressType, s.Endpoints[0].Addresses = discoveryv1.AddressTypeIPv6, []string{"2001:db8::1"}
			})},
		},
		"pod listed in two slices while it moves": {
			objects: []client.Object{plain, newSlice("web-1", plain), newSlice("web-2", plain)},
			want:    map[elbv2.Target]standing{one: wanted},
		},
		"registered, out of the slices, still selected": {
			objects: []client.Object{plain}, known: known, want: map[elbv2.Target]standing{one: kept},
		},
		"registered, no longer selected": {
			objects: []client.Object{stranger}, known: known, want: map[elbv2.Target]standing{one: replaced},
		},
		"registered on a port that the Service has left": {
			objects: []client.Object{plain, newSlice("web-1", plain)},
			known:   map[elbv2.Target]entry{{ID: "10.0.0.1", Port: 9090}: {presence: registered}},
			want:    map[elbv2.Target]standing{one: wanted, {ID: "10.0.0.1", Port: 9090}: replaced},
		},
		"registered and terminating, out of the slices": {
			objects: []client.Object{terminating}, known: known, want: map[elbv2.Target]standing{one: leaving},
		},
		"registered and nobody's": {known: known},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if tc.port == (intstr.IntOrString{}) {
				tc.port = intstr.FromInt32(80)
			}
			inBed(t, func(b *bed) {
				binding := newBinding()
				binding.Spec.ServiceRef = v1beta1.ServiceReference{Name: "web", Port: tc.port}
				res, err := b.resolver.forPass().resolve(t.Context(), binding, tc.known)
				if err != nil {
					t.Fatal(err)
				}
				got := map[elbv2.Target]standing{}
				for target, ep := range res.endpoints {
					got[target] = ep.standing
				}
				if tc.want == nil {
					tc.want = map[elbv2.Target]standing{}
				}
				b.wantSameSurvey(binding, slices.Collect(maps.Keys(tc.known)), res)
				if diff := cmp.Diff(tc.want, got); diff != "" || res.missing != tc.missing {
					t.Errorf("missing %q, want %q; endpoints (-want +got):\n%s", res.missing, tc.missing, diff)
				}
			}, tc.objects...)
		})
	}
}

func TestResolvePrefersLiveSelectedPodAtAddress(t *testing.T) {
	ended := newPod("job", "10.0.0.1")
	ended.Status.Phase = corev1.PodSucceeded
	neighbour := newPod("agent", "10.0.0.1") // in the host network, as web-0
	neighbour.Labels = nil
	inBed(t, func(b *bed) {
		pod := b.resolver.podAt("shop", "10.0.0.1", newService())
		if pod == nil || pod.Name != "web-0" {
			t.Errorf("pod at the address: %v; want web-0, which lives and is selected", pod)
		}
	}, ended, neighbour, newPod("web-0", "10.0.0.1"))
}
