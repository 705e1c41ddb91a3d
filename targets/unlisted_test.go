// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/conditions"
	"github.com/targetgate/targetgate/targets/targetgroup"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// Rules 4 and 12: a gate whose pod the Service selects and cannot have an endpoint for says so.
func TestRegistrarTellsWhyPodIsNoEndpoint(t *testing.T) {
	tests := map[string]struct {
		service func(*corev1.Service)
		binding func(*v1beta1.TargetGroupBinding)
		slice   func(*discoveryv1.EndpointSlice) // nil: there is none
		holdOff time.Duration
		want    string
		message string
	}{
		"another family": {
			service: func(s *corev1.Service) { s.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol} },
			binding: func(b *v1beta1.TargetGroupBinding) { b.Spec.IPAddressType = ptr.To(v1beta1.IPAddressTypeIPv6) },
			slice:   func(*discoveryv1.EndpointSlice) {}, holdOff: conditions.CacheLag, want: "False NoEndpoint",
			message: `Service "web" has no IPv6 addresses (spec.ipFamilies: [IPv4])`,
		},
		"a port that the pod's containers do not have": {
			slice: func(s *discoveryv1.EndpointSlice) { s.Ports = nil }, holdOff: conditions.CacheLag, want: "False NoEndpoint",
			message: `the EndpointSlices of Service "web" list the pod without port "80"`,
		},
		"ExternalName": {
			service: func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeExternalName }, holdOff: conditions.CacheLag, want: "True NoEndpoint",
		},
		"no slice": {
			holdOff: time.Minute, want: "False NoEndpoint", message: `no EndpointSlice of Service "web" lists the pod at port "80"`,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			pod := newPod("web-0", "10.0.0.1")
			inBed(t, func(b *bed) {
				binding, service, slice := b.binding(), newService(), newSlice("web-1", pod)
				if tc.binding != nil {
					tc.binding(binding)
					b.must(b.cluster.Update(t.Context(), binding))
				}
				if tc.service != nil {
					tc.service(service)
					b.must(b.cluster.Update(t.Context(), service))
				}
				if tc.slice != nil {
					tc.slice(slice)
					b.must(b.cluster.Create(t.Context(), slice))
				}
				if result := b.settle(); result.RequeueAfter > tc.holdOff {
					t.Errorf("next look in %s, want it when the hold-off is over", result.RequeueAfter)
				}
				b.after(tc.holdOff - time.Second)
				if got := b.condition("web-0"); got != "" {
					t.Errorf("condition %q during the hold-off", got)
				}
				b.after(time.Second)
				b.after(targetgroup.Brief)
				if got := b.condition("web-0"); got != tc.want {
					t.Errorf("condition %q, want %q", got, tc.want)
				}
				if tc.message == "" {
					return
				}
				for _, c := range []*metav1.Condition{b.ready(), b.degraded()} {
					if c.Reason != v1beta1.ReasonNoEndpoint || !strings.Contains(c.Message, tc.message) {
						t.Errorf("condition %s says %s: %s", c.Type, c.Reason, c.Message)
					}
				}
				if told := b.told(readiness.ReasonNoEndpoint); told != 2 {
					t.Errorf("told %d times, want on pod and binding", told)
				}
			}, pod)
		})
	}
}

// A pod that is not there yet waits for its node, not for its EndpointSlice.
func TestRegistrarIsSilentAboutPodNotReadyToBeListed(t *testing.T) {
	for name, change := range map[string]func(*corev1.Pod){
		"no address":           func(p *corev1.Pod) { p.Status.PodIPs = nil },
		"containers not ready": func(p *corev1.Pod) { p.Status.Conditions = nil },
	} {
		t.Run(name, func(t *testing.T) {
			pod := newPod("web-0", "10.0.0.1")
			change(pod)
			inBed(t, func(b *bed) {
				b.settle()
				b.after(time.Hour)
				if got := b.condition("web-0"); got != "" || b.degraded().Status == metav1.ConditionTrue {
					t.Errorf("condition %q, Degraded %v; want none", got, b.degraded())
				}
			}, pod)
		})
	}
}
