// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package conditions

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/endpoints"
	"github.com/targetgate/targetgate/targets/events"
	"github.com/targetgate/targetgate/targets/retry"
	"github.com/targetgate/targetgate/targets/targetgroup"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// PodCount counts the pods behind a binding by their gates.
type PodCount struct {
	Gated, Waiting, Ungated int

	Missed       int       // the ungated ones that should have got the gate: see MissedPods
	WaitingSince time.Time // since when one waits whose containers are ready, zero when none does
}

// CountPods counts the pods that carry the gate, whether the Service selects them or not, and the selected ones that do
// not.
func CountPods(gated []*corev1.Pod, listed map[elbv2.Target]endpoints.Endpoint, gate corev1.PodConditionType) PodCount {
	var n PodCount
	for _, pod := range gated {
		if endpoints.IsTerminating(pod) {
			continue
		}
		n.Gated++
		if !readiness.IsOpen(pod, gate) {
			n.Waiting++
			n.WaitingSince = earliest(n.WaitingSince, waitsSince(pod, gate))
		}
	}
	for _, ep := range listed {
		if ungated(ep, gate) {
			n.Ungated++
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
		since = retry.Later(since, closed.LastTransitionTime.Time)
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

// MissedPods are the pods without the gate that should have got it at their creation. Admission gives gates to pods that the Service
// selects: the ones of a Service without a selector, or of a binding whose name is too long for a gate, never get any. Nor do static pods.
func MissedPods(res endpoints.Resolution, gate corev1.PodConditionType, covered func(*corev1.Pod) bool) []*corev1.Pod {
	if name, _ := readiness.BindingOf(gate); len(name) > v1beta1.MaxBindingName {
		return nil
	}
	var out []*corev1.Pod
	for _, ep := range res.Endpoints {
		if ungated(ep, gate) && endpoints.Selects(res.Service, ep.Pod) && !readiness.IsStatic(ep.Pod) && covered(ep.Pod) {
			out = append(out, ep.Pod)
		}
	}
	return out
}

// ungated reports whether the Service has the pod as an endpoint, and the pod has no gate.
func ungated(ep endpoints.Endpoint, gate corev1.PodConditionType) bool {
	selected := ep.State != endpoints.Unselected && ep.State != endpoints.Terminating
	return selected && ep.Pod != nil && !readiness.Has(ep.Pod, gate) && !readiness.HasTooMany(ep.Pod)
}

// CountTargets counts the targets of a group by state.
func CountTargets(group targetgroup.Targets) *v1beta1.TargetCounts {
	var n v1beta1.TargetCounts
	for _, e := range group {
		switch e.Presence {
		case targetgroup.Draining:
			n.Draining++
		case targetgroup.Registered:
			n.Registered++
			countState(&n, e.Health.State)
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

// UngatedNotices tell the owners of pods that have no gate although they should have got one: they were created before the binding,
// or while the webhook was away.
func UngatedNotices(pods []*corev1.Pod, gate corev1.PodConditionType) map[string]events.Notice {
	out := map[string]events.Notice{}
	for _, pod := range pods {
		on, key := runtime.Object(pod), "ungated "+string(pod.UID)
		if owner := metav1.GetControllerOf(pod); owner != nil {
			on = &corev1.ObjectReference{
				APIVersion: owner.APIVersion, Kind: owner.Kind, Namespace: pod.Namespace, Name: owner.Name, UID: owner.UID,
			}
			key = "ungated " + string(owner.UID)
		}
		out[key] = events.Notice{On: on, Event: events.Warning("PodWithoutReadinessGate", "Reconcile",
			"Pods have no readiness gate %s: they were created before the TargetGroupBinding or the namespace's label, before the Service "+
				"selected them, or while targetgate's webhook did not answer. Run kubectl rollout restart to give them one; pods that the "+
				"Service selects only later, as in a blue/green switch, need a preStop sleep instead", gate)}
	}
	return out
}
