// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/targetgate/targetgate/aws/awserr"
	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/endpoints"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// bindingEvent is one event, on a binding unless a notice says otherwise. The binding's reasons are the incumbent's.
type bindingEvent struct {
	kind, reason, action, note string
}

func failedAddFinalizer(err error) bindingEvent {
	return bindingEvent{corev1.EventTypeWarning, "FailedAddFinalizer", "AddFinalizer", err.Error()}
}

func failedRemoveFinalizer(err error) bindingEvent {
	return bindingEvent{corev1.EventTypeWarning, "FailedRemoveFinalizer", "RemoveFinalizer", err.Error()}
}

// failedCleanup says what a binding that is gone may have left in its target group.
func failedCleanup(arn string, refusals, left []string) bindingEvent {
	which := "targets that an earlier targetgate registered"
	if len(left) > 0 {
		which = strings.Join(left, ", ")
	}
	return bindingEvent{corev1.EventTypeWarning, "FailedCleanup", "Cleanup", cut(fmt.Sprintf(
		"The binding goes without its targets, as AWS refuses to deregister them from %s: %s. These may be left: %s",
		arn, strings.Join(refusals, "; "), which))}
}

// ignoredRecord says that a record of a shared group is not believed.
func ignoredRecord(configMap string) bindingEvent {
	return bindingEvent{corev1.EventTypeWarning, "RecordIgnored", "Reconcile", fmt.Sprintf("ConfigMap %s was there before any target was "+
		"registered for the binding, so it is written anew: none of the targets that it lists is deregistered for that. If one of them is "+
		"left over from an earlier binding, deregister it yourself", configMap)}
}

func failedUpdateStatus(err error) bindingEvent {
	return bindingEvent{corev1.EventTypeWarning, "FailedUpdateStatus", "UpdateStatus", err.Error()}
}

func successfullyReconciled() bindingEvent {
	return bindingEvent{corev1.EventTypeNormal, "SuccessfullyReconciled", "Reconcile", "Successfully reconciled"}
}

// eventsOf are the events that a written status calls for: when trouble starts or changes, and when a generation of the
// spec is Ready for the first time or again after trouble. Trouble that lasts is one event, a rollout none. The caller holds the
// lock.
func (l *statusLane) eventsOf(before, after []metav1.Condition) []bindingEvent {
	old := apimeta.FindStatusCondition(before, v1beta1.ConditionDegraded)
	trouble := apimeta.FindStatusCondition(after, v1beta1.ConditionDegraded)
	if trouble.Status == metav1.ConditionTrue {
		l.announced = 0
		if old == nil || old.Status != trouble.Status || old.Message != trouble.Message {
			return []bindingEvent{troubleEvent(trouble)}
		}
		return nil
	}
	if l.announced == 0 {
		l.announced = announcedBefore(before)
	}
	if apimeta.IsStatusConditionTrue(after, v1beta1.ConditionReady) && l.announced != trouble.ObservedGeneration {
		l.announced = trouble.ObservedGeneration
		return []bindingEvent{successfullyReconciled()}
	}
	return nil
}

// announcedBefore is the generation that the status calls Ready and without trouble: an earlier process has announced it.
func announcedBefore(conditions []metav1.Condition) int64 {
	ready := apimeta.FindStatusCondition(conditions, v1beta1.ConditionReady)
	if ready == nil || ready.Status != metav1.ConditionTrue || !apimeta.IsStatusConditionFalse(conditions, v1beta1.ConditionDegraded) {
		return 0
	}
	return ready.ObservedGeneration
}

// troubleEvent has the condition's reason, but for failed calls, whose reason is the incumbent's.
func troubleEvent(trouble *metav1.Condition) bindingEvent {
	reason := trouble.Reason
	switch reason {
	case v1beta1.ReasonAWSError, v1beta1.ReasonKubernetesError, v1beta1.ReasonAccessDenied, v1beta1.ReasonTargetGroupNotFound,
		v1beta1.ReasonNotSupported:
		reason = "FailedReconcile"
	}
	return bindingEvent{corev1.EventTypeWarning, reason, "Reconcile", trouble.Message}
}

