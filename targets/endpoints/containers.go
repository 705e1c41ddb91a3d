// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package endpoints

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// EnoughLife is what a leaving pod must have left to serve on while its deregistration waits, which is a third of that at most.
const EnoughLife = 9600 * time.Millisecond

// Waiting stands for the containers of a pod that all wait in a preStop and have no named ports.
var Waiting = []corev1.Container{{Name: "kept", Lifecycle: waits}}

var waits = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{}}

// maxNamedPorts is how many named ports of a pod are kept; pods that people make have far fewer.
const maxNamedPorts = 100

// keptContainers stands for the containers of a pod: one, with the named ports of all, that waits in a preStop if all of them do.
// A container is half a kilobyte, and most pods are of a few kinds: those of a kind share it.
func keptContainers(pod *corev1.Pod) []corev1.Container {
	ports, wait := namedPorts(pod), preStopsWait(pod)
	switch {
	case len(ports) > 0:
		return kinds.containers(ports, wait)
	case wait:
		return Waiting
	default:
		return nil
	}
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

// kinds are the containers that were made last, so that pods share them.
var kinds = &containerKinds{known: map[string][]corev1.Container{}}

// maxKinds bounds what is remembered of kinds.
const maxKinds = 1000

// containerKinds is safe for concurrent use.
type containerKinds struct {
	mu    sync.Mutex
	known map[string][]corev1.Container
}

func (k *containerKinds) containers(ports []corev1.ContainerPort, wait bool) []corev1.Container {
	var key strings.Builder
	fmt.Fprint(&key, wait)
	for _, port := range ports {
		fmt.Fprintf(&key, " %q=%d", port.Name, port.ContainerPort)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if known, ok := k.known[key.String()]; ok {
		return known
	}
	if len(k.known) >= maxKinds {
		clear(k.known)
	}
	made := []corev1.Container{{Name: "kept", Ports: ports}}
	if wait {
		made[0].Lifecycle = waits
	}
	k.known[key.String()] = made
	return made
}

// preStopsWait reports whether each container has a preStop, and none that only sleeps for less than EnoughLife: a pod without gets
// SIGTERM with its deletion, whatever its grace period, and may stop serving then.
func preStopsWait(pod *corev1.Pod) bool {
	for i := range pod.Spec.Containers {
		lifecycle := pod.Spec.Containers[i].Lifecycle
		if lifecycle == nil || lifecycle.PreStop == nil {
			return false
		}
		if sleep := lifecycle.PreStop.Sleep; sleep != nil && time.Duration(sleep.Seconds)*time.Second < EnoughLife {
			return false
		}
	}
	return len(pod.Spec.Containers) > 0
}
