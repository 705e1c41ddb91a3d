// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// resolveNodes finds the nodes of a binding of type instance. Which of them has pods of the Service is not looked at:
// with externalTrafficPolicy Local the load balancer's health checks find that out, node by node.
func (r *resolver) resolveNodes(ctx context.Context, binding *v1beta1.TargetGroupBinding, port corev1.ServicePort,
	known map[elbv2.Target]entry, res *resolution,
) error {
	selector, err := r.selectors.of(binding)
	if err != nil {
		return fmt.Errorf("reading spec.nodeSelector: %w", err)
	}
	var list corev1.NodeList
	if err := r.reader.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing nodes: %w", err)
	}
	alive := addNodes(list.Items, selector, port, res)
	held := map[string]bool{} // their nodes may not be selected
	for target := range known {
		if s, lives := alive[target.ID]; lives && (s == replaced || s == leaving) {
			held[target.ID] = true
		}
	}
	r.holders.hold(client.ObjectKeyFromObject(binding), held)
	addOldPorts(alive, known, res)
	return nil
}

// addNodes adds the nodes that can be targets, and returns where each of them belongs, by instance ID.
func addNodes(nodes []corev1.Node, selector labels.Selector, port corev1.ServicePort, res *resolution) map[string]standing {
	alive := map[string]standing{}
	for i := range nodes {
		node := &nodes[i]
		if onFargate(node) {
			continue
		}
		id, ok := instanceID(node)
		if !ok {
			res.odd[node.Name] = fmt.Sprintf("Node %s cannot be a target: spec.providerID %q names no instance, want aws:///<zone>/i-...",
				node.Name, node.Spec.ProviderID)
			continue
		}
		ep := endpoint{target: elbv2.Target{ID: id, Port: port.NodePort}, uid: types.UID(id)}
		ep.standing, ep.lastResort = nodeStanding(node, selector)
		alive[id] = ep.standing
		if res.missing == "" {
			res.endpoints[ep.target] = ep
		}
	}
	return alive
}

// addOldPorts adds the targets of living nodes at ports that are not asked for any more.
func addOldPorts(alive map[string]standing, known map[elbv2.Target]entry, res *resolution) {
	for target := range known {
		s, lives := alive[target.ID]
		if _, listed := res.endpoints[target]; listed || !lives {
			continue
		}
		if s != leaving {
			s = replaced
		}
		res.endpoints[target] = endpoint{target: target, uid: types.UID(target.ID), standing: s}
	}
}

var instanceIDPattern = regexp.MustCompile(`/(i-[0-9a-f]+)$`)

func instanceID(node *corev1.Node) (string, bool) {
	match := instanceIDPattern.FindStringSubmatch(node.Spec.ProviderID)
	if match == nil {
		return "", false
	}
	return match[1], true
}

// nodeStanding is where a node belongs. The labels and taints are those that the incumbent and the cloud providers
// look at.
func nodeStanding(node *corev1.Node, selector labels.Selector) (s standing, lastResort bool) {
	ready := nodeReadiness(node)
	switch {
	case !node.DeletionTimestamp.IsZero() || isDisrupted(node):
		return leaving, false
	case isExcluded(node) || !selector.Matches(labels.Set(node.Labels)):
		return replaced, false
	case ready == corev1.ConditionTrue:
		return wanted, false
	default:
		return unready, ready == corev1.ConditionUnknown
	}
}

