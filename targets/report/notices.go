// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/targetgate/targetgate/aws/awserr"
	"github.com/targetgate/targetgate/targets/events"
	"github.com/targetgate/targetgate/targets/plan"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// Reasons of events about drift.
const (
	reasonForeignTarget = "ForeignTarget"
	reasonTargetMissing = "TargetMissing"
	// reasonDeregisteredLate is of targets that AWS let go after the deadline.
	reasonDeregisteredLate = "DeregisteredLate"
	// reasonTargetKept is of pods that get no traffic by Kubernetes' word, and are targets.
	reasonTargetKept = "TargetKept"
	// reasonInvalidAnnotation is of an annotation that is ignored, as it is wrong.
	reasonInvalidAnnotation = "InvalidAnnotation"
)

// Notices are what users are told of a pass beside the conditions, by a key that stays while the cause lasts.
func Notices(
	binding *v1beta1.TargetGroupBinding, p plan.Plan, odd map[string]string, delayDenied error, policy plan.Policy,
) map[string]events.Notice {
	out := map[string]events.Notice{}
	add := func(key string, e events.Event) { out[key] = events.Notice{On: binding, Event: e} }
	skipped := "NodeSkipped"
	if binding.Spec.IsIP() {
		skipped = v1beta1.ReasonEndpointSkipped
	}
	if names := slices.Sorted(maps.Keys(odd)); len(names) > 0 { // may be hundreds: one event for all
		why := odd[names[0]]
		if others := len(names) - 1; others > 0 {
			why += fmt.Sprintf("; the same goes for %d more", others)
		}
		add(fmt.Sprintf("odd %d %s", len(names), names[0]), events.Warning(skipped, "Reconcile", "%s", why))
	}
	if len(p.TimedOut) > 0 {
		add("timedOut", events.Warning("ReplacementTimedOut", "Deregister",
			"Deregistering targets that are no longer wanted, or whose nodes are to be replaced: --replacement-timeout=%s is over, and not all "+
				"replacements are healthy", policy.ReplacementTimeout))
	}
	for _, target := range p.Nobodys {
		add("foreign "+target.String(), events.Warning(reasonForeignTarget, "Deregister",
			"Deregistering target %s, which nothing in the cluster explains", target))
	}
	for _, pod := range p.CutShort {
		out["cut short "+string(pod.UID)] = events.Notice{On: pod, Event: events.Warning("GracePeriodTooShort", "Deregister",
			"The pod was deleted with a grace period of %d s, shorter than its preStop sleep: it gets SIGTERM while the load balancer may "+
				"still send requests to it. Set no grace period when you drain, evict or delete, so that the pod's own applies (%d s)",
			*pod.DeletionGracePeriodSeconds, *pod.Spec.TerminationGracePeriodSeconds)}
	}
	for _, k := range p.Kept {
		tell := events.Normal
		if k.For == plan.UntilEnoughServe {
			tell = events.Warning
		}
		out[fmt.Sprintf("kept %d %s", k.For, k.Pod.UID)] = events.Notice{On: k.Pod, Event: tell(reasonTargetKept, "Deregister",
			"The pod is %s", k.Words())}
	}
	if delayDenied != nil { // nothing that is done depends on it
		add("delay", events.Normal("DeregistrationDelayUnknown", "Reconcile",
			"The status does not show the deregistration delay, as elasticloadbalancing:DescribeTargetGroupAttributes is not allowed; "+
				"nothing else needs it: %s", awserr.Message(delayDenied)))
	}
	return out
}

// AddPortNotice adds what users should know of the Service's port, if there is anything.
func AddPortNotice(found map[string]events.Notice, binding *v1beta1.TargetGroupBinding, doubt string) {
	if doubt != "" {
		found["port "+doubt] = events.Notice{On: binding, Event: events.Warning("PortDoubtful", "Reconcile", "%s", doubt)}
	}
}

// AnnotationNotices are what users are told of annotations that are wrong, of the binding or of its Service.
func AnnotationNotices(binding *v1beta1.TargetGroupBinding, ofService map[string]string) map[string]events.Notice {
	_, _, fault := binding.MinReadyPercent(ofService)
	if fault == "" {
		return nil
	}
	return map[string]events.Notice{
		fault: {On: binding, Event: events.Warning(reasonInvalidAnnotation, "Reconcile", "%s", fault)},
	}
}

// FailedCleanup says what a binding that is gone may have left in its target group.
func FailedCleanup(arn string, refusals, left []string) events.Event {
	which := "targets that an earlier targetgate registered"
	if len(left) > 0 {
		which = strings.Join(left, ", ")
	}
	return events.Warning("FailedCleanup", "Cleanup", "The binding is deleted, but AWS refuses to deregister its targets from %s: %s. "+
		"Deregister what remains yourself: %s", arn, strings.Join(refusals, "; "), which)
}

// LostRecord says what a binding that is gone may have left in a shared target group.
func LostRecord(configMap, arn string) events.Event {
	return events.Warning("FailedCleanup", "Cleanup", "The binding is deleted, and targets of it may be left in %s: ConfigMap %s, which "+
		"listed them, is gone. Deregister them yourself", arn, configMap)
}

// LostBinding says what becomes of the targets of a binding that is gone and that nobody has deleted.
func LostBinding(arn string) events.Event {
	return events.Warning("BindingLost", "Cleanup", "The binding is gone although it had targetgate's finalizer, as after a restore of the "+
		"API server's data: its targets stay registered in %s. Create it again; to have them deregistered, delete it then", arn)
}

// IgnoredRecord says that a record of a shared group is not believed: it is that of an earlier binding, or nobody knows whose it is.
func IgnoredRecord(configMap string, ofEarlier bool) events.Event {
	if ofEarlier {
		return events.Warning("RecordIgnored", "Reconcile", "ConfigMap %s belongs to an earlier binding of this name, so targetgate "+
			"overwrites it, and deregisters none of the targets that it lists. If that binding's finalizer was removed by hand, targets of it "+
			"may be left: deregister those yourself", configMap)
	}
	return events.Warning("RecordIgnored", "Reconcile", "ConfigMap %s existed before any target was registered for the binding, so "+
		"targetgate overwrites it, and deregisters none of the targets that it lists. If an earlier binding has left one of them, "+
		"deregister it yourself", configMap)
}
