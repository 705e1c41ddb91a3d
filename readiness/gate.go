// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// InjectLabel on a namespace, with the value InjectEnabled, makes admission add gates to its pods.
	InjectLabel = "elbv2.k8s.aws/pod-readiness-gate-inject"
	// InjectEnabled is the incumbent's, as is InjectLabel.
	InjectEnabled = "enabled"

	// PodWebhook is the name of the webhook that adds gates to pods. It is the incumbent's.
	PodWebhook = "mpod.elbv2.k8s.aws"

	gatePrefix = "target-health.elbv2.k8s.aws/"

	// legacyGatePrefix is from version 1 of the incumbent. No controller opens such gates now.
	legacyGatePrefix = "target-health.alb.ingress.k8s.aws"
)

// MaxGates is how many gates of ours a pod may have. No pod is in so many target groups. Of a pod with more gates none is
// opened, because each would cost a check and a write.
const MaxGates = 100

// maxAllGates is how many gates a pod may have with those of others: these are looked at, too.
const maxAllGates = 2 * MaxGates

// LoadBalancerGates returns the prefixes of the gates that controllers of other load balancers open: the AWS Gateway API controller for VPC
// Lattice, GKE for its network endpoint groups, and version 1 of the incumbent. Like ours they are open once a load balancer sends.
func LoadBalancerGates() []string {
	return []string{"application-networking.k8s.aws/", "cloud.google.com/load-balancer-neg-ready", legacyGatePrefix}
}

// GateFor returns the readiness gate, which is also the pod condition, of the binding with that name in the pod's namespace.
func GateFor(bindingName string) corev1.PodConditionType {
	return corev1.PodConditionType(gatePrefix + bindingName)
}

// BindingOf returns the name of the binding that a gate belongs to. ok is false if the gate is not ours.
func BindingOf(gate corev1.PodConditionType) (bindingName string, ok bool) {
	return strings.CutPrefix(string(gate), gatePrefix)
}

// isLegacy reports whether the gate is a legacy one, which would keep the pod NotReady forever.
func isLegacy(gate corev1.PodConditionType) bool {
	return strings.HasPrefix(string(gate), legacyGatePrefix)
}

