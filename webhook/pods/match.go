// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// coveringBinding is what a pod needs from a binding that covers it.
type coveringBinding struct {
	gate     corev1.PodConditionType
	protocol v1beta1.Protocol // of the target group, empty if not known yet
}

// coverage is what a namespace's bindings and Services mean for one pod.
type coverage struct {
	// bindings are those of type ip, not being deleted, whose Service selects the pod, sorted by name.
	bindings []coveringBinding
	// service is the first Service by name that selects the pod, empty if none does.
	service string
	// nameless is the first binding by name whose Service selects the pod but whose name is too long for a gate, or empty.
	nameless string
	// unbound is the creation time of the newest Service that selects the pod and that no binding names, or zero.
	unbound time.Time
}

// matcher finds the coverage of the pods of one namespace. It compares a pod only with Services that share a label with it.
// Each Service is indexed by the label that the fewest others select, so that the number of Services does not matter.
type matcher struct {
	byLabel map[label][]*selection
	// incomplete is true if a binding names a missing Service, and so may cover any pod.
	incomplete bool
}

type label struct{ key, value string }

// selection is a Service that selects pods, with the bindings that name it.
type selection struct {
	service  string
	created  time.Time
	wanted   []label
	bound    bool // some binding names it, of whatever type
	bindings []coveringBinding
	nameless string // the first binding by name whose name is too long for a gate
}

// newMatcher compiles the bindings and Services of one namespace.
func newMatcher(bindings []v1beta1.TargetGroupBinding, services []corev1.Service) *matcher {
	byName := make(map[string]*selection, len(services))
	asked := map[label]int{}
	for i := range services {
		s := newSelection(&services[i])
		byName[s.service] = s
		for _, l := range s.wanted {
			asked[l]++
		}
	}
	m := &matcher{byLabel: map[label][]*selection{}}
	for i := range bindings {
		m.bind(&bindings[i], byName)
	}
	for _, s := range byName {
		if len(s.wanted) > 0 { // a Service without a selector selects nothing
			rarest := slices.MinFunc(s.wanted, func(a, b label) int { return cmp.Compare(asked[a], asked[b]) })
			m.byLabel[rarest] = append(m.byLabel[rarest], s)
		}
	}
	return m
}

// empty reports whether no pod can be covered, now or after a short wait.
func (m *matcher) empty() bool { return len(m.byLabel) == 0 && !m.incomplete }

func newSelection(service *corev1.Service) *selection {
	s := &selection{service: service.Name, created: service.CreationTimestamp.Time}
	for key, value := range selectorOf(service) {
		s.wanted = append(s.wanted, label{key, value})
	}
	return s
}

// selectorOf returns nil for a Service of type ExternalName: it has no endpoints, whatever its selector.
func selectorOf(service *corev1.Service) map[string]string {
	if service.Spec.Type == corev1.ServiceTypeExternalName {
		return nil
	}
	return service.Spec.Selector
}

func (m *matcher) bind(binding *v1beta1.TargetGroupBinding, services map[string]*selection) {
	facts := factsOf(binding)
	s := services[facts.service]
	if s != nil {
		s.bound = true
	}
	switch {
	case !facts.inForce:
	case s == nil:
		m.incomplete = true
	case len(binding.Name) > v1beta1.MaxBindingName:
		s.nameless = firstOf(s.nameless, binding.Name)
	default:
		s.bindings = append(s.bindings, coveringBinding{readiness.GateFor(binding.Name), facts.protocol})
	}
}

// cover returns the coverage of a pod with these labels.
func (m *matcher) cover(podLabels map[string]string) coverage {
	var c coverage
	for key, value := range podLabels {
		for _, s := range m.byLabel[label{key, value}] {
			if s.selects(podLabels) {
				c.add(s)
			}
		}
	}
	slices.SortFunc(c.bindings, func(a, b coveringBinding) int { return cmp.Compare(a.gate, b.gate) })
	return c
}

func (s *selection) selects(podLabels map[string]string) bool {
	for _, l := range s.wanted {
		if value, there := podLabels[l.key]; !there || value != l.value {
			return false
		}
	}
	return true
}

func (c *coverage) add(s *selection) {
	c.bindings = append(c.bindings, s.bindings...)
	c.service, c.nameless = firstOf(c.service, s.service), firstOf(c.nameless, s.nameless)
	if !s.bound && s.created.After(c.unbound) {
		c.unbound = s.created
	}
}

// firstOf returns the first of two names, of which one or both may be empty.
func firstOf(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return min(a, b)
}

// bindingFacts are the fields of a binding that we read. No other change in it matters here.
type bindingFacts struct {
	inForce  bool // it adds gates: it is of type ip and not being deleted
	service  string
	protocol v1beta1.Protocol
}

func factsOf(binding *v1beta1.TargetGroupBinding) bindingFacts {
	return bindingFacts{
		inForce: binding.Spec.IsIP() && binding.DeletionTimestamp.IsZero(),
		service: binding.Spec.ServiceRef.Name, protocol: binding.GroupProtocol(),
	}
}
