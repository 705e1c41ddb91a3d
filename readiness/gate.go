// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

const (
	// InjectLabel on a namespace, with the value InjectEnabled, has gates added to its pods at their creation.
	InjectLabel = "elbv2.k8s.aws/pod-readiness-gate-inject"
	// InjectEnabled is the incumbent's, as is InjectLabel.
	InjectEnabled = "enabled"

	gatePrefix = "target-health.elbv2.k8s.aws/"

	// legacyGatePrefix is of the incumbent's version 1; nobody opens such gates any more.
	legacyGatePrefix = "target-health.alb.ingress.k8s.aws"
)

// GateFor is the readiness gate, and so the pod condition, of the binding with that name in the pod's namespace.
func GateFor(bindingName string) corev1.PodConditionType {
	return corev1.PodConditionType(gatePrefix + bindingName)
}

// BindingOf is the name of the binding that a gate belongs to; ok is false when the gate is not ours.
func BindingOf(gate corev1.PodConditionType) (bindingName string, ok bool) {
	return strings.CutPrefix(string(gate), gatePrefix)
}

// isLegacy reports whether the gate is one that nobody opens any more and that stands in the way of ours.
func isLegacy(gate corev1.PodConditionType) bool {
	return strings.HasPrefix(string(gate), legacyGatePrefix)
}

// Has reports whether the pod carries the gate.
func Has(pod *corev1.Pod, gate corev1.PodConditionType) bool {
	return slices.Contains(pod.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: gate})
}

// Condition is the pod's condition of that type, nil when it has none.
func Condition(pod *corev1.Pod, gate corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == gate {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}

// IsOpen reports whether the gate's condition is True.
func IsOpen(pod *corev1.Pod, gate corev1.PodConditionType) bool {
	condition := Condition(pod, gate)
	return condition != nil && condition.Status == corev1.ConditionTrue
}

// IsOpenByHealth reports whether the gate is open because the load balancer found the pod healthy: it gives no reason for
// that, and we give one for everything else.
func IsOpenByHealth(pod *corev1.Pod, gate corev1.PodConditionType) bool {
	return IsOpen(pod, gate) && Condition(pod, gate).Reason == ""
}

// ShowsRegistration reports whether the gate's condition proves that the pod itself was registered: it is written only
// after that, but for the reasons why there was no registration.
func ShowsRegistration(pod *corev1.Pod, gate corev1.PodConditionType) bool {
	condition := Condition(pod, gate)
	return condition != nil && condition.Reason != ReasonRegistrationFailed && condition.Reason != ReasonTargetGroupFull &&
		condition.Reason != ReasonNoEndpoint
}

// Injection is what admission changes in a pod's list of gates.
type Injection struct {
	Add    []corev1.PodConditionType // not in the list yet, in the order given
	Remove []int                     // positions of legacy gates, ascending
}

// Inject says how existing must change so that it holds wanted. Legacy gates go when at least one gate is wanted,
// otherwise they stay. Injecting twice changes nothing the second time.
func Inject(existing []corev1.PodReadinessGate, wanted []corev1.PodConditionType) Injection {
	var injection Injection
	if len(wanted) == 0 {
		return injection
	}
	for _, gate := range wanted {
		present := slices.Contains(existing, corev1.PodReadinessGate{ConditionType: gate})
		if !present && !slices.Contains(injection.Add, gate) {
			injection.Add = append(injection.Add, gate)
		}
	}
	for i, gate := range existing {
		if isLegacy(gate.ConditionType) {
			injection.Remove = append(injection.Remove, i)
		}
	}
	return injection
}