// Bindings returns the names of the bindings whose gates the pod has, each once. It returns none if the pod has more than
// MaxGates.
func Bindings(pod *corev1.Pod) []string {
	if HasTooMany(pod) {
		return nil
	}
	var out []string
	for _, gate := range pod.Spec.ReadinessGates {
		if name, ours := BindingOf(gate.ConditionType); ours && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// HasTooMany reports whether the pod has more gates of ours than MaxGates, or more than twice that in all.
func HasTooMany(pod *corev1.Pod) bool {
	if len(pod.Spec.ReadinessGates) > maxAllGates {
		return true
	}
	count := 0
	for _, gate := range pod.Spec.ReadinessGates {
		if _, ours := BindingOf(gate.ConditionType); ours {
			count++
		}
	}
	return count > MaxGates
}

// IsStatic reports whether the pod is the mirror of a static pod, whose owner is its node: a kubelet runs it from a file, without
// gates.
func IsStatic(pod *corev1.Pod) bool {
	owner := metav1.GetControllerOf(pod)
	return owner != nil && owner.Kind == "Node"
}

// MaxKept is how many gates of a pod this package reads, with those of others: one more than a pod may have.
const MaxKept = maxAllGates + 1

// Kept returns the gates of a pod that this package reads: the first MaxKept.
func Kept(gates []corev1.PodReadinessGate) []corev1.PodReadinessGate {
	return gates[:min(len(gates), MaxKept)]
}

// ClosedByOthers returns the first gate of the pod by which somebody else holds the pod back: it is closed, it is not ours, of whatever
// binding, and it has none of the prefixes, which are those of other load balancers. It is empty if there is none.
func ClosedByOthers(pod *corev1.Pod, loadBalancers []string) corev1.PodConditionType {
	for _, gate := range Kept(pod.Spec.ReadinessGates) {
		_, ours := BindingOf(gate.ConditionType)
		hasPrefix := func(prefix string) bool { return strings.HasPrefix(string(gate.ConditionType), prefix) }
		if !ours && !IsOpen(pod, gate.ConditionType) && !slices.ContainsFunc(loadBalancers, hasPrefix) {
			return gate.ConditionType
		}
	}
	return ""
}

// AllOpen reports whether no gate of the pod is closed, whosever it is.
func AllOpen(pod *corev1.Pod) bool {
	return !slices.ContainsFunc(pod.Spec.ReadinessGates, func(gate corev1.PodReadinessGate) bool { return !IsOpen(pod, gate.ConditionType) })
}

// Has reports whether the pod has the gate, and no more than MaxGates of ours.
func Has(pod *corev1.Pod, gate corev1.PodConditionType) bool {
	return slices.Contains(pod.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: gate}) && !HasTooMany(pod)
}

// Condition returns the pod's condition of that type, or nil.
func Condition(pod *corev1.Pod, gate corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == gate {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}

// Says reports whether the condition says exactly that.
func Says(pod *corev1.Pod, gate corev1.PodConditionType, health Health) bool {
	c := Condition(pod, gate)
	return c != nil && health == HealthOf(c)
}

// HealthOf is what a condition says, nothing if there is none.
func HealthOf(c *corev1.PodCondition) Health {
	if c == nil {
		return Health{}
	}
	return Health{Status: c.Status, Reason: c.Reason, Message: c.Message}
}

// IsOpen reports whether the gate's condition is True.
func IsOpen(pod *corev1.Pod, gate corev1.PodConditionType) bool {
	condition := Condition(pod, gate)
	return condition != nil && condition.Status == corev1.ConditionTrue
}

// IsOpenByHealth reports whether the gate is open because the pod's target is healthy. The load balancer gives no reason for
// that; we give one for everything else, and where another controller has registered the target.
func IsOpenByHealth(pod *corev1.Pod, gate corev1.PodConditionType) bool {
	if !IsOpen(pod, gate) {
		return false
	}
	reason := Condition(pod, gate).Reason
	return reason == "" || reason == ReasonTargetHealthy
}

// IsForeign reports whether the gate is open with a reason or a message that we never write: by the load balancer's health there is none of
// the two.
func IsForeign(pod *corev1.Pod, gate corev1.PodConditionType) bool {
	if !IsOpen(pod, gate) {
		return false
	}
	c := Condition(pod, gate)
	return c.Reason == "" && c.Message != "" || c.Reason != "" && !slices.Contains(released, c.Reason)
}

// ShowsRegistration reports whether the gate's condition proves that this very pod was registered. A condition is written
// only after the registration, except with a reason why there was none, or why the gate does not wait for one. An open gate keeps
// such a reason, whatever comes later.
func ShowsRegistration(pod *corev1.Pod, gate corev1.PodConditionType) bool {
	condition := Condition(pod, gate)
	return condition != nil && !slices.Contains(withoutRegistration, condition.Reason)
}

// withoutRegistration are the reasons that pods have, too, which never were registered. ReasonNotManaged and ReasonBindingDeleted are
// none of them: another binding has registered that very pod, or an earlier one of the same name, and hands its target over as it is.
var withoutRegistration = []string{
	ReasonRegistrationFailed, ReasonTargetGroupFull, ReasonNoEndpoint, ReasonNodeLeaving,
	ReasonConsentMissing, ReasonRoleNotAllowed, ReasonBackendNotFound, ReasonNotSelected, ReasonHeldBack,
}

// Injection is the change that admission makes to a pod's list of gates.
type Injection struct {
	Add     []corev1.PodConditionType // not in the list yet, in the order given
	LeftOut int                       // wanted gates beyond MaxGates, which are not added
	Remove  []int                     // positions of legacy gates, ascending
}

// Inject returns the change that adds the wanted gates to the existing ones. It removes legacy gates if any gate is wanted.
// Injecting twice changes nothing the second time.
func Inject(existing []corev1.PodReadinessGate, wanted []corev1.PodConditionType) Injection {
	var injection Injection
	if len(wanted) == 0 {
		return injection
	}
	present, room := map[corev1.PodConditionType]bool{}, MaxGates
	roomOfAll := maxAllGates - len(existing)
	for i, gate := range existing {
		present[gate.ConditionType] = true
		if _, ours := BindingOf(gate.ConditionType); ours {
			room--
		}
		if isLegacy(gate.ConditionType) {
			injection.Remove = append(injection.Remove, i)
		}
	}
	for _, gate := range wanted {
		switch {
		case present[gate]:
		case room <= 0, roomOfAll <= 0:
			injection.LeftOut++
		default:
			injection.Add = append(injection.Add, gate)
			room, roomOfAll = room-1, roomOfAll-1
		}
		present[gate] = true
	}
	return injection
}