// Reasons of events about drift.
const (
	reasonForeignTarget = "ForeignTarget"
	reasonTargetMissing = "TargetMissing"
)

// notice is something that is told once, for as long as it lasts.
type notice struct {
	on runtime.Object
	bindingEvent
}

// notices are what users are told of a pass beside the conditions, by a key that stays while the matter does.
func notices(binding *v1beta1.TargetGroupBinding, p plan, odd map[string]string, policy Policy) map[string]notice {
	out := map[string]notice{}
	warn := func(key, reason, action, format string, args ...any) {
		out[key] = notice{binding, bindingEvent{corev1.EventTypeWarning, reason, action, fmt.Sprintf(format, args...)}}
	}
	skipped := "NodeSkipped"
	if binding.Spec.IsIP() {
		skipped = v1beta1.ReasonEndpointSkipped
	}
	for name, why := range odd {
		if name == endpoints.SkippedEndpoints {
			continue // the condition Degraded tells of them
		}
		warn("odd "+name, skipped, "Reconcile", "%s", why)
	}
	if len(p.timedOut) > 0 {
		warn("timedOut", "ReplacementTimedOut", "Deregister",
			"Deregistering targets that are not asked for any more, although not all others are healthy after --replacement-timeout=%s",
			policy.ReplacementTimeout)
	}
	for _, target := range p.strangers {
		warn("stranger "+target.String(), reasonForeignTarget, "Deregister",
			"Deregistering target %s, which nothing in the cluster explains", target)
	}
	return out
}

// delayNotice says once that the deregistration delay is not known. Nothing that is done depends on it.
func delayNotice(binding *v1beta1.TargetGroupBinding, denial error) map[string]notice {
	if denial == nil {
		return nil
	}
	return map[string]notice{"delay": {binding, bindingEvent{corev1.EventTypeNormal, "DeregistrationDelayUnknown", "Reconcile",
		"The status does not show the deregistration delay, as elasticloadbalancing:DescribeTargetGroupAttributes is not allowed; " +
			"nothing else needs it: " + awserr.Message(denial)}}}
}

// lostTarget says that somebody else has deregistered a target.
func lostTarget(target elbv2.Target) bindingEvent {
	return bindingEvent{corev1.EventTypeWarning, reasonTargetMissing, "Register",
		fmt.Sprintf("Target %s is not registered any more, though not by us: it is registered again if it is still asked for", target)}
}

// tell records events for what this pass has found and the last one had not, and for lost targets.
func (r *Registrar) tell(binding *v1beta1.TargetGroupBinding, g *group, found map[string]notice) {
	told := map[string]bool{}
	for key, n := range found {
		told[key] = true
		if !g.notices[key] {
			r.event(n.on, n.bindingEvent)
		}
	}
	g.notices = told
	for _, target := range g.takeLost() {
		r.event(binding, lostTarget(target))
	}
}

func (r *Registrar) event(on runtime.Object, e bindingEvent) {
	countEvent(on, e.reason)
	r.Recorder.Eventf(on, nil, e.kind, e.reason, e.action, "%s", e.note)
}

// tellFailed tells of a change of finalizers that failed, once for as long as it does. A conflict only asks for another try.
func (r *Registrar) tellFailed(binding *v1beta1.TargetGroupBinding, g *group, err error, e bindingEvent) {
	if g.failed != e.reason && !apierrors.IsConflict(err) {
		g.failed = e.reason
		r.event(binding, e)
	}
}

