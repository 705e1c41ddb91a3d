// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/endpoints"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// targetLink is about whether the endpoint is in the target group. Pod is nil for a node.
func (s *scene) targetLink(pod *corev1.Pod, ep *endpoints.Endpoint) Link {
	if ep == nil {
		return link("target", Unknown, "there is none without an endpoint")
	}
	if why := s.refusal(pod, ep.Target); why != "" {
		return link("target", Broken, "%s is not registered: %s", ep.Target, why).
			advise("These are the words of AWS, or the limit of --max-targets-per-target-group; targetgate tries again by itself")
	}
	if s.answered() {
		return s.readTarget(pod, ep)
	}
	return s.toldTarget(pod, ep)
}

// toldTarget is the link by what targetgate has written.
func (s *scene) toldTarget(pod *corev1.Pod, ep *endpoints.Endpoint) Link {
	switch ready := s.status(v1beta1.ConditionReady); {
	case pod != nil && readiness.ShowsRegistration(pod, s.gate()):
		return link("target", OK, "%s is registered, by the pod's condition", ep.Target)
	case ep.State != endpoints.Desired:
		return s.unwantedTarget(ep)
	case pod != nil && readiness.Has(pod, s.gate()):
		return s.unregistered(pod, ep)
	case ready.Status == metav1.ConditionTrue && s.behind() == "":
		return link("target", OK, "%s is registered, by the binding's status", ep.Target)
	default:
		return link("target", Unknown, "whether %s is registered only AWS knows", ep.Target).advise("Ask AWS: --aws")
	}
}

// refusal is why the target was not registered, by the pod's condition or the binding's status.
func (s *scene) refusal(pod *corev1.Pod, target elbv2.Target) string {
	if pod != nil {
		c := readiness.Condition(pod, s.gate())
		if c != nil && (c.Reason == readiness.ReasonRegistrationFailed || c.Reason == readiness.ReasonTargetGroupFull) {
			return c.Reason + ": " + c.Message
		}
	}
	ready := s.status(v1beta1.ConditionReady)
	if ready.Reason == v1beta1.ReasonTargetsRefused && strings.Contains(ready.Message, target.String()) {
		return ready.Reason + ": " + ready.Message
	}
	return ""
}

// readTarget is the link by AWS's answer.
func (s *scene) readTarget(pod *corev1.Pod, ep *endpoints.Endpoint) Link {
	h, there := s.reading.health[ep.Target]
	switch {
	case there && h.State != elbv2.StateDraining:
		return link("target", OK, "%s is registered", ep.Target)
	case ep.State != endpoints.Desired:
		return s.unwantedTarget(ep)
	default:
		return s.unregistered(pod, ep)
	}
}

// unwantedTarget is of an endpoint that the registrar does not add now; the links before say why.
func (s *scene) unwantedTarget(ep *endpoints.Endpoint) Link {
	if ep.State == endpoints.NotReady {
		return link("target", Waiting, "%s is registered when the pod's containers and its node are ready", ep.Target)
	}
	return link("target", Waiting, "%s is %s", ep.Target, ep.State)
}

// unregistered is of a target that should be registered.
func (s *scene) unregistered(pod *corev1.Pod, ep *endpoints.Endpoint) Link {
	fresh := s.now.Sub(changedAt(s.binding)) < promptness
	if pod == nil || fresh || s.now.Sub(readySince(pod)) < promptness {
		return link("target", Waiting, "%s is not registered yet", ep.Target)
	}
	return link("target", Broken, "%s is not registered, although the pod's containers are ready since %s", ep.Target, stamp(readySince(pod))).
		advise("targetgate does that at once, and has not said why it did not: does it run, and watch the namespace? See its log")
}

func readySince(pod *corev1.Pod) time.Time {
	if c := readiness.Condition(pod, corev1.ContainersReady); c != nil && !c.LastTransitionTime.IsZero() {
		return c.LastTransitionTime.Time
	}
	return pod.CreationTimestamp.Time
}

