// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/endpoints"
	"github.com/targetgate/targetgate/targets/plan"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// targetLink is about whether the endpoint is in the target group.
func (e endpointState) targetLink() Link {
	if e.endpoint == nil {
		return link("target", Unknown, "not checked, because there is no endpoint")
	}
	if why := e.refusal(); why != "" {
		return link("target", Broken, "%s is not registered: %s", e.endpoint.Target, why).
			advise("Correct what that names; targetgate tries again by itself")
	}
	if e.reading.answered() {
		return e.readTarget()
	}
	return e.toldTarget()
}

// toldTarget is the link by what targetgate has written.
func (e endpointState) toldTarget() Link {
	switch ready := e.status(v1beta1.ConditionReady); {
	case e.wasRegistered():
		return link("target", OK, "%s is registered, according to the pod's condition", e.endpoint.Target)
	case e.endpoint.State != endpoints.Desired:
		return e.unwantedTarget()
	case e.pod != nil && readiness.Has(e.pod, e.gate()) && !readiness.IsOpen(e.pod, e.gate()):
		return e.unregistered()
	case ready.Status == metav1.ConditionTrue && e.behind() == "":
		return link("target", OK, "%s is registered, according to the binding's status", e.endpoint.Target)
	default:
		return link("target", Unknown, "only AWS knows whether %s is registered", e.endpoint.Target).advise("Ask AWS: --aws")
	}
}

// wasRegistered reports whether the pod's condition shows that its target was registered for this binding: one that was written while
// another binding had the group, or for an earlier binding of that name, does not.
func (e endpointState) wasRegistered() bool {
	if e.pod == nil || !readiness.ShowsRegistration(e.pod, e.gate()) {
		return false
	}
	reason := readiness.Condition(e.pod, e.gate()).Reason
	return reason != readiness.ReasonNotManaged && reason != readiness.ReasonBindingDeleted
}

// refusal is why the target was not registered, by the pod's condition or the binding's status.
func (e endpointState) refusal() string {
	if e.pod != nil {
		c := readiness.Condition(e.pod, e.gate())
		if c != nil && (c.Reason == readiness.ReasonRegistrationFailed || c.Reason == readiness.ReasonTargetGroupFull) {
			return c.Reason + ": " + c.Message
		}
	}
	ready := e.status(v1beta1.ConditionReady)
	if ready.Reason == v1beta1.ReasonTargetsRefused && strings.Contains(ready.Message, e.endpoint.Target.String()) {
		return ready.Reason + ": " + ready.Message
	}
	return ""
}

// readTarget is the link by AWS's answer.
func (e endpointState) readTarget() Link {
	h, there := e.reading.health[e.endpoint.Target]
	switch {
	case there && h.State != elbv2.StateDraining:
		return link("target", OK, "%s is registered", e.endpoint.Target)
	case e.endpoint.State != endpoints.Desired:
		return e.unwantedTarget()
	default:
		return e.unregistered()
	}
}

// unregistered is of a target that should be registered.
func (e endpointState) unregistered() Link {
	fresh := e.now.Sub(changedAt(e.binding)) < promptness
	if e.pod == nil || fresh || e.now.Sub(readySince(e.pod)) < promptness {
		return link("target", Waiting, "%s is not registered yet", e.endpoint.Target)
	}
	switch ready := e.status(v1beta1.ConditionReady); {
	case ready.Status != metav1.ConditionFalse, ready.Reason == v1beta1.ReasonReading, ready.Reason == v1beta1.ReasonReconciling:
	default:
		return link("target", Broken, "%s is not registered: %s: %s", e.endpoint.Target, ready.Reason, ready.Message).
			advise("%s", cmp.Or(groupAdvice[ready.Reason], "This is the binding's condition Ready: correct what it names, and targetgate retries"))
	}
	return link("target", Broken, "%s is not registered, although the pod's containers have been ready since %s",
		e.endpoint.Target, stamp(readySince(e.pod))).
		advise("targetgate registers such a target at once: check that it runs and watches the namespace, and see its log")
}

func readySince(pod *corev1.Pod) time.Time {
	if c := readiness.Condition(pod, corev1.ContainersReady); c != nil && !c.LastTransitionTime.IsZero() {
		return c.LastTransitionTime.Time
	}
	return pod.CreationTimestamp.Time
}

// leavingTarget is of a pod that goes.
func (e endpointState) leavingTarget() Link {
	if e.endpoint == nil {
		return link("target", OK, "it no longer has one")
	}
	when := e.leavesWhen()
	if !e.reading.answered() {
		return link("target", Waiting, "%s will be deregistered %s, and then drains", e.endpoint.Target, when)
	}
	switch h, there := e.reading.health[e.endpoint.Target]; {
	case !there:
		return link("target", OK, "%s is no longer registered", e.endpoint.Target)
	case h.State == elbv2.StateDraining:
		return link("target", OK, "%s drains", e.endpoint.Target)
	default:
		return link("target", Waiting, "%s is still registered (%s), and will be deregistered %s", e.endpoint.Target, h.State, when)
	}
}

// usualLead is by the flags' defaults: the command does not know targetgate's flags.
var usualLead = plan.Lead{ALB: elbv2.StopsSendingALB, NLB: elbv2.StopsSendingNLB}

// leavesWhen is until when the target of an endpoint that leaves may stay.
func (e endpointState) leavesWhen() string {
	deadline := usualLead.Deadline(*e.endpoint, e.binding.Status.TargetGroup)
	if !deadline.After(e.now) {
		return "at once"
	}
	by := fmt.Sprintf("by %s at the latest, as its pod gets SIGTERM at %s (with the defaults of --keep-until-replaced and "+
		"--deregistration-lead-*)", stamp(deadline), stamp(e.endpoint.ServesUntil))
	if e.endpoint.LeavesAtOnce {
		return by
	}
	return "when as many others are healthy as before, or " + by
}

