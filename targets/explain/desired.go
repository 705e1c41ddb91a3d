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

// desired is what the registrar would make of one binding, by the cluster alone.
type desired struct {
	// Resolution is the registrar's own. Of a binding that is left alone it has the Service at most.
	endpoints.Resolution
	// Refused says why the registrar leaves the binding alone, empty when it does not.
	Refused string
	// Successor says that it does so only until the target group has been handed over by a binding that is being deleted.
	Successor bool
	// Ordered are the endpoints in the order of their targets.
	Ordered []endpoints.Endpoint
	// NodesUnread says that the nodes of a binding that registers nodes may not be read.
	NodesUnread bool

	// unlisted says why the Service, which exists and selects the pod, has no endpoint for it, and whether that stays so until
	// someone changes something; otherwise the EndpointSlices may only be late.
	unlisted func(*corev1.Pod) (why string, lasting bool)
}

// selects reports whether the binding's Service selects the pod.
func (d desired) selects(pod *corev1.Pod) bool { return endpoints.Selects(d.Service, pod) }

// endpointOf is the pod's endpoint, nil when it is none. A pod may be there at an old port as well.
func (d desired) endpointOf(uid types.UID) *endpoints.Endpoint {
	var best *endpoints.Endpoint
	for i := range d.Ordered {
		ep := &d.Ordered[i]
		if ep.Pod != nil && ep.Pod.UID == uid && (best == nil || ep.State == endpoints.Desired) {
			best = ep
		}
	}
	return best
}

// isBehind reports whether the pod has the binding's gate, is selected by its Service, or is an endpoint all the same.
func (d desired) isBehind(pod *corev1.Pod, gate corev1.PodConditionType) bool {
	return readiness.Has(pod, gate) || d.selects(pod) || d.endpointOf(pod.UID) != nil
}

// clusterReader looks at bindings as the registrar does, with its own code, in the flags' defaults; it changes nothing. All that
// it says is of the moment of the first look: what it has read once it does not read again. Not safe for concurrent use.
type clusterReader struct {
	reader    *apiReader
	resolvers map[string]*endpoints.Resolver // by namespace
	labelled  map[string]bool                // by namespace: it has the label by which targetgate registers beside the incumbent

	loadBalancerGates []string
}

// newClusterReader returns one that reads from the API server itself, where there are no indexes.
func newClusterReader(reader client.Reader) *clusterReader {
	return &clusterReader{
		reader: newAPIReader(reader), resolvers: map[string]*endpoints.Resolver{}, labelled: map[string]bool{},
		loadBalancerGates: readiness.LoadBalancerGates(),
	}
}

// Resolve is what explanations take for the registrar's Resolution of the binding, from an API server without indexes. Tests of the
// registrar compare the two. InGroup are the targets of its group.
func Resolve(ctx context.Context, reader client.Reader, binding *v1beta1.TargetGroupBinding, inGroup []elbv2.Target) (
	endpoints.Resolution, error,
) {
	found, err := newClusterReader(reader).resolve(ctx, binding, inGroup)
	return found.Resolution, err
}

// resolve looks at a binding. InGroup are the targets of its group, as far as they are known: the pods and nodes behind
// them are endpoints, too, although no slice lists them.
func (c *clusterReader) resolve(ctx context.Context, binding *v1beta1.TargetGroupBinding, inGroup []elbv2.Target) (desired, error) {
	duplicates, err := ownership.Duplicates(ctx, c.reader, binding)
	if err != nil {
		return desired{}, err
	}
	if why, successor := ownership.Unmanageable(binding, duplicates); why != "" {
		service, err := endpoints.ServiceOf(ctx, c.reader, binding)
		return desired{Resolution: endpoints.Resolution{Service: service}, Refused: why, Successor: successor}, err
	}
	r, err := c.resolver(ctx, binding.Namespace)
	if err != nil {
		return desired{}, err
	}
	group := targetgroup.Targets{}
	for _, target := range inGroup {
		group[target] = targetgroup.Target{Presence: targetgroup.Registered}
	}
	res, err := r.ForPass().Resolve(ctx, binding, group)
	if err != nil {
		return desired{}, err
	}
	return desired{
		Resolution: res, Ordered: inOrder(res.Endpoints),
		NodesUnread: !binding.Spec.IsIP() && len(res.Endpoints)+len(res.Odd) == 0 && slices.Contains(c.reader.unread, "nodes"),
		unlisted:    func(pod *corev1.Pod) (string, bool) { return r.WhyUnlisted(binding, res, pod) },
	}, nil
}

func inOrder(all map[elbv2.Target]endpoints.Endpoint) []endpoints.Endpoint {
	return slices.SortedFunc(maps.Values(all), func(a, b endpoints.Endpoint) int {
		return cmp.Or(cmp.Compare(a.Target.ID, b.Target.ID), cmp.Compare(a.Target.Port, b.Target.Port))
	})
}

// resolver is one for all bindings of a namespace, which has read all pods and EndpointSlices there.
func (c *clusterReader) resolver(ctx context.Context, namespace string) (*endpoints.Resolver, error) {
	if known, ok := c.resolvers[namespace]; ok {
		return known, nil
	}
	found, err := endpoints.ReadCache(ctx, c.reader, namespace)
	if err != nil {
		return nil, err
	}
	r := endpoints.NewResolver(c.reader, found, true)
	r.LoadBalancerGates = c.loadBalancerGates
	c.resolvers[namespace] = r
	return r, nil
}

// pods are those of the namespace; read only.
func (c *clusterReader) pods(ctx context.Context, namespace string) ([]corev1.Pod, error) {
	var pods corev1.PodList
	if err := c.reader.List(ctx, &pods, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("listing pods: %w", err)
	}
	return pods.Items, nil
}

// notTaken says why the binding should not be targetgate's where it works beside the incumbent, by the cluster alone; empty when it should.
// Namespaces that may not be read count as labelled: their bindings are no reason.
func (c *clusterReader) notTaken(ctx context.Context, binding *v1beta1.TargetGroupBinding) (string, error) {
	duplicates, err := ownership.Duplicates(ctx, c.reader, binding)
	if err != nil {
		return "", err
	}
	return ownership.NotTaken(binding, duplicates, func(namespace string) (bool, error) { return c.isRegistered(ctx, namespace) })
}

func (c *clusterReader) isRegistered(ctx context.Context, namespace string) (bool, error) {
	if known, ok := c.labelled[namespace]; ok {
		return known, nil
	}
	var ns corev1.Namespace
	err := c.reader.Get(ctx, client.ObjectKey{Name: namespace}, &ns)
	switch {
	case apierrors.IsForbidden(err):
		c.labelled[namespace] = true
	case client.IgnoreNotFound(err) != nil:
		return false, fmt.Errorf("getting namespace %s: %w", namespace, err)
	default:
		c.labelled[namespace] = err == nil && ownership.IsRegistered(ns.Labels)
	}
	return c.labelled[namespace], nil
}
