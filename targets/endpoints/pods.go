// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package endpoints

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/readiness"
)

// resolvePods finds the pods behind the Service port, and those behind registered targets that no slice lists.
func (r resolving) resolvePods(ctx context.Context, port corev1.ServicePort) error {
	if r.res.Missing == "" {
		if err := r.fromSlices(ctx, port); err != nil {
			return err
		}
	}
	r.tellSkipped()
	r.addDraining()
	if err := r.fromAddresses(ctx); err != nil {
		return err
	}
	r.findWorkloads()
	return nil
}

// leavesWith reports whether the pod leaves, by itself or with its node, and says until when it serves then.
func (ep *Endpoint) leavesWith(node nodeFacts) bool {
	deleted := IsTerminating(ep.Pod)
	ep.NodeLeaves = node.leaves
	if !deleted && !node.endsPods() {
		return false
	}
	ep.State = Terminating
	switch {
	case node.down() || node.missing || node.spot && node.endsAt.IsZero() || !ContainersReady(ep.Pod) || ep.Held != NotHeld:
		ep.ServesUntil = time.Time{}
	case !deleted, node.spot && node.endsAt.Before(ep.ServesUntil):
		ep.ServesUntil = node.endsAt
	}
	return true
}

// IsTerminating reports whether the pod is being deleted, or has ended.
func IsTerminating(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp != nil || hasEnded(pod)
}

func hasEnded(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// ContainersReady reports whether the kubelet says that all containers of the pod are ready.
func ContainersReady(pod *corev1.Pod) bool {
	c := readiness.Condition(pod, corev1.ContainersReady)
	return c != nil && c.Status == corev1.ConditionTrue
}

// IsReady reports whether the pod is Ready by what it says of its containers and gates. Its node may say otherwise.
func IsReady(pod *corev1.Pod) bool { return ContainersReady(pod) && readiness.AllOpen(pod) }

// UnreadySince is since when the pod's containers are not ready, zero when they are or that is not known.
func UnreadySince(pod *corev1.Pod) time.Time {
	c := readiness.Condition(pod, corev1.ContainersReady)
	if c == nil || c.Status == corev1.ConditionTrue {
		return time.Time{}
	}
	return c.LastTransitionTime.Time
}

// ReadySince is when the containers of the endpoint's pod became ready, zero when that is not known.
func (ep Endpoint) ReadySince() time.Time {
	if ep.Pod == nil {
		return time.Time{}
	}
	c := readiness.Condition(ep.Pod, corev1.ContainersReady)
	if c == nil || c.Status != corev1.ConditionTrue {
		return time.Time{}
	}
	return c.LastTransitionTime.Time
}

// fromAddresses adds the pods whose addresses are in the group although no slice lists them.
func (r resolving) fromAddresses(ctx context.Context) error {
	listed := map[string]bool{}
	for target := range r.res.Endpoints {
		listed[target.ID] = true
	}
	unlisted, ids := map[elbv2.Target]bool{}, map[string]bool{}
	for target := range r.group.Targets() {
		if _, ok := r.res.Endpoints[target]; !ok && !r.group.Draining(target) {
			unlisted[target], ids[target.ID] = true, true
		}
	}
	r.Holders.Hold(client.ObjectKeyFromObject(r.binding), ids)
	for target := range unlisted {
		pod := r.podAt(target)
		if pod == nil {
			r.keepSkipped(target)
			continue
		}
		node, err := r.nodeOf(ctx, pod)
		if err != nil {
			return err
		}
		found := r.unlistedEndpoint(target, pod, node)
		found.judgeUnlisted(node, r.res.cut != "" || r.res.Missing == "" && Selects(r.res.Service, pod) && !listed[target.ID])
		r.res.Endpoints[target] = found
	}
	return nil
}

// keepSkipped adds a target without a pod that a slice lists although it cannot be one, or may list where nobody looks: it is not ours to
// take out, unless its pod is gone.
func (r resolving) keepSkipped(target elbv2.Target) {
	_, skipped := r.skipped[target]
	if r.group.Owner(target) == "" && (r.res.cut != "" || skipped && !r.gone[target]) {
		r.res.Endpoints[target] = Endpoint{Target: target}
	}
}

// addDraining adds the pods that no slice lists, while their targets drain.
func (r resolving) addDraining() {
	for target := range r.group.Targets() {
		if _, isListed := r.res.Endpoints[target]; isListed || !r.group.Draining(target) {
			continue
		}
		if pod := r.podAt(target); pod != nil {
			r.res.Draining[target] = pod
		}
	}
}

// podAt is the pod at the address of a target in the group.
func (r resolving) podAt(target elbv2.Target) *corev1.Pod {
	return r.PodAt(r.binding.Namespace, target.ID, r.res.Service, r.group.Owner(target))
}

// judgeUnlisted says where a pod belongs whose target no slice lists. One that the Service still selects has slipped out of the
// slices for the moment, unless they list it with another port, or for good, as its node is gone.
func (ep *Endpoint) judgeUnlisted(node nodeFacts, selected bool) {
	switch {
	case ep.leavesWith(node):
	case selected && node.missing:
		ep.State, ep.NodeDown = NotReady, node.down()
	case selected:
		ep.State = Undetermined
	default:
		ep.State = Unselected
	}
}

// Selects reports whether the Service has a selector and the pod's labels match it.
func Selects(service *corev1.Service, pod *corev1.Pod) bool {
	if service == nil || len(service.Spec.Selector) == 0 {
		return false
	}
	return matches(service.Spec.Selector, pod.Labels)
}

// PodAt is the pod that has the address, nil when there is none. Of several it is one that is not leaving, as the address
// of a pod that has ended may belong to the next one already; and as pods in the host network share their node's address, of
// those the one for which the target is registered, or else one that the Service selects.
func (r *Resolver) PodAt(namespace, address string, service *corev1.Service, owner types.UID) *corev1.Pod {
	rank := func(pod *corev1.Pod) int {
		switch {
		case IsTerminating(pod):
			return 0
		case pod.UID == owner:
			return 3
		case Selects(service, pod):
			return 2
		default:
			return 1
		}
	}
	var best *corev1.Pod
	for _, pod := range r.PodByAddress.At(namespace, address) {
		if best == nil || rank(pod) > rank(best) || rank(pod) == rank(best) && pod.UID < best.UID {
			best = pod
		}
	}
	return best
}
