// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package endpoints

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/utils/ptr"
)

// shortestSleep is the shortest preStop sleep of the containers, in seconds; 0 when one of them has none. A container without gets SIGTERM
// with the pod's deletion, and how long a preStop of another kind takes is not known. Sidecars end after the containers.
func shortestSleep(pod *corev1.Pod) int64 {
	var shortest int64
	for i := range pod.Spec.Containers {
		lifecycle := pod.Spec.Containers[i].Lifecycle
		if lifecycle == nil || lifecycle.PreStop == nil || lifecycle.PreStop.Sleep == nil {
			return 0
		}
		if sleep := lifecycle.PreStop.Sleep.Seconds; i == 0 || sleep < shortest {
			shortest = sleep
		}
	}
	return max(0, shortest)
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
