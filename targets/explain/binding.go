// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/targetgate/targetgate/targets/endpoints"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// bindingLinks are the links that all pods of the binding have in common.
func (s *bindingState) bindingLinks() []Link {
	registrar := s.registrar()
	l, theirs := registrar.link()
	if theirs {
		return append([]Link{s.specLink(), *l}, registrar.incumbentLinks()...)
	}
	links := []Link{s.bindingLink()}
	if l != nil {
		links = append(links, *l)
	}
	links = append(links, s.controllerLink())
	if s.abandoned() {
		return links
	}
	links = append(links, s.serviceLink(), s.sliceLink(), groupState{s}.link())
	if s.binding.Spec.Networking != nil {
		links = append(links, s.rulesLink())
	}
	return links
}

// abandoned reports whether the registrar registers nothing for the binding, whatever its Service has.
func (s *bindingState) abandoned() bool {
	return s.desired.Refused != "" || !s.binding.DeletionTimestamp.IsZero()
}

func (s *bindingState) bindingLink() Link {
	switch {
	case !s.binding.DeletionTimestamp.IsZero():
		return s.deletedLink()
	case s.desired.Successor:
		return link("binding", Waiting, "%s: targetgate hands the group over when the calls for that one are answered", s.desired.Refused)
	case s.desired.Refused != "":
		return link("binding", Broken, "%s", s.desired.Refused).
			advise("targetgate leaves this binding alone until that is changed, and opens the gates of its pods meanwhile")
	case s.status(v1beta1.ConditionReady).Reason == v1beta1.ReasonRoleNotAllowed:
		return link("binding", Broken, "%s", s.status(v1beta1.ConditionReady).Message).
			advise("Whoever runs targetgate decides that, by --role-allowlist: the chart's roleAllowlist")
	case s.status(v1beta1.ConditionReady).Reason == v1beta1.ReasonNotSupported: // for what you may not read
		return link("binding", Broken, "%s", s.status(v1beta1.ConditionReady).Message)
	default:
		return s.specLink()
	}
}

// deletedLink is of a binding that is being deleted. What keeps its targets in the group needs someone, as it does otherwise; until
// targetgate has seen the deletion the status is not about that.
func (s *bindingState) deletedLink() Link {
	at, ready := stamp(s.binding.DeletionTimestamp.Time), s.status(v1beta1.ConditionReady)
	if advice := groupAdvice[ready.Reason]; advice != "" && s.behind() == "" {
		return link("binding", Broken, "was deleted at %s, and its targets cannot be deregistered: %s: %s",
			at, ready.Reason, ready.Message).advise("%s", advice)
	}
	return link("binding", Waiting, "was deleted at %s: targetgate deregisters its targets and opens its gates. %s",
		at, ready.Message)
}

// specLink is what the binding asks for, whoever does it.
func (s *bindingState) specLink() Link {
	ref := s.binding.Spec.ServiceRef
	if !s.binding.Spec.IsIP() {
		return link("binding", OK, "registers nodes at the node port of Service %q: gates of pods have nothing to wait for", ref.Name)
	}
	return link("binding", OK, "registers pods at port %s of Service %q", ref.Port.String(), ref.Name)
}

func (s *bindingState) serviceLink() Link {
	ref := s.binding.Spec.ServiceRef
	switch {
	case s.desired.Service == nil:
		return link("service", Broken, "%s", s.desired.Missing).
			advise("Create it, or have spec.serviceRef.name of the binding name another one: kubectl -n %s get services", s.binding.Namespace)
	case s.desired.Missing != "":
		return link("service", Broken, "%s", s.desired.Missing).
			advise("It has %s: have spec.serviceRef.port of the binding name one of them, or change the Service", ports(s.desired.Service))
	case s.desired.Doubt != "":
		return link("service", OK, "%s", s.desired.Doubt)
	default:
		return link("service", OK, "%q has port %s", ref.Name, ref.Port.String())
	}
}

