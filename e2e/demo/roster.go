// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/targetgate/targetgate/e2e/testbed"
)

// sighting is what the API server showed of a pod over its life.
type sighting struct {
	UID             types.UID
	Namespace, Name string
	IP              string
	Version         string
	Sleep           time.Duration // of its preStop, unscaled
	// GateOpen is when its gates were first seen to be all True; zero when it has none or they never were. The
	// condition itself tells no more than the second.
	GateOpen time.Time
}

// roster notes sightings of all pods.
type roster struct {
	mu   sync.Mutex
	seen map[types.UID]*sighting
}

func newRoster() *roster { return &roster{seen: map[types.UID]*sighting{}} }

// See takes in a pod as it is shown at that time.
func (r *roster) See(pod *corev1.Pod, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.seen[pod.UID]
	if s == nil {
		s = &sighting{UID: pod.UID, Namespace: pod.Namespace, Name: pod.Name, Version: testbed.VersionOf(pod), Sleep: sleepOf(pod)}
		r.seen[pod.UID] = s
	}
	if pod.Status.PodIP != "" {
		s.IP = pod.Status.PodIP
	}
	if s.GateOpen.IsZero() && testbed.GatesOpen(pod) {
		s.GateOpen = at
	}
}

// Lose takes in that a pod has gone: what was seen of it stays.
func (r *roster) Lose(types.UID, time.Time) {}

// sleepOf is how long the pod's containers sleep before they are told to stop.
func sleepOf(pod *corev1.Pod) time.Duration {
	lifecycle := pod.Spec.Containers[0].Lifecycle
	if lifecycle == nil || lifecycle.PreStop == nil || lifecycle.PreStop.Sleep == nil {
		return 0
	}
	return time.Duration(lifecycle.PreStop.Sleep.Seconds) * time.Second
}

func (r *roster) sightings() []sighting {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []sighting
	for _, s := range r.seen {
		all = append(all, *s)
	}
	return all
}
