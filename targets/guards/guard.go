// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package guards

import corev1 "k8s.io/api/core/v1"

// Label is what marks the pods of node guards, with the value Enabled.
const (
	Label   = "targetgate.dev/node-guard"
	Enabled = "enabled"
)

// Is reports whether the pod is a node guard: it has the label, in targetgate's own namespace. Where that is not known, none is. In any
// other namespace the label means nothing: whoever may create pods there has no say in when a node goes.
func Is(pod *corev1.Pod, own string) bool {
	return own != "" && pod.Namespace == own && pod.Labels[Label] == Enabled
}
