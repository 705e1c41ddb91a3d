// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// nodeState is one condition without its times.
type nodeState struct {
	kind    corev1.NodeConditionType
	status  corev1.ConditionStatus
	reason  string
	message string
}

var (
	noPressure = []nodeState{
		{corev1.NodeMemoryPressure, corev1.ConditionFalse, "KubeletHasSufficientMemory", "kubelet has sufficient memory available"},
		{corev1.NodeDiskPressure, corev1.ConditionFalse, "KubeletHasNoDiskPressure", "kubelet has no disk pressure"},
		{corev1.NodePIDPressure, corev1.ConditionFalse, "KubeletHasSufficientPID", "kubelet has sufficient PID available"},
	}
	nodeReady    = nodeState{corev1.NodeReady, corev1.ConditionTrue, "KubeletReady", "kubelet is posting ready status"}
	nodeNotReady = nodeState{corev1.NodeReady, corev1.ConditionFalse, "KubeletNotReady", "container runtime is down"}
)

// nodeConditions are what a kubelet says of a node that is ready or not, or what the node lifecycle controller says of one
// it has not heard of.
func nodeConditions(ready corev1.ConditionStatus, since, now metav1.Time) []corev1.NodeCondition {
	states := append([]nodeState{}, noPressure...)
	if ready == corev1.ConditionFalse {
		states = append(states, nodeNotReady)
	} else {
		states = append(states, nodeReady)
	}
	conditions := make([]corev1.NodeCondition, 0, len(states))
	for _, s := range states {
		if ready == corev1.ConditionUnknown {
			s = nodeState{s.kind, ready, "NodeStatusUnknown", "Kubelet stopped posting node status."}
		}
		conditions = append(conditions, corev1.NodeCondition{
			Type: s.kind, Status: s.status, Reason: s.reason, Message: s.message,
			LastHeartbeatTime: now, LastTransitionTime: since,
		})
	}
	return conditions
}
