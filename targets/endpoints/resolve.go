// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package endpoints

import (
	"context"
	"fmt"
	"iter"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// Endpoint is one pod at one address and port, or one node at its node port, and what the cluster wants of it.
type Endpoint struct {
	Target elbv2.Target
	State  State
	UID    types.UID   // of the pod; of a node its instance ID
	Pod    *corev1.Pod // nil for a node, and while the pod is not in the cache; read only

	Zone string // the Availability Zone of a pod's node, empty when it is not known

	// lastResort: whether the node is alive is not known. The endpoint is wanted only when no other is.
	lastResort bool

	// ServesUntil is when the pod, which leaves, gets SIGTERM at the earliest. Zero: that may be now, or is not known.
	ServesUntil time.Time

	// LeavesAtOnce: the owner of the pod does not want its target kept until others replace it.
	LeavesAtOnce bool

	// NodeLeaves: the node is about to go, or the pod's node, and the pod will be deleted for that.
	NodeLeaves bool

	// Held is who says that the pod gets no traffic, and Gate the readiness gate, if it is one. Such a pod is in the group for nobody's sake.
	Held Held
	Gate corev1.PodConditionType

	// Waits: the pod, which has no gate of the binding and runs, is not Ready, as gates of other bindings or load balancers are closed.
	Waits bool

	// NodeDown: the pod's node was deleted, or says itself that it is not Ready. An unready pod there is not waited for.
	NodeDown bool

	// Named: a slice refers to a pod by that address, which the cache does not show.
	Named bool

	// BesideOwner: the target is registered for another pod, which lives at the same address and port.
	BesideOwner bool

	// Shared: another pod lives at the same address and port and is wanted, too.
	Shared bool

	// Proven: the pod's gate is open because the load balancer found it healthy.
	Proven bool

	// Unproven: the pod has the gate but no condition that comes after a registration, so nothing shows that the target was registered
	// for this pod and not for an earlier one at the same address.
	Unproven bool
}

// AtGate reports whether the pod has the gate and it is closed.
func (ep Endpoint) AtGate(gate corev1.PodConditionType) bool {
	return ep.Pod != nil && readiness.Has(ep.Pod, gate) && !readiness.IsOpen(ep.Pod, gate)
}

// State is what the cluster wants of an endpoint. From pass to pass it may change. Of two Nodes of one instance the lower State counts.
type State int

const (
	// Undetermined is neither added nor removed: the caches do not agree on it yet.
	Undetermined State = iota
	// Desired belongs in the target group: the pod's containers are ready, or the node is.
	Desired
	// NotReady lives but is not known to be ready, or its node is gone. It is not added. If it is in the group
	// already it may go, but never so many of them that the group runs empty.
	NotReady
	// HeldBack lives and is selected, and somebody says that it gets no traffic (Held). It is not added, and goes whatever becomes of others.
	HeldBack
	// Unselected lives, but the Service or the binding no longer selects it, or it is a node that others are to replace. It goes when
	// the desired ones are healthy, or have had time for that.
	Unselected
	// Terminating goes, in time for the load balancer to stop sending before ServesUntil: the pod is terminating or has ended, or the
	// node is.
	Terminating
)

// String is the state as users read it.
func (s State) String() string {
	return [...]string{
		Undetermined: "undetermined", Desired: "desired", NotReady: "not ready", HeldBack: "held back", Unselected: "unselected",
		Terminating: "terminating",
	}[s]
}

// Resolution is what the cluster says should be in the group.
type Resolution struct {
	Endpoints map[elbv2.Target]Endpoint
	Service   *corev1.Service // nil when it does not exist; read only
	// Draining are the pods that no slice lists, by their targets, which drain.
	Draining map[elbv2.Target]*corev1.Pod
	// Missing says what is not there, the Service or its port; empty when both are.
	Missing string
	// Odd are nodes that cannot be targets, or EndpointSlices with too many ports or endpoints, by name, and why. A healthy cluster has none.
	Odd map[string]string
	// Doubt says what users should know of the Service's port, which is registered all the same; mostly empty.
	Doubt string
	// cut says that the slices have more endpoints or ports than are looked at; empty when all were.
	cut string
	// Skipped says what EndpointSlices list that is not registered; empty when users need not be told.
	Skipped string
	// Memory is for Pass.After.
	Memory
	// Workloads are the pods that live of the workloads of which pods are being deleted, by Workload; nil where there are none. Read only.
	Workloads map[string][]*corev1.Pod
	// portless are the names of the EndpointSlices of the Service that do not have its port.
	portless map[string]bool
}

// Resolver reads the cluster: pods and slices from indexes, the rest from the caches.
type Resolver struct {
	*Cache
	reader client.Reader
	// LastResort lets in endpoints on nodes of unknown state when there are no others.
	lastResort   bool
	DeletedNodes *DeletedNodes
	SpotNotices  *SpotNotices
	Holders      *Holders
	Selectors    *Selectors
	// LoadBalancerGates are prefixes of readiness gates that other load balancers open: they hold no pod back.
	LoadBalancerGates []string
}

// NewResolver returns one that reads pods and EndpointSlices from the cache, and the rest with reader.
func NewResolver(reader client.Reader, cache *Cache, lastResort bool) *Resolver {
	return &Resolver{
		Cache: cache, reader: reader, lastResort: lastResort,
		DeletedNodes: &DeletedNodes{at: map[string]time.Time{}}, SpotNotices: &SpotNotices{at: map[string]time.Time{}},
		Holders: newHolders(), Selectors: newSelectors(), LoadBalancerGates: readiness.LoadBalancerGates(),
	}
}

// Pass is a Resolver that remembers what it has read of nodes, as each reading of a cache is a copy. Not safe for concurrent use.
type Pass struct {
	*Resolver
	nodes map[string]nodeFacts // by name
	node  corev1.Node          // what the last one was read into

	memory Memory // as of the last pass over the binding, zero when that is not known
	now    time.Time
}

// Memory is what passes over a binding remember of the cluster. It is not to be changed.
type Memory struct {
	Unseen    Unseen
	Selectors PastSelectors
}

// ForPass begins a pass.
func (r *Resolver) ForPass() *Pass {
	return &Pass{Resolver: r, nodes: map[string]nodeFacts{}}
}

// Group is what is known of a binding's target group.
type Group interface {
	// Len is how many targets are known.
	Len() int
	// Targets are those that are in the group, or were lately.
	Targets() iter.Seq[elbv2.Target]
	// Draining reports whether the target is on its way out of the group.
	Draining(elbv2.Target) bool
	// Owner is the pod that the target was registered for, empty when not known.
	Owner(elbv2.Target) types.UID
}

// resolving fills in the resolution of one binding.
type resolving struct {
	*Pass
	binding *v1beta1.TargetGroupBinding
	group   Group
	res     *Resolution
	// skipped are endpoints in slices that are not made targets of, and why; empty when users need not be told.
	skipped map[elbv2.Target]string
	// gone are those of skipped whose pods do not exist.
	gone map[elbv2.Target]bool
}

// Resolve finds the endpoints of the binding's Service port, and what is behind those of the registered targets that
// are none of them.
func (p *Pass) Resolve(ctx context.Context, binding *v1beta1.TargetGroupBinding, group Group) (Resolution, error) {
	res := Resolution{
		Endpoints: make(map[elbv2.Target]Endpoint, group.Len()), // about as many as there will be
		Draining:  map[elbv2.Target]*corev1.Pod{},
		Odd:       map[string]string{},
		Memory:    Memory{Unseen: Unseen{}},
		portless:  map[string]bool{},
	}
	var err error
	if res.Service, err = ServiceOf(ctx, p.reader, binding); err != nil {
		return res, err
	}
	res.Selectors = p.memory.Selectors.with(res.Service)
	var port corev1.ServicePort
	port, res.Missing, res.Doubt = servicePort(res.Service, binding)
	r := resolving{p, binding, group, &res, map[elbv2.Target]string{}, map[elbv2.Target]bool{}}
	if binding.Spec.IsIP() {
		err = r.resolvePods(ctx, port)
	} else {
		err = r.resolveNodes(ctx, port)
	}
	if p.lastResort {
		res.fallBack()
	}
	return res, err
}

// fallBack wants the endpoints of last resort when nothing else is wanted.
func (r *Resolution) fallBack() {
	for _, ep := range r.Endpoints {
		if ep.State == Desired {
			return
		}
	}
	for target, ep := range r.Endpoints {
		if ep.lastResort {
			ep.State = Desired
			r.Endpoints[target] = ep
		}
	}
}

// ServiceOf reads the binding's Service. It is shared, and nil when it does not exist.
func ServiceOf(ctx context.Context, reader client.Reader, binding *v1beta1.TargetGroupBinding) (*corev1.Service, error) {
	var service corev1.Service
	err := reader.Get(ctx, client.ObjectKey{Namespace: binding.Namespace, Name: binding.Spec.ServiceRef.Name},
		&service, client.UnsafeDisableDeepCopy)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("getting Service %s: %w", binding.Spec.ServiceRef.Name, err)
	}
	return &service, nil
}