// tellTooManyGates tells the owner of a pod that its gates stay closed. Gates are given at a pod's creation.
func (r *Registrar) tellTooManyGates(pod *corev1.Pod) {
	if readiness.HasTooMany(pod) && !endpoints.IsTerminating(pod) {
		r.Recorder.Eventf(pod, nil, corev1.EventTypeWarning, "TooManyReadinessGates", "Reconcile",
			"The pod has more than %d readiness gates of TargetGroupBindings: none of them is ever opened. Create it again with fewer",
			readiness.MaxGates)
	}
}

// tellPod tells the pod's owner why the pod is Ready from now on, or what keeps it from that.
func (r *Registrar) tellPod(v conditionUpdate, gate corev1.PodConditionType) {
	normal := func(format string, args ...any) {
		r.Recorder.Eventf(v.pod, nil, corev1.EventTypeNormal, "ReadinessGateOpened", "OpenReadinessGate", format, args...)
	}
	warn := func(reason, action, format string, args ...any) {
		r.Recorder.Eventf(v.pod, nil, corev1.EventTypeWarning, reason, action, format, args...)
	}
	switch reason := v.health.Reason; {
	case reason == readiness.ReasonTimeout:
		warn(reason, "OpenReadinessGate", "Readiness gate %s is open although target %s is not healthy: %s",
			gate, v.target, v.health.Message)
	case v.health.Status == corev1.ConditionTrue && reason != "":
		normal("Readiness gate %s is open: %s", gate, v.health.Message)
	case v.health.Status == corev1.ConditionTrue:
		normal("Target %s is healthy: readiness gate %s is open", v.target, gate)
	case readiness.IsOpen(v.pod, gate):
		warn("ReadinessGateClosed", "CloseReadinessGate", "Target %s is not healthy any more: readiness gate %s is closed: %s: %s",
			v.target, gate, reason, v.health.Message)
	case reason == readiness.ReasonNoEndpoint:
		warn(reason, "RegisterTarget", "Readiness gate %s is closed: %s", gate, v.health.Message)
	case reason == readiness.ReasonRegistrationFailed, reason == readiness.ReasonTargetGroupFull:
		warn(reason, "RegisterTarget", "%s is not registered: %s", v.named(), v.health.Message)
	}
}

// lateNotices tell of pods whose targets take longer to become healthy than the health check settings explain.
func (j *conditionPlanner) lateNotices(verdicts []conditionUpdate) map[string]notice {
	out := map[string]notice{}
	for _, v := range verdicts {
		e := j.entries[v.target]
		expected := expectedWait(j.facts, e.health.State)
		if v.health.Status == corev1.ConditionTrue || e.presence != registered || e.owner != v.pod.UID || j.waited(v.pod, e) < expected {
			continue
		}
		out["late "+string(v.pod.UID)] = notice{v.pod, bindingEvent{corev1.EventTypeWarning, "ReadinessGateWaiting", "AwaitHealth",
			fmt.Sprintf("Target %s has not become healthy within %s: %s: %s", v.target, expected, v.health.Reason, v.health.Message)}}
	}
	return out
}

// ungatedNotices tell the owners of pods that have no gate although they should have got one: they were created
// before the binding, or while the webhook was away.
func ungatedNotices(pods []*corev1.Pod, gate corev1.PodConditionType) map[string]notice {
	out := map[string]notice{}
	for _, pod := range pods {
		on, key := runtime.Object(pod), "ungated "+string(pod.UID)
		if owner := metav1.GetControllerOf(pod); owner != nil {
			on = &corev1.ObjectReference{
				APIVersion: owner.APIVersion, Kind: owner.Kind, Namespace: pod.Namespace, Name: owner.Name, UID: owner.UID,
			}
			key = "ungated " + string(owner.UID)
		}
		out[key] = notice{on, bindingEvent{corev1.EventTypeWarning, "PodWithoutReadinessGate", "Reconcile",
			fmt.Sprintf("Pods have no readiness gate %s, as they were created before the TargetGroupBinding or without its webhook: "+
				"a rollout restart gives them one", gate)}}
	}
	return out
}
