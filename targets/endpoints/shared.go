// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package endpoints

import (
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/targetgate/targetgate/readiness"
)

// What most pods have in common with others is in memory once: pods of a Deployment have the same labels, owner, gates and named ports.
// Nobody changes what is in a cache.
var (
	sharedContainers sharing[[]corev1.Container]
	sharedGates      sharing[[]corev1.PodReadinessGate]
	sharedLabels     sharing[map[string]string]
	sharedOwners     sharing[[]metav1.OwnerReference]
	sharedNames      sharing[string] // of namespaces, nodes and versions
)

const (
	// maxShared bounds how many values of a kind are remembered, and maxSharedKey, in bytes, those that are: labels that are as long as
	// they may be are not.
	maxShared    = 4096
	maxSharedKey = 1 << 10
)

// sharing keeps one copy of equal values. It is safe for concurrent use. The zero value is empty.
type sharing[T any] struct {
	mu    sync.Mutex
	known map[string]T
}

// of is the value with that key which came first, else this one.
func (s *sharing[T]) of(key []byte, value T) T {
	if len(key) > maxSharedKey {
		return value
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.known[string(key)]; ok {
		return known
	}
	if s.known == nil || len(s.known) >= maxShared {
		s.known = map[string]T{}
	}
	s.known[string(key)] = value
	return value
}

// keyOf joins parts that have no spaces, as names and labels have none.
func keyOf(parts ...string) []byte {
	var key []byte
	for _, part := range parts {
		key = append(append(key, part...), ' ')
	}
	return key
}

func keptName(name string) string { return sharedNames.of(keyOf(name), name) }

// keptLabels are the pod's, none when there are too many.
func keptLabels(pod *corev1.Pod) map[string]string {
	if len(pod.Labels) == 0 || len(pod.Labels) > MaxLabels {
		return nil
	}
	parts := make([]string, 0, 32)
	for name := range pod.Labels {
		parts = append(parts, name)
	}
	slices.Sort(parts)
	for _, name := range parts {
		parts = append(parts, pod.Labels[name])
	}
	return sharedLabels.of(keyOf(parts...), pod.Labels)
}

// keptOwner is the controller of the pod, nil when it has none.
func keptOwner(pod *corev1.Pod) []metav1.OwnerReference {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil {
		return nil
	}
	kept := metav1.OwnerReference{
		APIVersion: owner.APIVersion, Kind: owner.Kind, Name: owner.Name, UID: owner.UID, Controller: owner.Controller,
	}
	return sharedOwners.of(keyOf(string(kept.UID), kept.Name, kept.Kind, kept.APIVersion), []metav1.OwnerReference{kept})
}

// keptGates are those of the pod that are read.
func keptGates(pod *corev1.Pod) []corev1.PodReadinessGate {
	gates := slices.Clone(readiness.Kept(pod.Spec.ReadinessGates))
	parts := make([]string, 0, 8)
	for _, gate := range gates {
		parts = append(parts, string(gate.ConditionType))
	}
	return sharedGates.of(keyOf(parts...), gates)
}
