// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package endpoints

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
)

// A node guard waits for the nodes whose targets go because the node does, and for no other.
func TestIsLeavingAgreesWithTheStateOfEndpoints(t *testing.T) {
	tests := map[string]struct {
		change func(*corev1.Node)
		want   bool
	}{
		"ready":       {func(*corev1.Node) {}, false},
		"being ended": {func(n *corev1.Node) { n.DeletionTimestamp = ptr.To(metav1.Now()) }, true},
		"Karpenter's": {func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{{Key: "karpenter.sh/disrupted", Effect: corev1.TaintEffectNoSchedule}}
		}, true},
		"the autoscaler's": {func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{{Key: "ToBeDeletedByClusterAutoscaler", Effect: corev1.TaintEffectNoSchedule}}
		}, true},
		"cordoned":          {func(n *corev1.Node) { n.Spec.Unschedulable = true }, false},
		"excluded by label": {func(n *corev1.Node) { n.Labels = map[string]string{corev1.LabelNodeExcludeBalancers: ""} }, false},
		"not ready":         {func(n *corev1.Node) { n.Status.Conditions = nil }, false},
		"tainted by someone": {func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{{Key: "gpu", Effect: corev1.TaintEffectNoSchedule}}
		}, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			node := newNode("node-1", "i-01", corev1.ConditionTrue)
			tc.change(node)
			state, _ := nodeStanding(node, labels.Everything())
			if got := IsLeaving(node); got != tc.want || got != (state == Terminating) {
				t.Errorf("leaving: %t, want %t; as an endpoint it is %s", got, tc.want, state)
			}
		})
	}
}
