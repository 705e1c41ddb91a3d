// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package endpoints

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/utils/ptr"
)

// shortestSleep is for how long all containers serve after the pod's deletion, by their preStop sleeps, in seconds; 0 when that may be no
// time. A container without a preStop gets SIGTERM with the deletion, and how long a preStop of another kind takes is not known. A
// sidecar gets SIGTERM after the containers have ended, but its preStop begins with theirs, and any but a sleep may have it refuse
// connections.
func shortestSleep(pod *corev1.Pod) int64 {
	var shortest int64
	for i := range pod.Spec.Containers {
		hook := preStop(&pod.Spec.Containers[i])
		if hook == nil || hook.Sleep == nil {
			return 0
		}
		if sleep := hook.Sleep.Seconds; i == 0 || sleep < shortest {
			shortest = sleep
		}
	}
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		if hook := preStop(c); IsSidecar(c) && hook != nil && hook.Sleep == nil {
			return 0
		}
	}
	return max(0, shortest)
}

func preStop(c *corev1.Container) *corev1.LifecycleHandler {
	if c.Lifecycle == nil {
		return nil
	}
	return c.Lifecycle.PreStop
}

// IsSidecar reports whether an init container runs beside the containers.
func IsSidecar(c *corev1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

// firstWithSleep is the first version whose kubelets run a preStop sleep by default.
var firstWithSleep = version.MajorMinor(1, 30)

// isSleepless reports whether a kubelet of that version, such as v1.29.15-eks-abc1234, runs no preStop sleep: its pods get SIGTERM when
// they are deleted. One whose version is missing or cannot be parsed counts as one that sleeps: all do that Kubernetes still supports.
func isSleepless(kubelet string) bool {
	parsed, err := version.ParseGeneric(kubelet)
	return err == nil && parsed.LessThan(firstWithSleep)
}

// servesUntil is when the pod, which is being deleted, gets SIGTERM at the earliest: when its sleep ends, or the grace period of its
// deletion if that is shorter. It is zero when that may be now, or is not known.
func servesUntil(pod *corev1.Pod, node nodeFacts) time.Time {
	sleep, grace := shortestSleep(pod), ptr.Deref(pod.DeletionGracePeriodSeconds, 0)
	if node.sleepless || pod.DeletionTimestamp == nil || min(sleep, grace) <= 0 || hasEnded(pod) || !ContainersReady(pod) {
		return time.Time{}
	}
	return pod.DeletionTimestamp.Add(time.Duration(min(sleep, grace)-grace) * time.Second)
}
