// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package endpoints

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/targetgate/targetgate/aws/elbv2"
)

// resolveNodes finds the nodes of a binding of type instance. Which of them has pods of the Service is not looked at:
// with externalTrafficPolicy Local the load balancer's health checks find that out, node by node.
func (r resolving) resolveNodes(ctx context.Context, port corev1.ServicePort) error {
	selector, err := r.Selectors.Of(r.binding)
	if err != nil {
		return fmt.Errorf("reading spec.nodeSelector: %w", err)
	}
	var list corev1.NodeList
	if err := r.reader.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing nodes: %w", err)
	}
	alive := r.addNodes(list.Items, selector, port)
	held := map[string]bool{} // their nodes may not be selected
	for target := range r.group.Targets() {
		if s, lives := alive[target.ID]; lives && (s == Unselected || s == Terminating) {
			held[target.ID] = true
		}
	}
	r.Holders.Hold(client.ObjectKeyFromObject(r.binding), held)
	r.addOldPorts(alive)
	return nil
}

// addNodes adds the nodes that can be targets, and returns where each of them belongs, by instance ID. An instance that came back under
// another name has two Nodes for a while, as it lives: the one counts that is in better order.
func (r resolving) addNodes(nodes []corev1.Node, selector labels.Selector, port corev1.ServicePort) map[string]State {
	alive := map[string]State{}
	for i := range nodes {
		node := &nodes[i]
		if onFargate(node) {
			continue
		}
		id, ok := InstanceID(node)
		ep := Endpoint{Target: elbv2.Target{ID: id, Port: port.NodePort}, UID: types.UID(id)}
		ep.State, ep.lastResort = stateOfNode(node, selector)
		ep.NodeLeaves = IsLeaving(node) && !isLeftOut(node, selector)
		if !ok {
			r.res.noteOdd(node, ep.State)
			continue
		}
		if other, twice := alive[id]; twice && (other < ep.State || other == ep.State && !ep.lastResort) {
			continue
		}
		alive[id] = ep.State
		if r.res.Missing == "" {
			r.res.Endpoints[ep.Target] = ep
		}
	}
	return alive
}

// uninitializedTaint is on a node until its cloud controller has told what machine it is.
var uninitializedTaint = []corev1.Taint{{Key: "node.cloudprovider.kubernetes.io/uninitialized"}}

// noteOdd notes that a node would be a target if its provider ID named an instance, unless it has yet to get one.
func (r *Resolution) noteOdd(node *corev1.Node, s State) {
	if (s == Desired || s == NotReady) && !hasTaint(node, uninitializedTaint) {
		r.Odd[node.Name] = fmt.Sprintf("Node %s cannot be a target: spec.providerID %q names no instance, must be aws:///<zone>/i-...",
			node.Name, node.Spec.ProviderID)
	}
}

// addOldPorts adds the targets of living nodes at ports that are no longer wanted.
func (r resolving) addOldPorts(alive map[string]State) {
	for target := range r.group.Targets() {
		s, lives := alive[target.ID]
		if _, listed := r.res.Endpoints[target]; listed || !lives {
			continue
		}
		if s != Terminating {
			s = Unselected
		}
		r.res.Endpoints[target] = Endpoint{Target: target, UID: types.UID(target.ID), State: s}
	}
}

var instanceIDPattern = regexp.MustCompile(`/(i-[0-9a-f]+)$`)

// InstanceID is the ID of the EC2 instance that the node is, by its spec.providerID.
func InstanceID(node *corev1.Node) (string, bool) {
	match := instanceIDPattern.FindStringSubmatch(node.Spec.ProviderID)
	if match == nil {
		return "", false
	}
	return match[1], true
}

// stateOfNode says where a node belongs. The labels and taints are those that the incumbent and the cloud providers
// look at.
func stateOfNode(node *corev1.Node, selector labels.Selector) (s State, lastResort bool) {
	ready := NodeReadiness(node)
	switch {
	case endsSoon(node):
		return Terminating, false
	case IsLeaving(node) || isLeftOut(node, selector):
		return Unselected, false
	case ready == corev1.ConditionTrue:
		return Desired, false
	default:
		return NotReady, ready == corev1.ConditionUnknown
	}
}

// ComputeTypeLabel is where EKS says what a node is, if it is no EC2 instance.
const ComputeTypeLabel = "eks.amazonaws.com/compute-type"

func onFargate(node *corev1.Node) bool {
	return node.Labels[ComputeTypeLabel] == "fargate"
}

// isLeftOut reports whether its labels or the binding's selector leave the node out, for as long as they are as they are.
func isLeftOut(node *corev1.Node, selector labels.Selector) bool {
	return isExcluded(node) || !selector.Matches(labels.Set(node.Labels))
}

func isExcluded(node *corev1.Node) bool {
	for _, label := range []string{
		"node-role.kubernetes.io/master",
		corev1.LabelNodeExcludeBalancers,
		"alpha.service-controller.kubernetes.io/exclude-balancer",
	} {
		if _, excluded := node.Labels[label]; excluded {
			return true
		}
	}
	return false
}

