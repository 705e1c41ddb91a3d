// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package testbed

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/targetgate/targetgate/readiness"
)

// VersionOf is the VERSION that Roll changes, empty when the pod has none.
func VersionOf(pod *corev1.Pod) string {
	for _, container := range pod.Spec.Containers {
		for _, env := range container.Env {
			if env.Name == "VERSION" {
				return env.Value
			}
		}
	}
	return ""
}

// GatesOpen reports whether the pod has gates and all are True.
func GatesOpen(pod *corev1.Pod) bool {
	for _, gate := range pod.Spec.ReadinessGates {
		if !readiness.IsOpen(pod, gate.ConditionType) {
			return false
		}
	}
	return len(pod.Spec.ReadinessGates) > 0
}

// ContainersReady reports whether all containers of the pod are ready.
func ContainersReady(pod *corev1.Pod) bool { return readiness.IsOpen(pod, corev1.ContainersReady) }

// IsReady reports whether the pod is Ready.
func IsReady(pod *corev1.Pod) bool { return readiness.IsOpen(pod, corev1.PodReady) }
