// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package endpoints

import corev1 "k8s.io/api/core/v1"

// IsLeaving reports whether the node is about to end: its targets are deregistered, whatever bindings select.
func IsLeaving(node *corev1.Node) bool {
	return !node.DeletionTimestamp.IsZero() || isDisrupted(node)
}
