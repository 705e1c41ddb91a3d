// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// How long before SIGTERM the deregistration of a pod that leaves must have been accepted: for that long an ALB goes on sending, and
// that much is the registrar's margin.
const (
	modelLead   = 20 * time.Second
	modelMargin = 500 * time.Millisecond
)

// departure is by when the target of a pod that leaves has to be deregistered.
type departure struct {
	by      time.Time // zero is at once
	knownAt time.Time // since when that has been so
}

// noteDepartures notes which pods leave, and by when. It comes before time passes, as the registrar may act then.
func (m *model) noteDepartures(now time.Time) {
	next := map[types.UID]departure{}
	w := &m.watch
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, pod := range listOf[*corev1.Pod](m.store) {
		if live(pod) {
			continue
		}
		d := departure{m.leavesBy(pod), now}
		if known, ok := w.leaving[pod.UID]; ok && known.by.Equal(d.by) {
			d = known
		}
		next[pod.UID] = d
	}
	w.leaving = next
}

// leavesBy is the deadline for the deregistration of a pod that leaves, zero for at once: how long the pod serves is not known, it does
// not serve, or it could never be in time.
func (m *model) leavesBy(pod *corev1.Pod) time.Time {
	own := m.pods[pod.UID]
	if own.deletedAt.IsZero() || own.sleep == 0 || ended(pod) || !isTrue(pod, corev1.ContainersReady) {
		return time.Time{}
	}
	by := own.stopsAt().Add(-modelLead - modelMargin)
	if !by.After(own.deletedAt) {
		return time.Time{}
	}
	return by
}