// leavingTarget is of a pod that goes.
func (s *scene) leavingTarget(ep *endpoints.Endpoint) Link {
	if ep == nil {
		return link("target", OK, "it no longer has one")
	}
	if !s.answered() {
		return link("target", Waiting, "%s is deregistered at once, and drains", ep.Target)
	}
	switch h, there := s.reading.health[ep.Target]; {
	case !there:
		return link("target", OK, "%s is no longer registered", ep.Target)
	case h.State == elbv2.StateDraining:
		return link("target", OK, "%s drains", ep.Target)
	default:
		return link("target", Waiting, "%s is still registered: %s", ep.Target, h.State)
	}
}

// healthLink is about what the load balancer says of the target: AWS's own word, or what targetgate last wrote of it.
func (s *scene) healthLink(pod *corev1.Pod, ep *endpoints.Endpoint, target Link) Link {
	if ep == nil || target.State == Broken || target.State == Waiting {
		return link("health", Unknown, "there is none without a registered target")
	}
	if s.answered() {
		h := s.reading.health[ep.Target]
		return s.health(stateOf(h.State), string(h.State), h.Reason, h.Description)
	}
	return s.toldHealth(pod)
}

// toldHealth is the link by what targetgate has written. Its own reasons have no dot, AWS's have one.
func (s *scene) toldHealth(pod *corev1.Pod) Link {
	c := &corev1.PodCondition{}
	if pod != nil && readiness.Condition(pod, s.gate()) != nil {
		c = readiness.Condition(pod, s.gate())
	}
	switch {
	case c.Status == corev1.ConditionUnknown:
		return s.health(Unknown, "unavailable", c.Reason, c.Message)
	case c.Status == corev1.ConditionFalse && strings.Contains(c.Reason, "."):
		return s.health(stateOfReason(c.Reason), "not healthy", c.Reason, c.Message)
	case s.allHealthy():
		return link("health", OK, "all registered targets are healthy, by the binding's status")
	default:
		return link("health", Unknown, "not known without AWS: the binding's status has %s", s.statusCount()).advise("Ask AWS: --aws")
	}
}

func (s *scene) health(state State, word, reason, description string) Link {
	if state == OK {
		return link("health", OK, "%s", word)
	}
	return link("health", state, "%s: %s: %s", word, reason, description).
		advise("%s", healthAdvice(reason, description, s.binding.Spec.Networking != nil))
}

// allHealthy reports whether the binding's status counts no target that is not.
func (s *scene) allHealthy() bool {
	counts := s.binding.Status.Targets
	return counts != nil && counts.Registered > 0 && counts.Healthy == counts.Registered
}

// nodeEndpoints are the links of the nodes of a binding that registers nodes.
func (s *scene) nodeEndpoints() []Endpoint {
	var out []Endpoint
	for i := range s.survey.Endpoints {
		ep := &s.survey.Endpoints[i]
		links := []Link{nodeLink(ep)}
		if ep.State == endpoints.Desired {
			target := s.targetLink(nil, ep)
			links = append(links, target, s.healthLink(nil, ep, target))
		}
		out = append(out, Endpoint{Kind: "Node", Name: ep.Target.ID, Target: ep.Target.String(), Links: links})
	}
	for _, name := range slices.Sorted(maps.Keys(s.survey.Odd)) {
		out = append(out, Endpoint{Kind: "Node", Name: name, Links: []Link{link("node", Broken, "%s", s.survey.Odd[name])}})
	}
	return out
}

// nodeLink: that a node is no target may be wanted, by its labels or the binding's nodeSelector.
func nodeLink(ep *endpoints.Endpoint) Link {
	switch ep.State {
	case endpoints.Desired:
		return link("node", OK, "is ready, and belongs in the target group")
	case endpoints.NotReady:
		return link("node", Broken, "is not ready").advise("See the node: kubectl describe node")
	case endpoints.Terminating:
		return link("node", Waiting, "is about to go")
	default:
		return link("node", OK, "is left out, by its labels or the binding's nodeSelector")
	}
}
