// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/endpoints"
)

// The pod with the most gates or labels that an API server stores is decoded as fast as others.
func TestFilterDropsGatesAndLabelsBeyondTheirBounds(t *testing.T) {
	for name, add := range map[string]func(pod *corev1.Pod, i int){
		"gates": func(pod *corev1.Pod, i int) {
			pod.Spec.ReadinessGates = append(pod.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: readiness.GateFor(strconv.Itoa(i))})
		},
		"gates of others": func(pod *corev1.Pod, i int) {
			pod.Spec.ReadinessGates = append(pod.Spec.ReadinessGates,
				corev1.PodReadinessGate{ConditionType: corev1.PodConditionType(fmt.Sprintf("other/%d", i))})
		},
		"labels": func(pod *corev1.Pod, i int) { pod.Labels[strconv.Itoa(i)] = "" },
	} {
		for _, count := range []int{readiness.MaxGates - 1, readiness.MaxGates, endpoints.MaxLabels, endpoints.MaxLabels + 1, 40_000} {
			t.Run(fmt.Sprintf("%d %s", count, name), func(t *testing.T) {
				pod := typicalPod()
				clear(pod.Labels)
				for i := range count {
					add(pod, i)
				}
				sent := encode(t, pod)
				small := filterObject(nil, sent)
				if diff := cmp.Diff(stripped(t, decode(t, sent)), stripped(t, decode(t, small))); diff != "" {
					t.Errorf("stripped (-of all +of what the filter keeps):\n%s", diff)
				}
				if len(small) > 16<<10 {
					t.Errorf("%d of %d bytes are left", len(small), len(sent))
				}
			})
		}
	}
}

func TestFilterDropsWhatIsNotReadOfALargeSlice(t *testing.T) {
	for _, ports := range []int{endpoints.MaxPorts, endpoints.MaxPorts + 1, 20_000} {
		t.Run(fmt.Sprint(ports), func(t *testing.T) {
			slice := filled(1, &discoveryv1.EndpointSlice{})
			slice.Ports = nil
			for i := range ports {
				slice.Ports = append(slice.Ports, discoveryv1.EndpointPort{Name: ptr.To(strconv.Itoa(i)), Port: ptr.To(int32(i))})
			}
			slice.Endpoints = []discoveryv1.Endpoint{{Addresses: slices.Repeat([]string{"10.0.0.1"}, 10_000)}}
			sent := encode(t, slice)
			small := filterObject(nil, sent)
			if diff := cmp.Diff(stripped(t, decode(t, sent)), stripped(t, decode(t, small))); diff != "" {
				t.Errorf("stripped (-of all +of what the filter keeps):\n%s", diff)
			}
			if len(small) > 16<<10 {
				t.Errorf("%d of %d bytes are left", len(small), len(sent))
			}
		})
	}
}

// A tenant's Services are small in memory, whatever is in them.
func TestFilterDropsWhatIsNotReadOfALargeService(t *testing.T) {
	for name, add := range map[string]func(service *corev1.Service, i int){
		"labels":      func(service *corev1.Service, i int) { service.Labels[strconv.Itoa(i)] = "" },
		"annotations": func(service *corev1.Service, i int) { service.Annotations[strconv.Itoa(i)] = "" },
		"addresses": func(service *corev1.Service, i int) {
			service.Spec.ExternalIPs = append(service.Spec.ExternalIPs, strconv.Itoa(i))
		},
		"selector": func(service *corev1.Service, i int) { service.Spec.Selector[strconv.Itoa(i)] = "" },
		"ports": func(service *corev1.Service, i int) {
			service.Spec.Ports = append(service.Spec.Ports, corev1.ServicePort{Name: strconv.Itoa(i), Port: int32(i)})
		},
	} {
		for _, count := range []int{1, endpoints.MaxLabels, endpoints.MaxLabels + 1, 40_000} {
			t.Run(fmt.Sprintf("%d %s", count, name), func(t *testing.T) {
				service := &corev1.Service{
					TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
					ObjectMeta: metav1.ObjectMeta{Name: "web", Labels: map[string]string{}, Annotations: map[string]string{}},
					Spec: corev1.ServiceSpec{
						Selector: map[string]string{"app": "web", "tier": "front", "version": "2"}, Ports: []corev1.ServicePort{{Port: 1}, {Port: 2}},
					},
				}
				for i := range count {
					add(service, i)
				}
				sent := encode(t, service)
				small := filterObject(nil, sent)
				if diff := cmp.Diff(stripped(t, decode(t, sent)), stripped(t, decode(t, small))); diff != "" {
					t.Errorf("stripped (-of all +of what the filter keeps):\n%s", diff)
				}
				if len(small) > 24<<10 {
					t.Errorf("%d of %d bytes are left", len(small), len(sent))
				}
			})
		}
	}
}

func TestFilterDropsLabelsOfAnIngress(t *testing.T) {
	ingress := &networkingv1.Ingress{
		TypeMeta:   metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "Ingress"},
		ObjectMeta: metav1.ObjectMeta{Name: "web", Labels: map[string]string{}, Annotations: map[string]string{"alb.ingress.kubernetes.io/scheme": "internal"}},
	}
	for i := range 40_000 {
		ingress.Labels[strconv.Itoa(i)] = ""
	}
	sent := encode(t, ingress)
	small := filterObject(nil, sent)
	if got := decode(t, small).(*networkingv1.Ingress); len(small) > 1<<10 || len(got.Annotations) != 1 {
		t.Errorf("%d of %d bytes are left, and annotations %v", len(small), len(sent), got.Annotations)
	}
}
