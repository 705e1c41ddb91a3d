// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package endpoints

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

func TestWorkloadOfAPod(t *testing.T) {
	for name, tc := range map[string]struct {
		kind, owner string
		labels      map[string]string
		want        string
	}{
		"nobody's":                   {},
		"a StatefulSet's":            {kind: "StatefulSet", owner: "db", want: "StatefulSet db"},
		"a ReplicaSet's":             {kind: "ReplicaSet", owner: "web-5d8f", want: "ReplicaSet web-5d8f"},
		"a Deployment's":             {kind: "ReplicaSet", owner: "web-5d8f", labels: map[string]string{"pod-template-hash": "5d8f"}, want: "ReplicaSets of web"},
		"a Rollout's":                {kind: "ReplicaSet", owner: "web-7c", labels: map[string]string{"rollouts-pod-template-hash": "7c"}, want: "ReplicaSets of web"},
		"a label of another's value": {kind: "ReplicaSet", owner: "web-7c", labels: map[string]string{"pod-template-hash": "8"}, want: "ReplicaSet web-7c"},
	} {
		t.Run(name, func(t *testing.T) {
			pod := newPod("web-0", "10.0.0.1")
			pod.Labels = tc.labels
			if tc.kind != "" {
				pod.OwnerReferences = []metav1.OwnerReference{{Kind: tc.kind, Name: tc.owner, UID: "owner", Controller: ptr.To(true)}}
			}
			if got, stripped := Workload(pod), Workload(mustStrip(t, pod)); got != tc.want || stripped != tc.want {
				t.Errorf("%q, stripped %q; want %q", got, stripped, tc.want)
			}
		})
	}
}

// A pod whose own labels were changed is taken out; one that the Service no longer selects because its selector was changed is replaced.
func TestOwnLabelsAreToldFromTheSelector(t *testing.T) {
	web, blue, green := map[string]string{"app": "web"}, map[string]string{"app": "web", "color": "blue"}, map[string]string{"app": "web", "color": "green"}
	of := func(name, set string, labels map[string]string) *corev1.Pod {
		pod := newPod(name, "10.0.0.1")
		pod.Labels, pod.OwnerReferences = labels, []metav1.OwnerReference{{Kind: "ReplicaSet", Name: set, UID: types.UID(set), Controller: ptr.To(true)}}
		return pod
	}
	debugged := map[string]string{"app": "debugged", "color": "blue"}
	for name, tc := range map[string]struct {
		selectors []map[string]string // of the Service, one after the other
		labels    map[string]string
		unseen    bool // the pod was registered before our time
		sibling   *corev1.Pod
		want      bool
	}{
		"its labels":                                 {selectors: []map[string]string{web}, labels: debugged, want: true},
		"the selector":                               {selectors: []map[string]string{blue, green}, labels: blue},
		"the selector, there and back":               {selectors: []map[string]string{blue, green, blue, green}, labels: blue},
		"the selector, and then its labels":          {selectors: []map[string]string{blue, green}, labels: debugged, want: true},
		"it is selected":                             {selectors: []map[string]string{web}, labels: blue},
		"before our time":                            {selectors: []map[string]string{web}, labels: debugged, unseen: true},
		"before our time, and a sibling is selected": {selectors: []map[string]string{web}, labels: debugged, unseen: true, sibling: of("web-1", "set", blue), want: true},
		"before our time, and another is selected":   {selectors: []map[string]string{green}, labels: blue, unseen: true, sibling: of("web-1", "other", green)},
		"before our time, and no sibling is":         {selectors: []map[string]string{green}, labels: blue, unseen: true, sibling: of("web-1", "set", blue)},
	} {
		t.Run(name, func(t *testing.T) {
			cache, pod := NewCache(), of("web-0", "set", tc.labels)
			for _, one := range []*corev1.Pod{pod, tc.sibling} {
				if one != nil {
					cache.pods().change(nil, one)
				}
			}
			service := &corev1.Service{}
			var known PastSelectors
			for _, selector := range tc.selectors {
				service.Spec.Selector = selector
				known = known.with(service.DeepCopy())
			}
			r := resolving{
				Pass: NewResolver(nil, cache, false).ForPass(), binding: newBinding(), group: ownedGroup(pod.UID),
				res: &Resolution{Service: service, Memory: Memory{Selectors: known}},
			}
			if tc.unseen {
				r.group = ownedGroup("")
			}
			got := r.unlistedEndpoint(one, pod, nodeFacts{})
			if got.judgeUnlisted(nodeFacts{}, Selects(service, pod)); (got.Held == HeldByLabels) != tc.want {
				t.Errorf("held %d, %s; want held by labels: %t", got.Held, got.State, tc.want)
			}
			if got.State == HeldBack {
				t.Error("a pod that is not selected is held back: its gate would wait for that")
			}
		})
	}
}
