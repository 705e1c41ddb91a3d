// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package conditions

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/events"
)

// eventOf tells the pod's owner why the pod is Ready from now on, or what keeps it from that; ok is false when there is nothing to tell.
func eventOf(u Update, gate corev1.PodConditionType) (e events.Event, ok bool) {
	opened := func(format string, args ...any) (events.Event, bool) {
		return events.Normal("ReadinessGateOpened", "OpenReadinessGate", format, args...), true
	}
	warning := func(reason, action, format string, args ...any) (events.Event, bool) {
		return events.Warning(reason, action, format, args...), true
	}
	message := u.Health.Message
	switch reason := u.Health.Reason; {
	case reason == readiness.ReasonTimeout:
		return warning(reason, "OpenReadinessGate", "Readiness gate %s is open although target %s is not healthy: %s", gate, u.Target, message)
	case u.Opens() && reason != "":
		return opened("Readiness gate %s is open: %s", gate, message)
	case u.Opens():
		return opened("Target %s is healthy: readiness gate %s is open", u.Target, gate)
	case readiness.IsOpen(u.Pod, gate):
		return warning("ReadinessGateClosed", "CloseReadinessGate", "Target %s is no longer healthy: readiness gate %s is closed: %s: %s",
			u.Target, gate, reason, message)
	case reason == readiness.ReasonNoEndpoint:
		return warning(reason, "RegisterTarget", "Readiness gate %s is closed: %s", gate, message)
	case reason == readiness.ReasonRegistrationFailed, reason == readiness.ReasonTargetGroupFull:
		return warning(reason, "RegisterTarget", "%s is not registered: %s", u.targetName(), message)
	default:
		return events.Event{}, false
	}
}

// targetName is the update's target as an event names it; that of a binding that is left alone is not known.
func (u Update) targetName() string {
	if u.Target == (elbv2.Target{}) {
		return "The pod's target"
	}
	return "Target " + u.Target.String()
}
