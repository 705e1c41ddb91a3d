// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package endpoints

import (
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/utils/ptr"
)

// maxNamedPorts is how many named ports of a pod are kept; pods that people make have far fewer.
const maxNamedPorts = 100

// keptContainers stands for the containers of a pod: one, with the named ports of all, and with the shortest preStop sleep if all of
// them have one.
func keptContainers(pod *corev1.Pod) []corev1.Container {
	ports, sleep := namedPorts(pod), shortestSleep(pod)
	if len(ports) == 0 && sleep == 0 {
		return nil
	}
	key := strconv.AppendInt(nil, sleep, 10)
	for _, port := range ports {
		key = strconv.AppendInt(append(append(append(key, ' '), port.Name...), '='), int64(port.ContainerPort), 10)
	}
	return sharedContainers.of(key, containers(ports, sleep))
}

// namedPorts are those of the containers that run beside the app, the first one of each name.
func namedPorts(pod *corev1.Pod) []corev1.ContainerPort {
	var ports []corev1.ContainerPort
	add := func(c *corev1.Container) {
		for _, port := range c.Ports {
			same := func(p corev1.ContainerPort) bool { return p.Name == port.Name }
			if port.Name != "" && len(ports) < maxNamedPorts && !slices.ContainsFunc(ports, same) {
				ports = append(ports, corev1.ContainerPort{Name: port.Name, ContainerPort: port.ContainerPort})
			}
		}
	}
	for i := range pod.Spec.Containers {
		add(&pod.Spec.Containers[i])
	}
	for i := range pod.Spec.InitContainers {
		if c := &pod.Spec.InitContainers[i]; c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			add(c)
		}
	}
	return ports
}

// containers are the one that stands for those with these ports and this sleep, in seconds.
func containers(ports []corev1.ContainerPort, sleep int64) []corev1.Container {
	kept := []corev1.Container{{Name: "kept", Ports: ports}}
	if sleep > 0 {
		kept[0].Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: sleep}}}
	}
	return kept
}

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
