// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func TestStripPodKeepsWhatIsRead(t *testing.T) {
	pod := newPod("web-0", "10.0.0.1")
	pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = ptr.To(metav1.NewTime(noon)), ptr.To[int64](30)
	pod.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "web"}}
	pod.Spec.NodeName, pod.Status.Phase = "node-1", corev1.PodRunning
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: testGate, Status: corev1.ConditionTrue})
	want := pod.DeepCopy()
	pod.Annotations = map[string]string{"big": "text"}
	pod.Spec.Containers = []corev1.Container{{Name: "web"}}
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: corev1.PodScheduled})
	stripped, err := StripPod(pod)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, stripped); diff != "" {
		t.Errorf("pod (-want +got):\n%s", diff)
	}
}

func TestStripNodeKeepsWhatIsRead(t *testing.T) {
	node := changed(newNode("node-1", "i-01", corev1.ConditionFalse), func(n *corev1.Node) {
		n.Spec.Taints = []corev1.Taint{{Key: "ToBeDeletedByClusterAutoscaler"}}
		n.DeletionTimestamp = ptr.To(metav1.NewTime(time.Unix(1, 0)))
		n.Status.Images = []corev1.ContainerImage{{Names: []string{"web"}}}
	})
	stripped, err := StripNode(node)
	if err != nil {
		t.Fatal(err)
	}
	node.Status.Images = nil
	if diff := cmp.Diff(node, stripped); diff != "" {
		t.Errorf("node (-want +got):\n%s", diff)
	}
}
