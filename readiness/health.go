// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Health is what the load balancer says of one pod, in its own words.
type Health struct {
	Status  corev1.ConditionStatus
	Reason  string // the load balancer's reason verbatim, or one of ours
	Message string
}

// Reasons of our own. They are CamelCase without a dot, so that nobody takes them for the load balancer's.
const (
	// ReasonBindingDeleted: the binding is gone or going, so nobody will check the pod's health.
	ReasonBindingDeleted = "TargetGroupBindingDeleted"
	// ReasonNotManaged: targetgate leaves the binding alone; the message says why.
	ReasonNotManaged = "TargetGroupBindingNotManaged"
	// ReasonNotSelected: the Service does not select the pod any more, so its target is not registered.
	ReasonNotSelected = "ServiceDoesNotSelectPod"
	// ReasonBackendNotFound: the Service or its port does not exist, and has not come back in time.
	ReasonBackendNotFound = "BackendNotFound"
	// ReasonNotAttached: the target group is attached to no load balancer, so no health check runs.
	ReasonNotAttached = "TargetGroupNotAttached"
	// ReasonNoEndpoint: the Service selects the pod, but has no endpoint for it; the message says why.
	ReasonNoEndpoint = "NoEndpoint"
	// ReasonTimeout: the target has not become healthy in the time that the user allows.
	ReasonTimeout = "ReadinessTimeout"
	// ReasonRegistrationFailed: the load balancer refused the pod's target; the message is the load balancer's.
	ReasonRegistrationFailed = "RegistrationFailed"
	// ReasonConsentMissing: the target group's owner has not consented to the binding, and has not done so in time.
	ReasonConsentMissing = "ConsentMissing"
	// ReasonRoleNotAllowed: the binding's namespace may not use its role, and has not been allowed to in time.
	ReasonRoleNotAllowed = "RoleNotAllowed"
	// ReasonTargetGroupFull: the pod's target is left out, as the target group holds as many as it may.
	ReasonTargetGroupFull = "TargetGroupFull"
)

// BindingDeleted opens the gate of a binding that is going away.
func BindingDeleted() Health {
	return Health{Status: corev1.ConditionTrue, Reason: ReasonBindingDeleted, Message: "Target Group Binding is deleted"}
}

// NotManaged opens the gate of a binding that targetgate leaves alone.
func NotManaged(why string) Health {
	return Health{Status: corev1.ConditionTrue, Reason: ReasonNotManaged, Message: why}
}

// Released opens a gate that waits for something that cannot happen; reason is one of ours and why is for the user.
func Released(reason, why string) Health {
	return Health{Status: corev1.ConditionTrue, Reason: reason, Message: why}
}

// RegistrationFailed closes the gate of a pod whose target the load balancer has not taken, and says why.
func RegistrationFailed(why string) Health {
	return Health{Status: corev1.ConditionFalse, Reason: ReasonRegistrationFailed, Message: why}
}

// TargetGroupFull closes the gate of a pod whose target is left out.
func TargetGroupFull(why string) Health {
	return Health{Status: corev1.ConditionFalse, Reason: ReasonTargetGroupFull, Message: why}
}

// NoEndpoint closes the gate of a pod that the Service selects and no EndpointSlice lists, and says why.
func NoEndpoint(why string) Health {
	return Health{Status: corev1.ConditionFalse, Reason: ReasonNoEndpoint, Message: why}
}

// FromTarget is the Health of a target in the state that the load balancer reports since then.
func FromTarget(state, reason, description string, since time.Time) Health {
	health := Health{Status: statusOf(state), Reason: reason, Message: description}
	if health.Status != corev1.ConditionTrue {
		health.Message += " (since " + since.UTC().Format(time.RFC3339) + ")"
	}
	return health
}

// statusOf: healthy opens; no health status is Unknown; everything else is closed.
func statusOf(state string) corev1.ConditionStatus {
	switch state {
	case "healthy":
		return corev1.ConditionTrue
	case "unavailable":
		return corev1.ConditionUnknown
	default:
		return corev1.ConditionFalse
	}
}
