// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package conditions

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/endpoints"
	"github.com/targetgate/targetgate/targets/targetgroup"
)

// Sights are what has been seen of the gates of pods that the incumbent registers, and whose conditions it writes, too.
type Sights map[types.UID]sight

// sight is what has been seen of one gate.
type sight struct {
	condition  corev1.PodCondition // the newest
	at         time.Time           // when that was first seen
	registered bool                // the incumbent has said of this very pod that its target is registered
}

// See are the sights after a look at the pods that carry the gate.
func (s Sights) See(gated []*corev1.Pod, gate corev1.PodConditionType, now time.Time) Sights {
	out := Sights{}
	for _, pod := range gated {
		c := readiness.Condition(pod, gate)
		if c == nil || endpoints.IsTerminating(pod) {
			continue
		}
		one := s[pod.UID]
		if !isSame(&one.condition, c) {
			one.condition, one.at = *c, now
		}
		one.registered = one.registered || c.Status == corev1.ConditionFalse && c.Reason == elbv2.ReasonRegistrationInProgress
		out[pod.UID] = one
	}
	return out
}

// isSame reports whether nobody has written the condition in between. Whoever writes it anew has another status, reason or message, or
// closes a gate that was open, at another time.
func isSame(a, b *corev1.PodCondition) bool {
	return a.Status == b.Status && a.Reason == b.Reason && a.Message == b.Message && a.LastTransitionTime.Equal(&b.LastTransitionTime)
}

// Await reports whether one of the gates may be opened by a reading.
func (s Sights) Await() bool {
	for _, one := range s {
		if one.awaits() {
			return true
		}
	}
	return false
}

func (s sight) awaits() bool { return s.registered && s.condition.Status != corev1.ConditionTrue }

// OpenEarly says which gates to open of pods that the incumbent registers, and which targets to read for the others. What AWS says is
// about a pod's own target, and not about an earlier pod's at the same address, once the incumbent has said that it has registered that
// pod; and newer than what the incumbent has written since, once the reading was begun after that was seen. A gate that the incumbent
// has closed again is opened again by a reading since then, and by no other.
func OpenEarly(listed map[elbv2.Target]endpoints.Endpoint, group targetgroup.Snapshot, seen Sights) (
	updates []Update, awaited targetgroup.Targets,
) {
	awaited = targetgroup.Targets{}
	for target, ep := range listed {
		one := seen[ep.UID]
		if !one.awaits() || ep.Pod == nil || ep.State != endpoints.Desired || ep.Shared {
			continue
		}
		t, known := group.Targets[target]
		switch {
		case t.Presence == targetgroup.Registered && t.Health.State == elbv2.StateHealthy && t.ReadAt.After(one.at):
			updates = append(updates, Update{
				Pod: ep.Pod, Target: target, Health: readiness.OpenedEarly(target.String()), HealthyAt: t.ReadAt, Replaces: one.at,
			})
		case known:
			awaited[target] = t
		default: // it was registered after the last reading
			awaited[target] = targetgroup.Target{ReadAt: group.ReadAt, Since: one.at}
		}
	}
	return updates, awaited
}