func onFargate(node *corev1.Node) bool {
	return node.Labels["eks.amazonaws.com/compute-type"] == "fargate"
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

// isDisrupted reports whether the cluster autoscaler or Karpenter is about to end the instance.
func isDisrupted(node *corev1.Node) bool {
	for _, taint := range node.Spec.Taints {
		byKarpenter := taint.Key == "karpenter.sh/disrupted" && taint.Effect == corev1.TaintEffectNoSchedule
		if byKarpenter || taint.Key == "ToBeDeletedByClusterAutoscaler" {
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
}

// down reports whether the node is known not to run its pods much longer: it says so itself, as in a shutdown, or it was deleted.
func (n nodeFacts) down() bool { return n.deleted || n.ready == corev1.ConditionFalse }

// nodeOf is what is known of the pod's node. A pod without a node, and a node that we may not read, say nothing against the pod.
func (r *resolver) nodeOf(ctx context.Context, pod *corev1.Pod) (nodeFacts, error) {
	name := pod.Spec.NodeName
	if name == "" {
		return nodeFacts{ready: corev1.ConditionTrue}, nil
	}
	if known, ok := r.nodes[name]; ok {
		return known, nil
	}
	r.node = corev1.Node{} // one for all: a node is a kilobyte, and passes are many
	err := r.reader.Get(ctx, client.ObjectKey{Name: name}, &r.node, client.UnsafeDisableDeepCopy)
	var found nodeFacts
	switch {
	case err == nil:
		found = nodeFacts{ready: nodeReadiness(&r.node), zone: r.node.Labels[corev1.LabelTopologyZone]}
	case apierrors.IsNotFound(err):
		found = nodeFacts{missing: true, deleted: r.deletedNodes.has(name)}
	case apierrors.IsForbidden(err):
		found = nodeFacts{ready: corev1.ConditionTrue}
	default:
		return nodeFacts{}, fmt.Errorf("getting Node %s: %w", name, err)
	}
	r.nodes[name] = found
	return found, nil
}

// deletedNodes are the names of the nodes that the watch has shown to be deleted. That a node is not in the cache says less: the
// cache of pods may be ahead of it. Safe for concurrent use; nil has none.
type deletedNodes struct {
	mu sync.Mutex
	at map[string]time.Time
}

// rememberDeleted is how long: pod garbage collection deletes the pods of a node that is gone within two minutes.
const rememberDeleted = 10 * time.Minute

func (d *deletedNodes) has(name string) bool {
	if d == nil {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	_, deleted := d.at[name]
	return deleted
}

func (d *deletedNodes) add(name string, now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	maps.DeleteFunc(d.at, func(_ string, at time.Time) bool { return now.Sub(at) >= rememberDeleted })
	d.at[name] = now
}

func (d *deletedNodes) remove(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.at, name)
}

// nodeHandler notes which nodes are deleted before it has the bindings looked at.
type nodeHandler struct {
	handler.EventHandler
	deleted *deletedNodes
	clock   clock.PassiveClock
}

// Create implements handler.EventHandler. A node may come back under its name.
func (h nodeHandler) Create(ctx context.Context, e event.CreateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	h.deleted.remove(e.Object.GetName())
	h.EventHandler.Create(ctx, e, queue)
}

// Delete implements handler.EventHandler.
func (h nodeHandler) Delete(ctx context.Context, e event.DeleteEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	h.deleted.add(e.Object.GetName(), h.clock.Now())
	h.EventHandler.Delete(ctx, e, queue)
}

// bindingsOfNode are those to which the node matters: of type ip those of the pods on it, of type instance those that select it, or
// have it in their groups all the same.
func (r *Registrar) bindingsOfNode(ctx context.Context, o client.Object) []reconcile.Request {
	node := o.(*corev1.Node)
	found := map[reconcile.Request]bool{}
	for _, pod := range r.resolver.podByNode.at("", node.Name) {
		for _, request := range r.bindingsOfPod(ctx, pod) {
			found[request] = true
		}
	}
	var list v1beta1.TargetGroupBindingList
	err := r.Client.List(ctx, &list, client.UnsafeDisableDeepCopy,
		client.MatchingFields{indexBindingType: string(v1beta1.TargetTypeInstance)})
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Listing bindings of type instance")
	}
	id, _ := instanceID(node)
	for i := range list.Items {
		key := client.ObjectKeyFromObject(&list.Items[i])
		selector, err := r.resolver.selectors.of(&list.Items[i])
		if err == nil && selector.Matches(labels.Set(node.Labels)) || r.resolver.holders.holds(key, id) {
			found[reconcile.Request{NamespacedName: key}] = true
		}
	}
	return slices.Collect(maps.Keys(found))
}

func nodeReadiness(node *corev1.Node) corev1.ConditionStatus {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status
		}
	}
	return corev1.ConditionUnknown
}
