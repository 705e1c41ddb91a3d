// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/targetgate/targetgate/e2e/testbed"
)

// sighting is what the watch showed of one pod. A time is zero while its event has not been seen.
type sighting struct {
	App, IP, Version string
	ContainersReady  time.Time // first seen
	GateOpen         time.Time // all readiness gates True, first seen
	Ready            time.Time // first seen
	Deleted          time.Time // deletionTimestamp, first seen
	Gone             time.Time // from the API server
	IsReady          bool      // as last seen
}

// roster keeps the sightings of all pods. It is safe for concurrent use.
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
		s = &sighting{App: pod.Labels[testbed.AppLabel], Version: testbed.VersionOf(pod)}
		r.seen[pod.UID] = s
	}
	s.IsReady = testbed.IsReady(pod)
	if pod.Status.PodIP != "" {
		s.IP = pod.Status.PodIP
	}
	first(&s.ContainersReady, testbed.ContainersReady(pod), at)
	first(&s.GateOpen, testbed.GatesOpen(pod), at)
	first(&s.Ready, s.IsReady, at)
	first(&s.Deleted, pod.DeletionTimestamp != nil, at)
}

// Lose takes in that a pod has gone.
func (r *roster) Lose(uid types.UID, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.seen[uid]; s != nil {
		first(&s.Deleted, true, at)
		first(&s.Gone, true, at)
	}
}

// first notes the time at which something holds, once.
func first(into *time.Time, holds bool, at time.Time) {
	if holds && into.IsZero() {
		*into = at
	}
}

func (r *roster) sightings() []sighting {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]sighting, 0, len(r.seen))
	for _, s := range r.seen {
		all = append(all, *s)
	}
	return all
}

// headcount is how far a rollout to a version is.
type headcount struct {
	Ready   int // of that version, and not deleted
	Pending int // of that version, neither Ready nor deleted
	Others  int // of another version or deleted, and still there
}

// count is the headcount now.
func (r *roster) count(version string) headcount {
	var c headcount
	for _, s := range r.sightings() {
		switch {
		case !s.Gone.IsZero():
		case s.Version != version || !s.Deleted.IsZero():
			c.Others++
		case s.IsReady:
			c.Ready++
		default:
			c.Pending++
		}
	}
	return c
}

// complete reports whether that many pods of the version are Ready and there are no others.
func (c headcount) complete(pods int) bool { return c == headcount{Ready: pods} }

func (c headcount) String() string {
	return fmt.Sprintf("%d pods Ready, %d not yet, %d leaving", c.Ready, c.Pending, c.Others)
}

// completed is when the last pod of the version became Ready and the last other one was deleted.
func completed(pods []sighting, version string) time.Time {
	var last time.Time
	for _, s := range pods {
		at := s.Deleted
		if s.Version == version && at.IsZero() {
			at = s.Ready
		}
		if at.After(last) {
			last = at
		}
	}
	return last
}

// strip keeps of a pod what a roster reads.
func strip(object any) (any, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil
	}
	kept := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
		DeletionTimestamp: pod.DeletionTimestamp, Labels: map[string]string{testbed.AppLabel: pod.Labels[testbed.AppLabel]},
	}}
	for _, c := range pod.Spec.Containers {
		kept.Spec.Containers = append(kept.Spec.Containers, corev1.Container{Env: c.Env})
	}
	kept.Spec.ReadinessGates = pod.Spec.ReadinessGates
	kept.Status.PodIP, kept.Status.Conditions = pod.Status.PodIP, pod.Status.Conditions
	return kept, nil
}
