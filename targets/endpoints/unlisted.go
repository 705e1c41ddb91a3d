// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package endpoints

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/targetgate/targetgate/targets/v1beta1"
)

// WhyUnlisted says why the binding's resolution has no endpoint for a pod that the Service selects. Lasting is whether that stays so until
// somebody changes something: otherwise the EndpointSlices may only be late.
func (x *Cache) WhyUnlisted(binding *v1beta1.TargetGroupBinding, res Resolution, pod *corev1.Pod) (why string, lasting bool) {
	service, family, port := res.Service, addressType(binding), binding.Spec.ServiceRef.Port.String()
	switch {
	case service.Spec.Type == corev1.ServiceTypeExternalName:
		return fmt.Sprintf("Service %q is of type ExternalName, which has no endpoints", service.Name), true
	case !hasFamily(service, family):
		return fmt.Sprintf("Service %q has no %s addresses (spec.ipFamilies: %v), and the target group takes no others: add that family "+
			"to the Service (spec.ipFamilyPolicy: PreferDualStack), or bind a target group of the other",
			service.Name, family, service.Spec.IPFamilies), true
	case res.cut != "" && x.isListed(res.Service, family, pod):
		return res.cut, true
	case x.isListedWithoutPort(res, pod):
		return fmt.Sprintf("the EndpointSlices of Service %q list the pod without port %q: have the port's targetPort name a port "+
			"that the pod's containers declare, or be a number", service.Name, port), true
	default:
		return fmt.Sprintf("no EndpointSlice of Service %q lists the pod at port %q, although the Service selects it: does "+
			"kube-controller-manager write EndpointSlices?", service.Name, port), false
	}
}

// hasFamily reports whether the Service has addresses of the type, as far as it says.
func hasFamily(service *corev1.Service, family discoveryv1.AddressType) bool {
	return len(service.Spec.IPFamilies) == 0 || slices.Contains(service.Spec.IPFamilies, corev1.IPFamily(family))
}

// isListed reports whether a slice of the Service lists the pod, at whatever port.
func (x *Cache) isListed(service *corev1.Service, family discoveryv1.AddressType, pod *corev1.Pod) bool {
	return slices.ContainsFunc(x.SliceByPod.At(pod.Namespace, pod.Name), func(slice *discoveryv1.EndpointSlice) bool {
		return slice.Labels[discoveryv1.LabelServiceName] == service.Name && slice.AddressType == family
	})
}

func (x *Cache) isListedWithoutPort(res Resolution, pod *corev1.Pod) bool {
	return slices.ContainsFunc(x.SliceByPod.At(pod.Namespace, pod.Name), func(slice *discoveryv1.EndpointSlice) bool {
		return res.portless[slice.Name]
	})
}
