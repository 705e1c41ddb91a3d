// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	"github.com/targetgate/targetgate/targets/v1beta1"
	"github.com/targetgate/targetgate/webhook/webhooktest"
)

func ofService(service string) func(*v1beta1.TargetGroupBinding) {
	return func(b *v1beta1.TargetGroupBinding) { b.Spec.ServiceRef.Name = service }
}

func ofProtocol(spec, status v1beta1.Protocol) func(*v1beta1.TargetGroupBinding) {
	return func(b *v1beta1.TargetGroupBinding) {
		b.Spec.TargetGroupProtocol = nil
		if spec != "" {
			b.Spec.TargetGroupProtocol = &spec
		}
		if status != "" {
			b.Status.TargetGroup = &v1beta1.TargetGroupSettings{Protocol: status}
		}
	}
}

func createdAt(service *corev1.Service, at time.Time) *corev1.Service {
	service.CreationTimestamp = metav1.NewTime(at)
	return service
}

func external(service *corev1.Service) *corev1.Service {
	service.Spec.Type = corev1.ServiceTypeExternalName
	return service
}

var compareCoverage = cmp.Options{cmp.AllowUnexported(coverage{}, coveringBinding{}), cmpopts.EquateEmpty()}

func TestMatcherCovers(t *testing.T) {
	early, late := time.Unix(1, 0), time.Unix(2, 0)
	web := createdAt(webhooktest.NewService("web", map[string]string{"app": "web"}), early)
	gate := func(name string, protocol v1beta1.Protocol) coveringBinding {
		return coveringBinding{corev1.PodConditionType("target-health.elbv2.k8s.aws/" + name), protocol}
	}
	tests := map[string]struct {
		bindings       []*v1beta1.TargetGroupBinding
		services       []*corev1.Service
		labels         map[string]string
		want           coverage
		wantIncomplete bool
	}{
		"several bindings, by name": {
			bindings: []*v1beta1.TargetGroupBinding{webhooktest.NewBinding("b"), webhooktest.NewBinding("a", ofProtocol("TCP", "HTTP")), webhooktest.NewBinding("c", ofProtocol("", "UDP"))},
			services: []*corev1.Service{web}, labels: map[string]string{"app": "web"},
			want: coverage{bindings: []coveringBinding{gate("a", "TCP"), gate("b", "HTTP"), gate("c", "UDP")}, service: "web"},
		},
		"protocol not known yet": {
			bindings: []*v1beta1.TargetGroupBinding{webhooktest.NewBinding("a", ofProtocol("", ""))},
			services: []*corev1.Service{web}, labels: map[string]string{"app": "web"},
			want: coverage{bindings: []coveringBinding{gate("a", "")}, service: "web"},
		},
		"several Services": {
			bindings: []*v1beta1.TargetGroupBinding{webhooktest.NewBinding("a", ofService("all")), webhooktest.NewBinding("b")},
			services: []*corev1.Service{web, webhooktest.NewService("all", map[string]string{"tier": "front"}), webhooktest.NewService("other", map[string]string{"app": "api"})},
			labels:   map[string]string{"app": "web", "tier": "front"},
			want:     coverage{bindings: []coveringBinding{gate("a", "HTTP"), gate("b", "HTTP")}, service: "all"},
		},
		"one label of two": {
			bindings: []*v1beta1.TargetGroupBinding{webhooktest.NewBinding("a")},
			services: []*corev1.Service{webhooktest.NewService("web", map[string]string{"app": "web", "tier": "front"})}, labels: map[string]string{"app": "web"},
		},
		"Services without a binding, the newest counts": {
			services: []*corev1.Service{web, createdAt(webhooktest.NewService("late", map[string]string{"app": "web"}), late), webhooktest.NewService("old", map[string]string{"app": "web"})},
			labels:   map[string]string{"app": "web"},
			want:     coverage{service: "late", unbound: late},
		},
		"Service with a binding that is not in force": {
			bindings: []*v1beta1.TargetGroupBinding{webhooktest.NewBinding("a", func(b *v1beta1.TargetGroupBinding) { b.Spec.TargetType = ptr.To(v1beta1.TargetTypeInstance) })},
			services: []*corev1.Service{web}, labels: map[string]string{"app": "web"},
			want: coverage{service: "web"},
		},
		"binding without its Service": {
			bindings: []*v1beta1.TargetGroupBinding{webhooktest.NewBinding("a", ofService("gone"))}, labels: map[string]string{"app": "web"},
			wantIncomplete: true,
		},
		"binding without its Service, not in force": {
			bindings: []*v1beta1.TargetGroupBinding{webhooktest.NewBinding("a", ofService("gone"), func(b *v1beta1.TargetGroupBinding) {
				b.DeletionTimestamp = ptr.To(metav1.Now())
			})},
		},
		"Service without a selector": {
			bindings: []*v1beta1.TargetGroupBinding{webhooktest.NewBinding("a")}, services: []*corev1.Service{webhooktest.NewService("web", nil)},
		},
		"Service of type ExternalName": {
			bindings: []*v1beta1.TargetGroupBinding{webhooktest.NewBinding("a")},
			services: []*corev1.Service{external(webhooktest.NewService("web", map[string]string{"app": "web"}))}, labels: map[string]string{"app": "web"},
		},
		"names that no gate can have": {
			bindings: []*v1beta1.TargetGroupBinding{webhooktest.NewBinding("a"), webhooktest.NewBinding(strings.Repeat("c", 64)), webhooktest.NewBinding(strings.Repeat("b", 64)), webhooktest.NewBinding(strings.Repeat("d", 63))},
			services: []*corev1.Service{web}, labels: map[string]string{"app": "web"},
			want: coverage{
				bindings: []coveringBinding{gate("a", "HTTP"), gate(strings.Repeat("d", 63), "HTTP")}, service: "web", nameless: strings.Repeat("b", 64),
			},
		},
		"no labels": {bindings: []*v1beta1.TargetGroupBinding{webhooktest.NewBinding("a")}, services: []*corev1.Service{web}},
		"empty value is a value": {
			bindings: []*v1beta1.TargetGroupBinding{webhooktest.NewBinding("a")},
			services: []*corev1.Service{webhooktest.NewService("web", map[string]string{"app": ""})}, labels: map[string]string{"other": ""},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var bindings []v1beta1.TargetGroupBinding
			for _, b := range tc.bindings {
				bindings = append(bindings, *b)
			}
			var services []corev1.Service
			for _, s := range tc.services {
				services = append(services, *s)
			}
			m := newMatcher(bindings, services)
			if diff := cmp.Diff(tc.want, m.cover(tc.labels), compareCoverage); diff != "" {
				t.Errorf("coverage (-want +got):\n%s", diff)
			}
			if m.incomplete != tc.wantIncomplete {
				t.Errorf("incomplete is %v, want %v", m.incomplete, tc.wantIncomplete)
			}
		})
	}
}

