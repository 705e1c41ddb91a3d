// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package endpoints

import (
	"bytes"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unsafe"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/targetgate/targetgate/readiness"
)

// What pods of a Deployment have in common is in memory once, and pods that differ have nothing in common.
func TestPodsShareWhatIsTheSame(t *testing.T) {
	strip := func(change func(*corev1.Pod)) *corev1.Pod {
		pod, isController := newPod("web-0", "10.0.0.1"), true
		pod.Labels = map[string]string{"app": "web", "hash": "1", "empty": ""}
		pod.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "web-1", UID: "a", Controller: &isController}}
		pod.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: readiness.GateFor("web")}}
		pod.Status.Conditions = []corev1.PodCondition{{Type: readiness.GateFor("web")}}
		change(pod)
		stripped, err := StripPod(pod)
		if err != nil {
			t.Fatal(err)
		}
		return stripped.(*corev1.Pod)
	}
	parts := map[string]func(*corev1.Pod) any{
		"labels": func(p *corev1.Pod) any { return reflect.ValueOf(p.Labels).Pointer() },
		"owner":  func(p *corev1.Pod) any { return &p.OwnerReferences[0] },
		"gates":  func(p *corev1.Pod) any { return &p.Spec.ReadinessGates[0] },
		"type of a condition": func(p *corev1.Pod) any {
			return unsafe.StringData(string(p.Status.Conditions[0].Type)) == unsafe.StringData(string(p.Spec.ReadinessGates[0].ConditionType))
		},
		"namespace": func(p *corev1.Pod) any { return unsafe.StringData(p.Namespace) },
	}
	one, same := strip(func(*corev1.Pod) {}), strip(func(p *corev1.Pod) { p.Name, p.Namespace = "web-1", strings.Clone(p.Namespace) })
	for name, of := range parts {
		if of(one) != of(same) {
			t.Errorf("%s: in memory twice", name)
		}
	}
	others := map[string]func(*corev1.Pod){
		"a label":         func(p *corev1.Pod) { p.Labels["hash"] = "2" },
		"a label's name":  func(p *corev1.Pod) { p.Labels = map[string]string{"app": "web", "hash": "", "empty": "1"} },
		"one label more":  func(p *corev1.Pod) { p.Labels["more"] = "" },
		"an owner's UID":  func(p *corev1.Pod) { p.OwnerReferences[0].UID = "b" },
		"an owner's name": func(p *corev1.Pod) { p.OwnerReferences[0].Name = "web-2" },
		"a gate":          func(p *corev1.Pod) { p.Spec.ReadinessGates[0].ConditionType = readiness.GateFor("other") },
		"one gate more": func(p *corev1.Pod) {
			p.Spec.ReadinessGates = append(p.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: readiness.GateFor("more")})
		},
	}
	for name, change := range others {
		want := newPod("web-0", "10.0.0.1")
		want.Labels, want.OwnerReferences, want.Spec.ReadinessGates = maps.Clone(one.Labels), slices.Clone(one.OwnerReferences), slices.Clone(one.Spec.ReadinessGates)
		change(want)
		got := strip(change)
		if !equality.Semantic.DeepEqual(got.Labels, want.Labels) || !equality.Semantic.DeepEqual(got.OwnerReferences, want.OwnerReferences) ||
			!equality.Semantic.DeepEqual(got.Spec.ReadinessGates, want.Spec.ReadinessGates) {
			t.Errorf("%s: %v, %v, %v, want it to differ from the other pod's", name, got.Labels, got.OwnerReferences, got.Spec.ReadinessGates)
		}
	}
}

// What is remembered of pods that are gone is bounded, in number and in size.
func TestSharingForgets(t *testing.T) {
	var s sharing[int]
	for i := range 3 * maxShared {
		if got := s.of(fmt.Append(nil, i), i); got != i {
			t.Fatalf("got %d, want the new value %d", got, i)
		}
		if len(s.known) > maxShared {
			t.Fatalf("%d values are remembered, want at most %d", len(s.known), maxShared)
		}
	}
	long := bytes.Repeat([]byte("x"), maxSharedKey+1)
	if s.of(long, 1); s.of(long, 2) != 2 {
		t.Error("a value with a long key is remembered")
	}
}
