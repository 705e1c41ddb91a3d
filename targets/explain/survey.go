// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/endpoints"
	"github.com/targetgate/targetgate/targets/ownership"
	"github.com/targetgate/targetgate/targets/targetgroup"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// Survey is what the registrar would make of one binding, by the cluster alone.
type Survey struct {
	// Refused says why the registrar leaves the binding alone, empty when it does not.
	Refused string
	// Successor says that it does so only until the target group has been handed over by a binding that is being deleted.
	Successor bool
	// Service is nil when it does not exist; read only.
	Service *corev1.Service
	// Missing says what is not there, the Service or its port, empty when both are.
	Missing string
	// Endpoints are in the order of their targets.
	Endpoints []endpoints.Endpoint
	// Odd are nodes that cannot be targets, or EndpointSlices with too many ports, by name, and why.
	Odd map[string]string
	// Skipped says what EndpointSlices list that is not registered; empty when users need not be told.
	Skipped string
	// NodesUnread says that the nodes of a binding that registers nodes may not be read.
	NodesUnread bool

	whyUnlisted func(*corev1.Pod) (why string, lasting bool)
}

// Unlisted says why the Service, which exists and selects the pod, has no endpoint for it, and whether that stays so until
// someone changes something; otherwise the EndpointSlices may only be late.
func (s Survey) Unlisted(pod *corev1.Pod) (why string, lasting bool) { return s.whyUnlisted(pod) }

// Selects reports whether the binding's Service selects the pod.
func (s Survey) Selects(pod *corev1.Pod) bool { return endpoints.Selects(s.Service, pod) }

// EndpointOf is the pod's endpoint, nil when it is none. A pod may be there at an old port as well.
func (s Survey) EndpointOf(uid types.UID) *endpoints.Endpoint {
	var best *endpoints.Endpoint
	for i := range s.Endpoints {
		ep := &s.Endpoints[i]
		if ep.Pod != nil && ep.Pod.UID == uid && (best == nil || ep.State == endpoints.Desired) {
			best = ep
		}
	}
	return best
}

// IsBehind reports whether the pod has the binding's gate, is selected by its Service, or is an endpoint all the same.
func (s Survey) IsBehind(pod *corev1.Pod, gate corev1.PodConditionType) bool {
	return readiness.Has(pod, gate) || s.Selects(pod) || s.EndpointOf(pod.UID) != nil
}

// Surveyor looks at bindings as the registrar does, with its own code, in the flags' defaults; it changes nothing. All of
// its surveys are of the moment of the first: what it has read once it does not read again. Not safe for concurrent use.
type Surveyor struct {
	reader    *apiReader
	resolvers map[string]*endpoints.Resolver // by namespace
	labelled  map[string]bool                // by namespace: it has the label by which targetgate registers beside the incumbent
}

// NewSurveyor returns a Surveyor that reads from the API server itself, where there are no indexes.
func NewSurveyor(reader client.Reader) *Surveyor {
	return &Surveyor{reader: newAPIReader(reader), resolvers: map[string]*endpoints.Resolver{}, labelled: map[string]bool{}}
}

// Survey looks at a binding. InGroup are the targets of its group, as far as they are known: the pods and nodes behind
// them are endpoints, too, although no slice lists them.
func (s *Surveyor) Survey(ctx context.Context, binding *v1beta1.TargetGroupBinding, inGroup []elbv2.Target) (Survey, error) {
	duplicates, err := ownership.Duplicates(ctx, s.reader, binding)
	if err != nil {
		return Survey{}, err
	}
	if why, successor := ownership.Unmanageable(binding, duplicates); why != "" {
		service, err := endpoints.ServiceOf(ctx, s.reader, binding)
		return Survey{Refused: why, Successor: successor, Service: service}, err
	}
	r, err := s.resolver(ctx, binding.Namespace)
	if err != nil {
		return Survey{}, err
	}
	group := targetgroup.Targets{}
	for _, target := range inGroup {
		group[target] = targetgroup.Target{Presence: targetgroup.Registered}
	}
	res, err := r.ForPass().Resolve(ctx, binding, group)
	if err != nil {
		return Survey{}, err
	}
	survey := surveyOf(res)
	survey.NodesUnread = !binding.Spec.IsIP() && len(res.Endpoints)+len(res.Odd) == 0 && slices.Contains(s.reader.unread, "nodes")
	survey.whyUnlisted = func(pod *corev1.Pod) (string, bool) { return r.WhyUnlisted(binding, res, pod) }
	return survey, nil
}

func surveyOf(res endpoints.Resolution) Survey {
	out := Survey{Service: res.Service, Missing: res.Missing, Odd: res.Odd, Skipped: res.Skipped}
	out.Endpoints = slices.Collect(maps.Values(res.Endpoints))
	slices.SortFunc(out.Endpoints, func(a, b endpoints.Endpoint) int {
		return cmp.Or(cmp.Compare(a.Target.ID, b.Target.ID), cmp.Compare(a.Target.Port, b.Target.Port))
	})
	return out
}

// resolver is one for all bindings of a namespace, which has read all pods and EndpointSlices there.
func (s *Surveyor) resolver(ctx context.Context, namespace string) (*endpoints.Resolver, error) {
	if known, ok := s.resolvers[namespace]; ok {
		return known, nil
	}
	found, err := endpoints.ReadCache(ctx, s.reader, namespace)
	if err != nil {
		return nil, err
	}
	s.resolvers[namespace] = endpoints.NewResolver(s.reader, found, true)
	return s.resolvers[namespace], nil
}

// Pods are those of the namespace; read only.
func (s *Surveyor) Pods(ctx context.Context, namespace string) ([]corev1.Pod, error) {
	var pods corev1.PodList
	if err := s.reader.List(ctx, &pods, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("listing pods: %w", err)
	}
	return pods.Items, nil
}

// NotTaken says why the binding should not be targetgate's where it works beside the incumbent, by the cluster alone; empty when it should.
// Namespaces that may not be read count as labelled: their bindings are no reason.
func (s *Surveyor) NotTaken(ctx context.Context, binding *v1beta1.TargetGroupBinding) (string, error) {
	duplicates, err := ownership.Duplicates(ctx, s.reader, binding)
	if err != nil {
		return "", err
	}
	return ownership.NotTaken(binding, duplicates, func(namespace string) (bool, error) { return s.isRegistered(ctx, namespace) })
}

func (s *Surveyor) isRegistered(ctx context.Context, namespace string) (bool, error) {
	if known, ok := s.labelled[namespace]; ok {
		return known, nil
	}
	var ns corev1.Namespace
	err := s.reader.Get(ctx, client.ObjectKey{Name: namespace}, &ns)
	switch {
	case apierrors.IsForbidden(err):
		s.labelled[namespace] = true
	case client.IgnoreNotFound(err) != nil:
		return false, fmt.Errorf("getting namespace %s: %w", namespace, err)
	default:
		s.labelled[namespace] = err == nil && ownership.IsRegistered(ns.Labels)
	}
	return s.labelled[namespace], nil
}

// Unread are kinds of which the API server does not let us read all, so that they are taken not to be there.
func (s *Surveyor) Unread() []string { return s.reader.unread }