// Whatever selectors there are, a pod is covered by what Kubernetes says that selects it.
func FuzzMatcherAgreesWithKubernetes(f *testing.F) {
	f.Add("app=web,tier=front;app=web;app=api;;tier=", "app=web,tier=front")
	f.Add("a=1,b=2,c=3;a=1,b=2;a=1;b=2,c=3;c=3", "a=1,b=2,c=4")
	f.Add("=;=x;x=;x", "=,x=")
	f.Add("app.kubernetes.io/name=a;app.kubernetes.io/name=\x00", "app.kubernetes.io/name=\x00")
	f.Fuzz(func(t *testing.T, selectors, pod string) {
		assertMatches(t, strings.Split(selectors, ";"), parseLabels(pod))
	})
}

func TestMatcherAgreesWithKubernetes(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	someLabels := func(most int) string {
		var out []string
		for range random.IntN(most + 1) {
			out = append(out, fmt.Sprintf("k%d=v%d", random.IntN(4), random.IntN(3)))
		}
		return strings.Join(out, ",")
	}
	for range 500 {
		selectors := make([]string, random.IntN(30))
		for i := range selectors {
			selectors[i] = someLabels(3)
		}
		assertMatches(t, selectors, parseLabels(someLabels(4)))
	}
}

// parseLabels reads key=value pairs with commas between them.
func parseLabels(text string) map[string]string {
	out := map[string]string{}
	for pair := range strings.SplitSeq(text, ",") {
		if key, value, found := strings.Cut(pair, "="); found {
			out[key] = value
		}
	}
	return out
}

func assertMatches(t *testing.T, selectors []string, pod map[string]string) {
	t.Helper()
	var bindings []v1beta1.TargetGroupBinding
	var services []corev1.Service
	var want []coveringBinding
	for i, text := range selectors {
		name := fmt.Sprintf("s%06d", i)
		selector := parseLabels(text)
		services = append(services, *webhooktest.NewService(name, selector))
		bindings = append(bindings, *webhooktest.NewBinding(name, ofService(name)))
		if len(selector) > 0 && labels.SelectorFromSet(selector).Matches(labels.Set(pod)) {
			want = append(want, coveringBinding{corev1.PodConditionType("target-health.elbv2.k8s.aws/" + name), "HTTP"})
		}
	}
	got := newMatcher(bindings, services).cover(pod)
	if diff := cmp.Diff(want, got.bindings, compareCoverage); diff != "" {
		t.Fatalf("pod %v, selectors %q (-want +got):\n%s", pod, selectors, diff)
	}
}
