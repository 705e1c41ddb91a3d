// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/targets/endpoints"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// A node wakes those to which it matters, and nobody else.
func TestBindingsOfNode(t *testing.T) {
	instance := func(name string, selector *metav1.LabelSelector) *v1beta1.TargetGroupBinding {
		binding := newBinding()
		kind := v1beta1.TargetTypeInstance
		binding.Spec.ServiceRef.Name = "nodes"
		binding.Name, binding.UID, binding.Spec.TargetType, binding.Spec.NodeSelector = name, types.UID(name), &kind, selector
		return binding
	}
	onNode := newPod("web-0", "10.0.0.1")
	onNode.Spec.NodeName = "node-1"
	objects := []client.Object{
		onNode, newSlice("web-1", onNode), instance("all", nil),
		instance("web-pool", &metav1.LabelSelector{MatchLabels: map[string]string{"pool": "web"}}),
		instance("other-pool", &metav1.LabelSelector{MatchLabels: map[string]string{"pool": "other"}}),
		instance("holds-it", &metav1.LabelSelector{MatchLabels: map[string]string{"pool": "other"}}),
	}
	for name, tc := range map[string]struct {
		node string
		want []string
	}{
		"with a pod":    {"node-1", []string{"all", "holds-it", "web", "web-pool"}},
		"without a pod": {"node-2", []string{"all", "holds-it", "web-pool"}},
	} {
		t.Run(name, func(t *testing.T) {
			inBed(t, func(b *bed) {
				b.resolver.Holders.Hold(types.NamespacedName{Namespace: "shop", Name: "holds-it"}, map[string]bool{"i-01": true})
				var got []string
				for _, request := range b.watcher().bindingsOfNode(t.Context(), newNode(tc.node, "i-01", corev1.ConditionTrue)) {
					got = append(got, request.Name)
				}
				slices.Sort(got)
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("bindings (-want +got):\n%s", diff)
				}
			}, objects...)
		})
	}
}

// What no slice lists any more is still in the group: the pod's end must wake the binding.
func TestPodThatSlippedOutOfTheSlicesWakesItsBinding(t *testing.T) {
	pod := newPod("web-0", "10.0.0.1")
	pod.Spec.ReadinessGates = nil
	slice := newSlice("web-1", pod)
	slice.Endpoints[0].Conditions.Ready = nil
	inBed(t, func(b *bed) {
		b.settle()
		b.after(time.Second)
		b.must(b.cluster.Delete(t.Context(), slice))
		b.settle()
		if got := b.watcher().bindingsOfPod(t.Context(), pod); len(got) != 1 || got[0].NamespacedName != webKey {
			t.Errorf("woken: %v, want %s", got, webKey)
		}
	}, pod, slice)
}

func TestSelectorsAreBoundedAndCompiledOnce(t *testing.T) {
	expression := func(values int) metav1.LabelSelectorRequirement {
		return metav1.LabelSelectorRequirement{Key: "pool", Operator: metav1.LabelSelectorOpIn, Values: make([]string, values)}
	}
	terms := func(n int) (out metav1.LabelSelector) {
		for i := range n {
			out.MatchExpressions = append(out.MatchExpressions,
				metav1.LabelSelectorRequirement{Key: fmt.Sprintf("k%d", i), Operator: metav1.LabelSelectorOpDoesNotExist})
		}
		return out
	}
	for name, tc := range map[string]struct {
		selector metav1.LabelSelector
		want     string
	}{
		"as many terms as may be":  {terms(v1beta1.MaxNodeSelectorExpressions), ""},
		"35,000 terms":             {terms(35_000), "takes at most 32"},
		"as many values as may be": {metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{expression(v1beta1.MaxNodeSelectorValues)}}, ""},
		"one more": {
			metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{expression(v1beta1.MaxNodeSelectorValues + 1)}},
			"and 64 values",
		},
	} {
		t.Run(name, func(t *testing.T) {
			binding, known := newBinding(), endpoints.NewResolver(nil, nil, false).Selectors
			binding.Spec.NodeSelector = &tc.selector
			_, err := known.Of(binding)
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("error %v, want %q", err, tc.want)
			}
			if allocs := testing.AllocsPerRun(10, func() { _, _ = known.Of(binding) }); allocs > 0 {
				t.Errorf("%v allocations when it is compiled already", allocs)
			}
			if allocs := testing.AllocsPerRun(1, func() { known.Drop(webKey); _, _ = known.Of(binding) }); allocs == 0 {
				t.Error("a selector is known after it was dropped")
			}
		})
	}
}
