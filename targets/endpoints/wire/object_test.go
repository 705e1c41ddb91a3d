// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"

	"github.com/targetgate/targetgate/targets/endpoints"
)

// strips are the cache's transforms, by what they transform. Services and Ingresses have none: theirs keeps what is read.
var strips = map[reflect.Type]cache.TransformFunc{
	reflect.TypeFor[*corev1.Pod]():                endpoints.StripPod,
	reflect.TypeFor[*corev1.Node]():               endpoints.StripNode,
	reflect.TypeFor[*discoveryv1.EndpointSlice](): endpoints.StripSlice,
	reflect.TypeFor[*corev1.Service]():            readOfService,
	reflect.TypeFor[*networkingv1.Ingress]():      readOfIngress,
}

// readAnnotations are those that are read of Services and Ingresses.
func readAnnotations(all map[string]string) map[string]string {
	read := map[string]string{}
	for key, value := range all {
		if key == "kubernetes.io/ingress.class" || strings.HasPrefix(key, "alb.ingress.kubernetes.io/") || strings.HasPrefix(key, "targetgate.dev/") {
			read[key] = value
		}
	}
	return read
}

// readOfService is what is read of a Service: by targets and at admission of pods its ports, selector and family, and for Ingresses the
// annotations, too. Of a selector that is too large that counts.
func readOfService(o any) (any, error) {
	service := o.(*corev1.Service)
	spec := corev1.ServiceSpec{Selector: service.Spec.Selector, Type: service.Spec.Type, IPFamilies: service.Spec.IPFamilies}
	for _, port := range service.Spec.Ports[:min(len(service.Spec.Ports), endpoints.MaxPorts)] {
		spec.Ports = append(spec.Ports, corev1.ServicePort{
			Name: port.Name, Port: port.Port, Protocol: port.Protocol, TargetPort: port.TargetPort, NodePort: port.NodePort,
		})
	}
	if len(spec.Selector) > endpoints.MaxLabels {
		spec.Selector = map[string]string{"too": "many"}
	}
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{
		Namespace: service.Namespace, Name: service.Name, UID: service.UID, ResourceVersion: service.ResourceVersion,
		CreationTimestamp: service.CreationTimestamp, DeletionTimestamp: service.DeletionTimestamp,
		Annotations: readAnnotations(service.Annotations),
	}, Spec: spec}, nil
}

func stripped(t testing.TB, object k8sruntime.Object) any {
	t.Helper()
	out, err := strips[reflect.TypeOf(object)](object)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// readOfIngress is what is read of an Ingress, for its load balancer. Labels are those of whoever deploys it.
func readOfIngress(o any) (any, error) {
	ingress := o.(*networkingv1.Ingress)
	return &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{
		Namespace: ingress.Namespace, Name: ingress.Name, UID: ingress.UID, ResourceVersion: ingress.ResourceVersion,
		CreationTimestamp: ingress.CreationTimestamp, DeletionTimestamp: ingress.DeletionTimestamp,
		Annotations: readAnnotations(ingress.Annotations), Finalizers: ingress.Finalizers,
	}, Spec: ingress.Spec, Status: ingress.Status}, nil
}

// What is dropped here, the caches' transforms drop as well.
func TestFilterDropsNothingThatIsRead(t *testing.T) {
	for seed := range int64(300) {
		for _, object := range []k8sruntime.Object{
			filled(seed, &corev1.Pod{}), filled(seed, &corev1.Node{}), filled(seed, &discoveryv1.EndpointSlice{}),
			filled(seed, &corev1.Service{}), filled(seed, &networkingv1.Ingress{}),
		} {
			sent := encode(t, object)
			small := filterObject(nil, sent)
			want, got := stripped(t, decode(t, sent)), stripped(t, decode(t, small))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("seed %d, %T, stripped (-of all +of what the filter keeps):\n%s", seed, object, diff)
			}
			if twice := filterObject(nil, small); !bytes.Equal(small, twice) {
				t.Fatalf("seed %d, %T: filtered twice, it has %d bytes, not %d", seed, object, len(twice), len(small))
			}
		}
	}
}

func TestFilterDropsMostOfAPod(t *testing.T) {
	sent := encode(t, typicalPod())
	small := filterObject(nil, sent)
	if most := len(sent) / 8; len(small) > most {
		t.Errorf("%d of %d bytes are left, want at most %d", len(small), len(sent), most)
	}
	pod := decode(t, small).(*corev1.Pod)
	if pod.ManagedFields != nil || pod.Spec.Volumes != nil || pod.Spec.Containers[0].Env != nil || pod.Status.ContainerStatuses != nil {
		t.Errorf("what nobody reads is left:\n%v", pod)
	}
}