func ports(service *corev1.Service) string {
	var out []string
	for _, port := range service.Spec.Ports {
		text := fmt.Sprintf("%d", port.Port)
		if port.Protocol != "" && port.Protocol != corev1.ProtocolTCP {
			text += "/" + string(port.Protocol)
		}
		if port.Name != "" {
			text = fmt.Sprintf("%s (%s)", port.Name, text)
		}
		out = append(out, text)
	}
	return fmt.Sprintf("type %s and ports %s", service.Spec.Type, strings.Join(out, ", "))
}

// sliceLink is about whether the Service has any endpoint for the binding.
func (s *bindingState) sliceLink() Link {
	selected := s.selected()
	selector := ""
	if s.desired.Service != nil {
		selector = labels.FormatLabels(s.desired.Service.Spec.Selector)
	}
	switch {
	case s.desired.Missing != "":
		return link("slice", Unknown, "not checked, because the Service's port was not found")
	case s.sliceFaults() != "":
		return link("slice", Broken, "%s", s.sliceFaults())
	case len(s.desired.Ordered) > 0:
		return link("slice", OK, "%s", s.states())
	case !s.binding.Spec.IsIP():
		return s.nodelessLink()
	case len(s.desired.Service.Spec.Selector) == 0:
		return link("slice", Broken, "Service %q has no selector, and its EndpointSlices name no pods", s.desired.Service.Name).
			advise("Only pods are registered: give the Service a selector")
	case selected == 0:
		return link("slice", Broken, "Service %q selects no pod: its selector is %s", s.desired.Service.Name, selector).
			advise("Compare it with the labels of the pods (kubectl -n %s get pods --show-labels); perhaps there are none now", s.binding.Namespace)
	default:
		return s.unlisted(selected)
	}
}

// sliceFaults is what is wrong with the EndpointSlices of a binding that registers pods, empty when nothing is.
func (s *bindingState) sliceFaults() string {
	if !s.binding.Spec.IsIP() {
		return ""
	}
	faults := slices.Sorted(maps.Values(s.desired.Odd))
	if s.desired.Skipped != "" {
		faults = append(faults, s.desired.Skipped)
	}
	return strings.Join(faults, "; ")
}

// nodelessLink is that of a binding that registers nodes, and has none.
func (s *bindingState) nodelessLink() Link {
	switch {
	case s.desired.NodesUnread:
		return link("slice", Unknown, "which nodes belong in the target group is not known: you may not read nodes")
	case len(s.desired.Odd) > 0:
		return link("slice", Unknown, "no node of the cluster can be a target")
	default:
		return link("slice", Broken, "no node of the cluster can be a target").advise("See the nodes: kubectl get nodes -o wide --show-labels")
	}
}

// unlisted is why pods that the Service selects are no endpoints.
func (s *bindingState) unlisted(selected int) Link {
	for i := range s.pods {
		if pod := &s.pods[i]; s.desired.selects(pod) && !endpoints.IsTerminating(pod) {
			if why, lasting := s.desired.unlisted(pod); lasting {
				return link("slice", Broken, "%s", why)
			}
		}
	}
	return link("slice", Waiting, "Service %q selects %d pods, and no EndpointSlice lists one yet", s.desired.Service.Name, selected)
}

// unlistedPod is the same of one pod.
func (e endpointState) unlistedPod() Link {
	why, lasting := e.desired.unlisted(e.pod)
	if lasting {
		return link("slice", Broken, "%s", why)
	}
	return link("slice", Waiting, "%s", why)
}

// states counts the endpoints by what the registrar does with them.
func (s *bindingState) states() string {
	count := map[endpoints.State]int{}
	for _, ep := range s.desired.Ordered {
		count[ep.State]++
	}
	var out []string
	for _, state := range []endpoints.State{
		endpoints.Desired, endpoints.NotReady, endpoints.Undetermined, endpoints.Unselected, endpoints.Terminating,
	} {
		if count[state] > 0 {
			out = append(out, fmt.Sprintf("%d %s", count[state], state))
		}
	}
	return "endpoints: " + strings.Join(out, ", ")
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