// healthLink is about what the load balancer says of the target: AWS's own word, or what targetgate last wrote of it.
func (e endpointState) healthLink(target Link) Link {
	if e.endpoint == nil || target.State == Broken || target.State == Waiting {
		return link("health", Unknown, "not checked, because the target is not known to be registered")
	}
	if e.reading.answered() {
		h := e.reading.health[e.endpoint.Target]
		return e.health(stateOf(h.State), string(h.State), h.Reason, h.Description)
	}
	return e.toldHealth()
}

// toldHealth is the link by what targetgate has written.
func (e endpointState) toldHealth() Link {
	var c *corev1.PodCondition
	if e.pod != nil {
		c = readiness.Condition(e.pod, e.gate())
	}
	switch told, state := toldBy(c); {
	case told && state == Unknown && c.Status == corev1.ConditionUnknown:
		return e.health(Unknown, "unavailable", c.Reason, c.Message)
	case told:
		return e.health(state, "not healthy", c.Reason, c.Message)
	case allHealthy(e.binding.Status):
		return link("health", OK, "all registered targets are healthy, according to the binding's status")
	default:
		return link("health", Unknown, "not known without AWS: %s", statusCount(e.binding.Status)).
			advise("Ask AWS: --aws")
	}
}

// toldBy reports whether the condition of a gate tells of its target's health, and how that is for us. Targetgate's own reasons
// have no dot, AWS's have one.
func toldBy(c *corev1.PodCondition) (told bool, state State) {
	switch {
	case c == nil:
		return false, ""
	case c.Status == corev1.ConditionUnknown:
		return true, Unknown
	case c.Status == corev1.ConditionFalse && strings.Contains(c.Reason, "."):
		return true, stateOfReason(c.Reason)
	default:
		return false, ""
	}
}

func (s *bindingState) health(state State, word, reason, description string) Link {
	if state == OK {
		return link("health", OK, "%s", word)
	}
	return link("health", state, "%s: %s: %s", word, reason, description).
		advise("%s", healthAdvice(reason, description))
}

// allHealthy reports whether a binding's status counts no target that is not.
func allHealthy(status v1beta1.TargetGroupBindingStatus) bool {
	counts := status.Targets
	return counts != nil && counts.Registered > 0 && counts.Healthy == counts.Registered
}

// nodeEndpoints are the links of the nodes of a binding that registers nodes.
func (s *bindingState) nodeEndpoints() []Endpoint {
	if s.desired.NodesUnread {
		return s.unreadNodes()
	}
	var out []Endpoint
	for i := range s.desired.Ordered {
		ep := &s.desired.Ordered[i]
		links := []Link{nodeLink(ep)}
		if ep.State == endpoints.Desired {
			e := endpointState{bindingState: s, endpoint: ep}
			target := e.targetLink()
			links = append(links, target, e.healthLink(target))
		}
		out = append(out, Endpoint{Kind: "Node", Name: ep.Target.ID, Target: ep.Target.String(), Links: links})
	}
	for _, name := range slices.Sorted(maps.Keys(s.desired.Odd)) {
		out = append(out, Endpoint{Kind: "Node", Name: name, Links: []Link{link("node", Broken, "%s", s.desired.Odd[name])}})
	}
	return out
}

// nodesLinks sum up the nodes for one pod, to which any of them sends: there is none where the links before say that there are none.
func (s *bindingState) nodesLinks() []Link {
	if s.binding.Spec.IsIP() {
		return nil
	}
	count := map[State]int{}
	for _, ep := range s.nodeEndpoints() {
		if state := worst(ep.Links); state != OK || len(ep.Links) > 1 { // not one that is left out
			count[state]++
		}
	}
	for _, best := range []State{OK, Unknown, Waiting, Broken} {
		if count[best] == 0 {
			continue
		}
		l := link("nodes", best, "%d ok, %d unknown, %d waiting, %d broken", count[OK], count[Unknown], count[Waiting], count[Broken])
		if best != OK {
			l = l.advise("See each of them: explain tgb %s", s.binding.Name)
		}
		return []Link{l}
	}
	return nil
}

// unreadNodes are what AWS has of nodes that may not be read.
func (s *bindingState) unreadNodes() []Endpoint {
	var out []Endpoint
	byID := func(a, b elbv2.Target) int { return cmp.Compare(a.ID, b.ID) }
	for _, target := range slices.SortedFunc(slices.Values(s.reading.targets()), byID) {
		if s.reading.health[target].State == elbv2.StateDraining {
			continue
		}
		e := endpointState{bindingState: s, endpoint: &endpoints.Endpoint{Target: target}}
		registered := e.targetLink()
		unread := link("node", Unknown, "whether it belongs in the target group is not known: you may not read nodes")
		out = append(out, Endpoint{
			Kind: "Node", Name: target.ID, Target: target.String(), Links: []Link{unread, registered, e.healthLink(registered)},
		})
	}
	return out
}

// nodeLink: that a node is no target may be wanted, by its labels or the binding's nodeSelector.
func nodeLink(ep *endpoints.Endpoint) Link {
	switch {
	case ep.State == endpoints.Desired:
		return link("node", OK, "is ready, and belongs in the target group")
	case ep.State == endpoints.NotReady:
		return link("node", Broken, "is not ready").advise("See the node: kubectl describe node")
	case ep.State == endpoints.Terminating:
		return link("node", Waiting, "is about to go")
	case ep.NodeLeaves:
		return link("node", Waiting, "is about to be replaced: while it is healthy, its target stays until as many others are")
	default:
		return link("node", OK, "is left out, by its labels or the binding's nodeSelector")
	}
}
