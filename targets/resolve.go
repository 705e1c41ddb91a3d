// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// endpoint is one pod at one address and port, or one node at its node port, and what the cluster wants of it.
type endpoint struct {
	target   elbv2.Target
	standing standing
	uid      types.UID   // of the pod; of a node its instance ID
	pod      *corev1.Pod // nil for a node, and while the pod is not in the cache; read only

	zone string // the Availability Zone of a pod's node, empty when it is not known

	// lastResort: nobody knows whether the node is alive. The endpoint is wanted only when no other is.
	lastResort bool

	// nodeDown: the pod's node was deleted, or says itself that it is not Ready. An unready pod there is not waited for.
	nodeDown bool

	// besideOwner: the target is registered for another pod, which lives at the same address and port.
	besideOwner bool

	// shared: another pod lives at the same address and port and is wanted, too.
	shared bool

	// proven: the pod's gate is open because the load balancer found it healthy.
	proven bool

	// unproven: the pod has the gate but no condition yet, so nothing shows that the target was registered for this
	// pod and not for an earlier one at the same address.
	unproven bool
}

// atGate reports whether the pod has the gate and it is closed.
func (ep endpoint) atGate(gate corev1.PodConditionType) bool {
	return ep.pod != nil && readiness.Has(ep.pod, gate) && !readiness.IsOpen(ep.pod, gate)
}

// standing is where an endpoint belongs.
type standing int

const (
	// kept: neither added nor removed. The caches do not agree on it yet.
	kept standing = iota
	// wanted: belongs in the group. The pod's containers are ready, or the node is.
	wanted
	// unready: alive but not ready, as far as anybody knows, or on a node that is gone. It is not added; if it is in the group
	// already it may go, but never so many of them that the group runs empty.
	unready
	// replaced: not asked for any more, though it lives. It goes when the wanted ones are healthy, or have had time for that.
	replaced
	// leaving: the pod is terminating or has ended, or the node is. It goes at once.
	leaving
)

// resolution is what the cluster says should be in the group.
type resolution struct {
	endpoints map[elbv2.Target]endpoint
	service   *corev1.Service // nil when it does not exist; read only
	// missing says what is not there, the Service or its port; empty when both are.
	missing string
	// odd are nodes that cannot be targets, by name, and why, or what is wrong with EndpointSlices. A healthy cluster has none.
	odd map[string]string
	// skipped are endpoints in slices that are not made targets of, and why; empty when users need not be told.
	skipped map[elbv2.Target]string
}

// resolver reads the cluster: pods and slices from indexes, the rest from the caches.
type resolver struct {
	*indexed
	reader client.Reader
	// lastResort lets in endpoints on nodes of unknown state when there are no others.
	lastResort   bool
	deletedNodes *deletedNodes
	holders      *holders
	selectors    *selectors

	// What one pass has read of nodes: each reading of a cache is a copy.
	nodes map[string]nodeFacts // by name
	node  corev1.Node          // what the last one was read into
}

// forPass is the resolver of one pass.
func (r *resolver) forPass() *resolver {
	return &resolver{
		indexed: r.indexed, reader: r.reader, lastResort: r.lastResort, deletedNodes: r.deletedNodes, holders: r.holders, selectors: r.selectors,
		nodes: map[string]nodeFacts{},
	}
}

// resolve finds the endpoints of the binding's Service port, and what is behind those of the registered targets that
// are none of them.
func (r *resolver) resolve(ctx context.Context, binding *v1beta1.TargetGroupBinding, known map[elbv2.Target]entry) (resolution, error) {
	res := resolution{
		endpoints: make(map[elbv2.Target]endpoint, len(known)), // about as many as there will be
		odd:       map[string]string{},
		skipped:   map[elbv2.Target]string{},
	}
	service, err := r.service(ctx, binding)
	if err != nil {
		return res, err
	}
	res.service = service
	var port corev1.ServicePort
	port, res.missing = servicePort(service, binding)
	if binding.Spec.IsIP() {
		err = r.resolvePods(ctx, binding, service, port, known, &res)
	} else {
		err = r.resolveNodes(ctx, binding, port, known, &res)
	}
	if r.lastResort {
		res.fallBack()
	}
	return res, err
}

// fallBack wants the endpoints of last resort when nothing else is wanted.
func (r *resolution) fallBack() {
	for _, ep := range r.endpoints {
		if ep.standing == wanted {
			return
		}
	}
	for target, ep := range r.endpoints {
		if ep.lastResort {
			ep.standing = wanted
			r.endpoints[target] = ep
		}
	}
}

// service is the binding's Service, nil when it does not exist.
func (r *resolver) service(ctx context.Context, binding *v1beta1.TargetGroupBinding) (*corev1.Service, error) {
	var service corev1.Service
	err := r.reader.Get(ctx, client.ObjectKey{Namespace: binding.Namespace, Name: binding.Spec.ServiceRef.Name},
		&service, client.UnsafeDisableDeepCopy)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("getting Service %s: %w", binding.Spec.ServiceRef.Name, err)
	}
	return &service, nil
}

// servicePort is the port that the binding names; missing says in words why there is none.
func servicePort(service *corev1.Service, binding *v1beta1.TargetGroupBinding) (port corev1.ServicePort, missing string) {
	ref := binding.Spec.ServiceRef
	if service == nil {
		return port, fmt.Sprintf("Service %q does not exist", ref.Name)
	}
	for _, port := range service.Spec.Ports {
		byName := ref.Port.Type == intstr.String && port.Name == ref.Port.StrVal
		if !byName && (ref.Port.Type != intstr.Int || port.Port != ref.Port.IntVal) {
			continue
		}
		if port.NodePort == 0 && !binding.Spec.IsIP() {
			return port, fmt.Sprintf("Service %q of type %s has no node port for %q: targetType instance needs type NodePort or LoadBalancer",
				ref.Name, service.Spec.Type, ref.Port.String())
		}
		return port, ""
	}
	return port, fmt.Sprintf("Service %q has no port %q", ref.Name, ref.Port.String())
}