// nodeFacts is what is asked about the node of a pod.
type nodeFacts struct {
	ready   corev1.ConditionStatus
	zone    string // the Availability Zone, empty when it is not known
	missing bool   // there is no such Node: it was deleted, or its cache is behind that of pods
	deleted bool   // it was seen to be deleted

	sleepless bool // its kubelet is too old for a preStop sleep

	leaves    bool      // it is about to end
	shutsDown bool      // its kubelet stops its pods, and says that it is not Ready
	spot      bool      // it has a notice of its interruption
	endsAt    time.Time // when it ends for that, zero when not known
}

// endsPods reports whether the node ends its pods, which have no deletionTimestamp for that yet.
func (n nodeFacts) endsPods() bool { return n.shutsDown || n.spot }

// down reports whether the node is known not to run its pods much longer: it says so itself, as in a shutdown, or it was deleted.
func (n nodeFacts) down() bool { return n.deleted || n.ready == corev1.ConditionFalse }

// nodeOf is what is known of the pod's node. A pod without a node, and a node that we may not read, say nothing against the pod.
func (p *Pass) nodeOf(ctx context.Context, pod *corev1.Pod) (nodeFacts, error) {
	name := pod.Spec.NodeName
	if name == "" {
		return nodeFacts{ready: corev1.ConditionTrue}, nil
	}
	if known, ok := p.nodes[name]; ok {
		return known, nil
	}
	p.node = corev1.Node{} // one for all: a node is a kilobyte, and passes are many
	err := p.reader.Get(ctx, client.ObjectKey{Name: name}, &p.node, client.UnsafeDisableDeepCopy)
	var found nodeFacts
	switch {
	case err == nil:
		found = nodeFacts{
			ready: NodeReadiness(&p.node), zone: p.node.Labels[corev1.LabelTopologyZone],
			sleepless: isSleepless(p.node.Status.NodeInfo.KubeletVersion),
			leaves:    IsLeaving(&p.node), shutsDown: ShutsDown(&p.node), spot: hasSpotNotice(&p.node), endsAt: p.SpotNotices.endsAt(name),
		}
	case apierrors.IsNotFound(err):
		found = nodeFacts{missing: true, deleted: p.DeletedNodes.has(name)}
	case apierrors.IsForbidden(err):
		found = nodeFacts{ready: corev1.ConditionTrue}
	default:
		return nodeFacts{}, fmt.Errorf("getting Node %s: %w", name, err)
	}
	p.nodes[name] = found
	return found, nil
}

// DeletedNodes are the names of the nodes that the watch has shown to be deleted. That a node is not in the cache says less: the
// cache of pods may be ahead of it. Safe for concurrent use; nil has none.
type DeletedNodes struct {
	mu sync.Mutex
	at map[string]time.Time
}

// rememberDeleted is how long: pod garbage collection deletes the pods of a node that is gone within two minutes.
const rememberDeleted = 10 * time.Minute

func (d *DeletedNodes) has(name string) bool {
	if d == nil {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	_, deleted := d.at[name]
	return deleted
}

// Add notes that the node was deleted then.
func (d *DeletedNodes) Add(name string, now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	maps.DeleteFunc(d.at, func(_ string, at time.Time) bool { return now.Sub(at) >= rememberDeleted })
	d.at[name] = now
}

func (d *DeletedNodes) remove(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.at, name)
}

// FollowNodes returns a handler that notes which nodes a watch shows to be deleted, or to have a notice, and then passes each change on.
func (r *Resolver) FollowNodes(next handler.EventHandler, clk clock.PassiveClock) handler.EventHandler {
	return nodeHandler{next, r.DeletedNodes, r.SpotNotices, clk}
}

// nodeHandler notes which nodes end before it requeues the bindings.
type nodeHandler struct {
	handler.EventHandler
	deleted *DeletedNodes
	notices *SpotNotices
	clock   clock.PassiveClock
}

// Create implements handler.EventHandler. A node may come back under its name.
func (h nodeHandler) Create(ctx context.Context, e event.CreateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	h.deleted.remove(e.Object.GetName())
	h.EventHandler.Create(ctx, e, queue)
}

// Update implements handler.EventHandler.
func (h nodeHandler) Update(ctx context.Context, e event.UpdateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	h.notices.see(e.ObjectOld.(*corev1.Node), e.ObjectNew.(*corev1.Node), h.clock.Now())
	h.EventHandler.Update(ctx, e, queue)
}

// Delete implements handler.EventHandler.
func (h nodeHandler) Delete(ctx context.Context, e event.DeleteEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	h.deleted.Add(e.Object.GetName(), h.clock.Now())
	h.notices.see(e.Object.(*corev1.Node), nil, h.clock.Now())
	h.EventHandler.Delete(ctx, e, queue)
}

// NodeReadiness is the status of the node's condition Ready; Unknown when there is none.
func NodeReadiness(node *corev1.Node) corev1.ConditionStatus {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status
		}
	}
	return corev1.ConditionUnknown
}
