// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"cmp"
	"context"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/elbv2"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// resolvePods finds the pods behind the Service port, and those behind registered targets that no slice lists.
func (r *resolver) resolvePods(ctx context.Context, binding *v1beta1.TargetGroupBinding, service *corev1.Service,
	port corev1.ServicePort, known map[elbv2.Target]entry, res *resolution,
) error {
	if res.missing == "" {
		if err := r.fromSlices(ctx, binding, port.Name, res.endpoints); err != nil {
			return err
		}
	}
	return r.fromAddresses(ctx, binding, service, known, res)
}

func (r *resolver) fromSlices(ctx context.Context, binding *v1beta1.TargetGroupBinding, portName string,
	out map[elbv2.Target]endpoint,
) error {
	for _, slice := range r.sliceByService.at(binding.Namespace, binding.Spec.ServiceRef.Name) {
		port, ok := slicePort(slice, portName)
		if slice.AddressType != addressType(binding) || !ok {
			continue
		}
		for i := range slice.Endpoints {
			if err := r.fromSliceEndpoint(ctx, binding, &slice.Endpoints[i], port, out); err != nil {
				return err
			}
		}
	}
	return nil
}

func addressType(binding *v1beta1.TargetGroupBinding) discoveryv1.AddressType {
	if t := binding.Spec.IPAddressType; t != nil && *t == v1beta1.IPAddressTypeIPv6 {
		return discoveryv1.AddressTypeIPv6
	}
	return discoveryv1.AddressTypeIPv4
}

func slicePort(slice *discoveryv1.EndpointSlice, name string) (int32, bool) {
	for _, port := range slice.Ports {
		if port.Port != nil && (port.Name == nil && name == "" || port.Name != nil && *port.Name == name) {
			return *port.Port, true
		}
	}
	return 0, false
}

// fromSliceEndpoint adds one endpoint of a slice. While a pod moves between two slices it is listed in both.
func (r *resolver) fromSliceEndpoint(ctx context.Context, binding *v1beta1.TargetGroupBinding, ep *discoveryv1.Endpoint,
	port int32, out map[elbv2.Target]endpoint,
) error {
	if ep.TargetRef == nil || ep.TargetRef.Kind != "Pod" || len(ep.Addresses) == 0 {
		return nil
	}
	target := elbv2.NewTarget(ep.Addresses[0], port)
	pod := r.podByName.first(binding.Namespace, ep.TargetRef.Name)
	if pod == nil || ep.TargetRef.UID != "" && pod.UID != ep.TargetRef.UID {
		place(out, endpoint{target: target, uid: ep.TargetRef.UID}) // the caches do not agree yet: look again when they do
		return nil
	}
	sliceReady := ep.Conditions.Ready == nil || *ep.Conditions.Ready
	found := newEndpoint(target, pod, readiness.GateFor(binding.Name))
	node, err := r.nodeOf(ctx, pod)
	if err != nil {
		return err
	}
	found.zone = cmp.Or(ptr.Deref(ep.Zone, ""), node.zone)
	found.judge(node, sliceReady)
	place(out, found)
	return nil
}

// place adds an endpoint. Of two at the same address the one that stays counts: the other's pod has ended and lost the
// address, or the pod is listed twice.
func place(out map[elbv2.Target]endpoint, ep endpoint) {
	there, taken := out[ep.target]
	if !taken || there.standing == leaving || ep.standing == wanted {
		out[ep.target] = ep
	}
}

func newEndpoint(target elbv2.Target, pod *corev1.Pod, gate corev1.PodConditionType) endpoint {
	return endpoint{
		target: target, uid: pod.UID, pod: pod,
		unproven: readiness.Has(pod, gate) && !readiness.ShowsRegistration(pod, gate),
	}
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
	for target, e := range known {
		if _, ok := res.endpoints[target]; ok || e.presence == draining {
			continue
		}
		pod := r.podAt(binding.Namespace, target.ID, service)
		if pod == nil {
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
	return service != nil && len(service.Spec.Selector) > 0 && labels.SelectorFromSet(service.Spec.Selector).Matches(labels.Set(pod.Labels))
}

// podAt is the pod that has the address, nil when there is none. Of several it is one that is not leaving, as the address
// of a pod that has ended may belong to the next one already, and of those one that the Service selects, as pods in the
// host network share their node's address.
func (r *resolver) podAt(namespace, address string, service *corev1.Service) *corev1.Pod {
	var best *corev1.Pod
	for _, pod := range r.podByAddress.at(namespace, address) {
		if best == nil || !isLeaving(pod) && (isLeaving(best) || selects(service, pod)) {
			best = pod
		}
	}
	return best
}
