// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package endpoints

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
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
		key = append(append(append(append(append(key, ' '), port.Name...), '/'), port.Protocol...), '=')
		key = strconv.AppendInt(key, int64(port.ContainerPort), 10)
	}
	return sharedContainers.of(key, containers(ports, sleep))
}

// namedPorts are those of the containers that run beside the app, the first one of each name and protocol. TCP is left out.
func namedPorts(pod *corev1.Pod) []corev1.ContainerPort {
	var ports []corev1.ContainerPort
	add := func(c *corev1.Container) {
		for _, port := range c.Ports {
			protocol := corev1.Protocol("")
			if port.Protocol == corev1.ProtocolUDP || port.Protocol == corev1.ProtocolSCTP {
				protocol = port.Protocol
			}
			same := func(p corev1.ContainerPort) bool { return p.Name == port.Name && p.Protocol == protocol }
			if port.Name != "" && len(ports) < maxNamedPorts && !slices.ContainsFunc(ports, same) {
				ports = append(ports, corev1.ContainerPort{Name: port.Name, ContainerPort: port.ContainerPort, Protocol: protocol})
			}
		}
	}
	for i := range pod.Spec.Containers {
		add(&pod.Spec.Containers[i])
	}
	for i := range pod.Spec.InitContainers {
		if c := &pod.Spec.InitContainers[i]; IsSidecar(c) {
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
