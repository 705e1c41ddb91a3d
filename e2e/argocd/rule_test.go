// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/targetgate/targetgate/targets/v1beta1"
)

// The binding has generation 2. A condition is "Type Status generation".
func TestRule(t *testing.T) {
	rule, err := Read("../..")
	if err != nil {
		t.Fatal(err)
	}
	const ready, calm = "Ready True 2", "Degraded False 2"
	for name, tc := range map[string]struct {
		observed   int64 // 0 for none
		conditions []string
		want       Health
	}{
		"no status":                      {want: Health{"Progressing", "Waiting for a controller"}},
		"the CRD's default":              {observed: -1, want: Health{"Progressing", "Waiting for a controller"}},
		"aws-load-balancer-controller's": {observed: 2, want: Health{"Healthy", "A controller has acted on it"}},
		"its, after a change":            {observed: 1, want: Health{"Progressing", "Waiting for a controller"}},
		"its, after targetgate's":        {observed: 2, conditions: []string{"Ready False 1", "Degraded True 1"}, want: Health{"Healthy", "A controller has acted on it"}},
		"served":                         {observed: 2, conditions: []string{ready, calm}, want: Health{"Healthy", "Because: Ready"}},
		"served before a change":         {observed: 1, conditions: []string{"Ready True 1", "Degraded False 1"}, want: Health{"Progressing", "Waiting for a controller"}},
		"served, not acted on":           {observed: 1, conditions: []string{ready, calm}, want: Health{"Progressing", "Waiting for a controller"}},
		"not ready":                      {observed: -1, conditions: []string{"Ready False 2", calm}, want: Health{"Progressing", "Because: Ready"}},
		"not ready, acted on":            {observed: 2, conditions: []string{"Ready False 2", calm}, want: Health{"Progressing", "Because: Ready"}},
		"degraded":                       {observed: 2, conditions: []string{ready, "Degraded True 2"}, want: Health{"Degraded", "Because: Degraded"}},
		"degraded before a change":       {observed: 1, conditions: []string{"Ready False 1", "Degraded True 1"}, want: Health{"Progressing", "Waiting for a controller"}},
		"with rules":                     {observed: 2, conditions: []string{ready, calm, "NetworkingReady True 2"}, want: Health{"Healthy", "Because: Ready"}},
		"while rules are added":          {observed: 2, conditions: []string{ready, calm, "NetworkingReady Unknown 2"}, want: Health{"Progressing", "Because: NetworkingReady"}},
		"rules cannot be added":          {observed: 2, conditions: []string{ready, calm, "NetworkingReady False 2"}, want: Health{"Degraded", "Because: NetworkingReady"}},
	} {
		t.Run(name, func(t *testing.T) {
			binding := &v1beta1.TargetGroupBinding{ObjectMeta: metav1.ObjectMeta{Generation: 2}}
			if tc.observed != 0 {
				binding.Status.ObservedGeneration = &tc.observed
			}
			for _, text := range tc.conditions {
				part := strings.Fields(text)
				binding.Status.Conditions = append(binding.Status.Conditions, metav1.Condition{
					Type: part[0], Status: metav1.ConditionStatus(part[1]), ObservedGeneration: int64(part[2][0] - '0'),
					Reason: "Because", Message: part[0],
				})
			}
			fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(binding)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := rule.Of(&unstructured.Unstructured{Object: fields}); err != nil || got != tc.want {
				t.Errorf("%v, %v, want %v", got, err, tc.want)
			}
		})
	}
}