func TestFilterKeepsOtherKinds(t *testing.T) {
	for name, sent := range map[string][]byte{
		"a ConfigMap":   encode(t, filled(1, &corev1.ConfigMap{})),
		"a Status":      encode(t, &metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Message: "too old"}),
		"nothing":       {},
		"no protobuf":   []byte(`{"kind":"Pod","apiVersion":"v1"}`),
		"no type":       []byte("k8s\x00\x12\x00"),
		"a cut pod":     encode(t, typicalPod())[:3000],
		"a broken pod":  append(encode(t, typicalPod()), 0xff),
		"only the type": append([]byte("k8s\x00\x0a\x09"), typeOf("v1", "Pod")...),
	} {
		t.Run(name, func(t *testing.T) {
			if got := filterObject([]byte("before"), sent); !bytes.Equal(got, append([]byte("before"), sent...)) {
				t.Errorf("got %d bytes, want the %d that were sent", len(got)-len("before"), len(sent))
			}
		})
	}
}

func TestFilterEventKeepsTypeAndBookmark(t *testing.T) {
	bookmark := &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{ResourceVersion: "7", Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"}},
	}
	event := metav1.WatchEvent{Type: "BOOKMARK", Object: k8sruntime.RawExtension{Raw: encode(t, bookmark)}}
	sent, err := event.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	var got metav1.WatchEvent
	if err := got.Unmarshal(filterEvent(nil, sent)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(bookmark, decode(t, got.Object.Raw)); diff != "" || got.Type != event.Type {
		t.Errorf("%s (-want +got):\n%s", got.Type, diff)
	}
}

// Bytes that a decoder reads as an object, the filter reads alike; others it may leave to the decoder.
func FuzzFilter(f *testing.F) {
	prefix := encode(f, &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}})
	f.Add(encode(f, typicalPod()))
	f.Add(prefix)
	f.Add(prefix[:len(prefix)-3])
	for seed := range int64(5) {
		f.Add(encode(f, filled(seed, &corev1.Pod{})))
		f.Add(encode(f, filled(seed, &corev1.Node{})))
		f.Add(encode(f, filled(seed, &discoveryv1.EndpointSlice{})))
		f.Add(encode(f, filled(seed, &corev1.Service{})))
		f.Add(encode(f, filled(seed, &networkingv1.Ingress{})))
	}
	f.Fuzz(func(t *testing.T, sent []byte) {
		small := filterObject(nil, sent)
		if len(small) > len(sent)+16 {
			t.Fatalf("%d bytes have become %d", len(sent), len(small))
		}
		object, _, err := codec.Decode(sent, nil, nil)
		if err != nil || strips[reflect.TypeOf(object)] == nil {
			return
		}
		if diff := cmp.Diff(stripped(t, object), stripped(t, decode(t, small))); diff != "" {
			t.Errorf("stripped (-of all +of what the filter keeps):\n%s", diff)
		}
	})
}

// BenchmarkPodEvent is what one update of a pod costs, from its bytes to the pod that is kept.
func BenchmarkPodEvent(b *testing.B) {
	sent := encode(b, typicalPod())
	b.Logf("%d bytes, filtered %d", len(sent), len(filterObject(nil, sent)))
	b.Run("whole", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			stripped(b, decode(b, sent))
		}
	})
	b.Run("filtered", func(b *testing.B) {
		b.ReportAllocs()
		var small []byte
		for b.Loop() {
			small = filterObject(small[:0], sent)
			stripped(b, decode(b, small))
		}
	})
	b.Run("filter alone", func(b *testing.B) {
		b.ReportAllocs()
		var small []byte
		for b.Loop() {
			small = filterObject(small[:0], sent)
		}
	})
}

// BenchmarkKeptPod tells what a pod takes in the cache.
func BenchmarkKeptPod(b *testing.B) {
	sent := encode(b, typicalPod())
	const count = 2000
	for b.Loop() {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		kept := make([]any, count)
		for i := range kept {
			kept[i] = stripped(b, decode(b, filterObject(nil, sent)))
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/count, "B/pod")
		runtime.KeepAlive(kept)
	}
	_ = fmt.Sprint
}
