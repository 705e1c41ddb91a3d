// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"context"

	corev1 "k8s.io/api/core/v1"
)

// MayLeave is the condition of a node guard's pod that lets the guard leave when it is True. It is no gate, and no pod's readiness
// depends on it.
const MayLeave corev1.PodConditionType = "targetgate.dev/MayLeave"

// The reasons of MayLeave.
const (
	// ReasonNodeDrained: the node leaves, and no target group has it any more. The guard may leave.
	ReasonNodeDrained = "NodeDrained"
	// ReasonNodeStays: the node does not leave. A guard that is deleted may leave; any other was told of a departure that was called off.
	ReasonNodeStays = "NodeStays"
	// ReasonTargetsLeft: the node leaves, and a target group still has it, or may have it. The guard must wait.
	ReasonTargetsLeft = "TargetsLeft"
)

// SetMayLeave writes the condition MayLeave of a node guard's pod, whatever it says now. As with Set, no other pod of that name is
// changed, and such a pod, or a missing one, is not an error. It returns what Set does.
func (w *Writer) SetMayLeave(ctx context.Context, pod *corev1.Pod, answer Health) (version string, err error) {
	return w.write(ctx, pod, []corev1.PodConditionType{MayLeave}, answer)
}
