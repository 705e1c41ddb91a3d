// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/endpoints"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// podCount counts the pods behind a binding by their gates.
type podCount struct {
	gated, waiting, ungated int

	unlisted     string    // why one that waits is no endpoint, empty when all are
	missed       int       // the ungated ones whose namespace asks for gates
	waitingSince time.Time // since when one waits whose containers are ready, zero when none does
}

// countPods counts the pods that carry the gate, whether the Service selects them or not, and the selected ones that do
// not.
func countPods(gated []*corev1.Pod, listed map[elbv2.Target]endpoints.Endpoint, gate corev1.PodConditionType) podCount {
	var n podCount
	for _, pod := range gated {
		if endpoints.IsTerminating(pod) {
			continue
		}
		n.gated++
		if !readiness.IsOpen(pod, gate) {
			n.waiting++
			n.waitingSince = earliest(n.waitingSince, waitsSince(pod, gate))
		}
	}
	for _, ep := range listed {
		if ungated(ep, gate) {
			n.ungated++
		}
	}
	return n
}

// waitsSince is since when a pod at its closed gate has waited for nothing but the gate: its containers are ready, and the
// gate was not open. It is zero while they are not.
func waitsSince(pod *corev1.Pod, gate corev1.PodConditionType) time.Time {
	containers := readiness.Condition(pod, corev1.ContainersReady)
	if containers == nil || containers.Status != corev1.ConditionTrue {
		return time.Time{}
	}
	since := containers.LastTransitionTime.Time
	if closed := readiness.Condition(pod, gate); closed != nil {
		since = later(since, closed.LastTransitionTime.Time)
	}
	return since
}

// earliest is the sooner of two moments, of which zero is none.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// missedPods are the pods without the gate that should have got it at their creation.
func missedPods(listed map[elbv2.Target]endpoints.Endpoint, gate corev1.PodConditionType, covered func(*corev1.Pod) bool) []*corev1.Pod {
	var out []*corev1.Pod
	for _, ep := range listed {
		if ungated(ep, gate) && covered(ep.Pod) {
			out = append(out, ep.Pod)
		}
	}
	return out
}

// ungated reports whether the Service selects the pod, and the pod has no gate.
func ungated(ep endpoints.Endpoint, gate corev1.PodConditionType) bool {
	selected := ep.State == endpoints.Desired || ep.State == endpoints.NotReady || ep.State == endpoints.Undetermined
	return selected && ep.Pod != nil && !readiness.Has(ep.Pod, gate) && !readiness.HasTooMany(ep.Pod)
}

func countTargets(entries map[elbv2.Target]entry) *v1beta1.TargetCounts {
	var n v1beta1.TargetCounts
	for _, e := range entries {
		switch e.presence {
		case draining:
			n.Draining++
		case registered:
			n.Registered++
			countState(&n, e.health.State)
		}
	}
	n.Summary = fmt.Sprintf("%d/%d", n.Healthy, n.Registered)
	return &n
}

func countState(n *v1beta1.TargetCounts, state elbv2.State) {
	switch state {
	case elbv2.StateHealthy:
		n.Healthy++
	case elbv2.StateInitial:
		n.Initial++
	case elbv2.StateUnused:
		n.Unused++
	case elbv2.StateUnavailable:
		n.Unavailable++
	default:
		n.Unhealthy++
	}
}
