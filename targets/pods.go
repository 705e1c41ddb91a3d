// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// resolvePods finds the pods behind the Service port, and those behind registered targets that no slice lists.
func (r *resolver) resolvePods(ctx context.Context, binding *v1beta1.TargetGroupBinding, service *corev1.Service,
	port corev1.ServicePort, known map[elbv2.Target]entry, res *resolution,
) error {
	if res.missing == "" {
		if err := (sliceReader{r, binding, known, res}).read(ctx, port.Name); err != nil {
			return err
		}
	}
	res.tellSkipped()
	return r.fromAddresses(ctx, binding, service, known, res)
}

// judge says where a pod that a slice lists belongs. The pod's own words count before the slice's, which come later; the slice's
// ready also covers Services that publish not-ready addresses, but no slice is written because a node is deleted. Containers
// are not asked on a node that does not answer: what they say there is old.
func (ep *endpoint) judge(node nodeFacts, sliceReady bool) {
	switch {
	case isLeaving(ep.pod):
		ep.standing = leaving
	case node.missing:
		ep.standing, ep.nodeDown = unready, node.down()
	case sliceReady, containersReady(ep.pod) && node.ready == corev1.ConditionTrue:
		ep.standing = wanted
	default:
		ep.standing, ep.nodeDown = unready, node.down()
		ep.lastResort = containersReady(ep.pod) && node.ready == corev1.ConditionUnknown
	}
}

func isLeaving(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp != nil || hasEnded(pod)
}

func hasEnded(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

func containersReady(pod *corev1.Pod) bool {
	c := readiness.Condition(pod, corev1.ContainersReady)
	return c != nil && c.Status == corev1.ConditionTrue
}

// fromAddresses adds the pods whose addresses are in the group although no slice lists them.
func (r *resolver) fromAddresses(ctx context.Context, binding *v1beta1.TargetGroupBinding, service *corev1.Service,
	known map[elbv2.Target]entry, res *resolution,
) error {
	listed := map[string]bool{}
	for target := range res.endpoints {
		listed[target.ID] = true
	}
	unlisted, ids := map[elbv2.Target]bool{}, map[string]bool{}
	for target, e := range known {
		if _, ok := res.endpoints[target]; !ok && e.presence != draining {
			unlisted[target], ids[target.ID] = true, true
		}
	}
	r.holders.hold(client.ObjectKeyFromObject(binding), ids)
	for target := range unlisted {
		pod := r.podAt(binding.Namespace, target.ID, service, known[target].owner)
		if pod == nil {
			if _, skipped := res.skipped[target]; skipped {
				res.endpoints[target] = endpoint{target: target} // a slice still lists it: it is not ours to take out
			}
			continue
		}
		found := newEndpoint(target, pod, readiness.GateFor(binding.Name))
		node, err := r.nodeOf(ctx, pod)
		if err != nil {
			return err
		}
		found.judgeUnlisted(node, res.missing == "" && selects(service, pod) && !listed[target.ID])
		res.endpoints[target] = found
	}
	return nil
}

// judgeUnlisted says where a pod belongs whose target no slice lists. One that the Service still selects has slipped out of the
// slices for the moment, unless they list it with another port, or for good, as its node is gone.
func (ep *endpoint) judgeUnlisted(node nodeFacts, selected bool) {
	switch {
	case isLeaving(ep.pod):
		ep.standing = leaving
	case selected && node.missing:
		ep.standing, ep.nodeDown = unready, node.down()
	case selected:
		ep.standing = kept
	default:
		ep.standing = replaced
	}
}

// selects reports whether the Service has a selector and the pod's labels match it.
func selects(service *corev1.Service, pod *corev1.Pod) bool {
	if service == nil || len(service.Spec.Selector) == 0 {
		return false
	}
	for key, value := range service.Spec.Selector { // as it is: a labels.Selector costs more than it saves for one pod
		if has, there := pod.Labels[key]; !there || has != value {
			return false
		}
	}
	return true
}

// podAt is the pod that has the address, nil when there is none. Of several it is one that is not leaving, as the address
// of a pod that has ended may belong to the next one already; and as pods in the host network share their node's address, of
// those the one for which the target is registered, or else one that the Service selects.
func (r *resolver) podAt(namespace, address string, service *corev1.Service, owner types.UID) *corev1.Pod {
	rank := func(pod *corev1.Pod) int {
		switch {
		case isLeaving(pod):
			return 0
		case pod.UID == owner:
			return 3
		case selects(service, pod):
			return 2
		default:
			return 1
		}
	}
	var best *corev1.Pod
	for _, pod := range r.podByAddress.at(namespace, address) {
		if best == nil || rank(pod) > rank(best) || rank(pod) == rank(best) && pod.UID < best.UID {
			best = pod
		}
	}
	return best
}
