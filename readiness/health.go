// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Health is the load balancer's verdict on one pod, in its own words.
type Health struct {
	Status  corev1.ConditionStatus
	Reason  string // the load balancer's reason verbatim, or one of ours
	Message string
}

// Our own reasons. They are CamelCase without a dot, unlike the load balancer's.
const (
	// ReasonBindingDeleted: the binding is deleted or being deleted, so the pod's health will not be checked.
	ReasonBindingDeleted = "TargetGroupBindingDeleted"
	// ReasonNotManaged: targetgate does not manage the binding; the message says why.
	ReasonNotManaged = "TargetGroupBindingNotManaged"
	// ReasonNotSelected: the Service no longer selects the pod, so its target is not registered.
	ReasonNotSelected = "ServiceDoesNotSelectPod"
	// ReasonBackendNotFound: the Service or its port does not exist and was not restored in time.
	ReasonBackendNotFound = "BackendNotFound"
	// ReasonNotAttached: the target group is attached to no load balancer, so no health check runs.
	ReasonNotAttached = "TargetGroupNotAttached"
	// ReasonNoEndpoint: the Service selects the pod, but has no endpoint for it; the message says why.
	ReasonNoEndpoint = "NoEndpoint"
	// ReasonTimeout: the target did not become healthy within the time the user allows.
	ReasonTimeout = "ReadinessTimeout"
	// ReasonRegistrationFailed: the load balancer refused the pod's target; the message is the load balancer's.
	ReasonRegistrationFailed = "RegistrationFailed"
	// ReasonConsentMissing: the target group's owner did not consent to the binding in time.
	ReasonConsentMissing = "ConsentMissing"
	// ReasonRoleNotAllowed: the binding's namespace may not use its role, and was not allowed to in time.
	ReasonRoleNotAllowed = "RoleNotAllowed"
	// ReasonTargetHealthy: targetgate found the target healthy, which another controller has registered and would find healthy later.
	ReasonTargetHealthy = "TargetHealthy"
	// ReasonNodeLeaving: the pod is not registered because its node is about to end.
	ReasonNodeLeaving = "NodeLeaving"
	// ReasonHeldBack: the pod is not registered because somebody else says that it gets no traffic; the message says who.
	ReasonHeldBack = "HeldBack"
	// ReasonTargetGroupFull: the pod's target is not registered because the target group has its maximum of targets.
	ReasonTargetGroupFull = "TargetGroupFull"
)

// released are our reasons for which a gate is open.
var released = []string{
	ReasonBindingDeleted, ReasonNotManaged, ReasonNotSelected, ReasonBackendNotFound, ReasonNotAttached, ReasonNoEndpoint, ReasonTimeout,
	ReasonConsentMissing, ReasonRoleNotAllowed, ReasonTargetHealthy,
}

// BindingDeleted opens the gate of a binding that is deleted.
func BindingDeleted() Health {
	return Health{Status: corev1.ConditionTrue, Reason: ReasonBindingDeleted, Message: "Target Group Binding is deleted"}
}

// NotManaged opens the gate of a binding that targetgate does not manage.
func NotManaged(why string) Health {
	return Health{Status: corev1.ConditionTrue, Reason: ReasonNotManaged, Message: why}
}

// Released opens a gate that waits for something that cannot happen. The reason is one of ours; why is the message.
func Released(reason, why string) Health {
	return Health{Status: corev1.ConditionTrue, Reason: reason, Message: why}
}

// RegistrationFailed closes the gate of a pod whose target the load balancer refused. The message is why.
func RegistrationFailed(why string) Health {
	return Health{Status: corev1.ConditionFalse, Reason: ReasonRegistrationFailed, Message: why}
}

// TargetGroupFull closes the gate of a pod whose target does not fit into the target group. The message is why.
func TargetGroupFull(why string) Health {
	return Health{Status: corev1.ConditionFalse, Reason: ReasonTargetGroupFull, Message: why}
}

// NodeLeaving closes the gate of a pod whose node is about to end: another pod will replace it.
func NodeLeaving() Health {
	return Health{
		Status: corev1.ConditionFalse, Reason: ReasonNodeLeaving,
		Message: "The pod is not registered, as its node is going away: its owner replaces it on another node",
	}
}

// HeldBack closes the gate of a pod that somebody else keeps from getting traffic. The message is why.
func HeldBack(why string) Health {
	return Health{Status: corev1.ConditionFalse, Reason: ReasonHeldBack, Message: "The pod is not registered: " + why}
}

// NoEndpoint closes the gate of a pod that the Service selects but no EndpointSlice lists. The message is why.
func NoEndpoint(why string) Health {
	return Health{Status: corev1.ConditionFalse, Reason: ReasonNoEndpoint, Message: why}
}

// OpenedEarly opens the gate of a pod whose healthy target another controller has registered, which opens it, too, but later.
func OpenedEarly(target string) Health {
	return Health{
		Status: corev1.ConditionTrue, Reason: ReasonTargetHealthy,
		Message: "targetgate has found target " + target + " healthy, which aws-load-balancer-controller has registered",
	}
}

// FromTarget returns the Health of a target that the load balancer has reported in this state since then.
func FromTarget(state, reason, description string, since time.Time) Health {
	health := Health{Status: statusOf(state), Reason: reason, Message: description}
	if health.Status != corev1.ConditionTrue {
		health.Message += " (since " + since.UTC().Format(time.RFC3339) + ")"
	}
	return health
}

// statusOf maps healthy to True, unavailable health to Unknown, and everything else to False.
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
