// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"strings"

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
	nodeReady = nodeState{corev1.NodeReady, corev1.ConditionTrue, "KubeletReady", "kubelet is posting ready status"}
)

// readyState is the condition Ready of a node that is ready or not, and may be in a graceful shutdown, in the words of a kubelet or,
// when nothing is heard of it, of the node lifecycle controller.
func readyState(ready corev1.ConditionStatus, shutsDown bool) nodeState {
	if ready == corev1.ConditionUnknown {
		return unheard(corev1.NodeReady)
	}
	var faults []string
	if ready == corev1.ConditionFalse {
		faults = append(faults, "container runtime is down")
	}
	if shutsDown {
		faults = append(faults, "node is shutting down")
	}
	switch len(faults) {
	case 0:
		return nodeReady
	case 1:
		return nodeState{corev1.NodeReady, corev1.ConditionFalse, "KubeletNotReady", faults[0]}
	default:
		return nodeState{corev1.NodeReady, corev1.ConditionFalse, "KubeletNotReady", "[" + strings.Join(faults, ", ") + "]"}
	}
}

func unheard(kind corev1.NodeConditionType) nodeState {
	return nodeState{kind, corev1.ConditionUnknown, "NodeStatusUnknown", "Kubelet stopped posting node status."}
}

// nodeConditions are all of a node's.
func nodeConditions(ready nodeState, since, now metav1.Time) []corev1.NodeCondition {
	conditions := make([]corev1.NodeCondition, 0, len(noPressure)+1)
	for _, s := range append(append([]nodeState{}, noPressure...), ready) {
		if ready.status == corev1.ConditionUnknown {
			s = unheard(s.kind)
		}
		conditions = append(conditions, corev1.NodeCondition{
			Type: s.kind, Status: s.status, Reason: s.reason, Message: s.message,
			LastHeartbeatTime: now, LastTransitionTime: since,
		})
	}
	return conditions
}
