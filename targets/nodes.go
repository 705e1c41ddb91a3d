// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"fmt"
	"regexp"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/targets/elbv2"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// resolveNodes finds the nodes of a binding of type instance. Which of them has pods of the Service is not looked at:
// with externalTrafficPolicy Local the load balancer's health checks find that out, node by node.
func (r *resolver) resolveNodes(ctx context.Context, binding *v1beta1.TargetGroupBinding, port corev1.ServicePort,
	known map[elbv2.Target]entry, res *resolution,
) error {
	selector, err := metav1.LabelSelectorAsSelector(nodeSelector(binding))
	if err != nil {
		return fmt.Errorf("reading spec.nodeSelector: %w", err)
	}
	var list corev1.NodeList
	if err := r.reader.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing nodes: %w", err)
	}
	alive := map[string]bool{} // by instance ID
	for i := range list.Items {
		node := &list.Items[i]
		if onFargate(node) {
			continue
		}
		id, ok := instanceID(node)
		if !ok {
			res.odd[node.Name] = fmt.Sprintf("Node %s cannot be a target: spec.providerID %q names no instance, want aws:///<zone>/i-...",
				node.Name, node.Spec.ProviderID)
			continue
		}
		alive[id] = true
		if res.missing == "" {
			ep := endpoint{target: elbv2.Target{ID: id, Port: port.NodePort}, uid: types.UID(id)}
			ep.standing, ep.lastResort = nodeStanding(node, selector)
			res.endpoints[ep.target] = ep
		}
	}
	for target := range known { // at a port that is not asked for any more
		if _, listed := res.endpoints[target]; !listed && alive[target.ID] {
			res.endpoints[target] = endpoint{target: target, uid: types.UID(target.ID), standing: replaced}
		}
	}
	return nil
}

// nodeSelector selects everything when the binding has none.
func nodeSelector(binding *v1beta1.TargetGroupBinding) *metav1.LabelSelector {
	if binding.Spec.NodeSelector == nil {
		return &metav1.LabelSelector{}
	}
	return binding.Spec.NodeSelector
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

// nodeFacts is what is asked about the node of a pod. A node that is not in the cache, yet or any more, says nothing
// against its pods.
type nodeFacts struct {
	ready corev1.ConditionStatus
	zone  string // the Availability Zone, empty when it is not known
}

func (r *resolver) nodeOf(ctx context.Context, pod *corev1.Pod) (nodeFacts, error) {
	name := pod.Spec.NodeName
	if known, ok := r.nodes[name]; ok {
		return known, nil
	}
	r.node = corev1.Node{} // one for all: a node is a kilobyte, and passes are many
	err := r.reader.Get(ctx, client.ObjectKey{Name: name}, &r.node, client.UnsafeDisableDeepCopy)
	if client.IgnoreNotFound(err) != nil {
		return nodeFacts{}, fmt.Errorf("getting Node %s: %w", name, err)
	}
	found := nodeFacts{ready: corev1.ConditionTrue}
	if err == nil {
		found = nodeFacts{ready: nodeReadiness(&r.node), zone: r.node.Labels[corev1.LabelTopologyZone]}
	}
	r.nodes[name] = found
	return found, nil
}

func nodeReadiness(node *corev1.Node) corev1.ConditionStatus {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status
		}
	}
	return corev1.ConditionUnknown
}
