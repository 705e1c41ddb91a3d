// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/elbv2"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// endpoint is one pod at one address and port, and what the cluster wants of it.
type endpoint struct {
	target   elbv2.Target
	standing standing
	uid      types.UID   // of the pod
	pod      *corev1.Pod // nil while it is not in the cache; read only

	// unproven: the pod has the gate but no condition yet, so nothing shows that the target was registered for this
	// pod and not for an earlier one at the same address.
	unproven bool
}

// standing is where an endpoint belongs.
type standing int

const (
	// kept: neither added nor removed. The pod is unready but alive (the load balancer's health checks know better), or
	// the caches do not agree on it yet.
	kept standing = iota
	// wanted: belongs in the group. The pod's containers are ready.
	wanted
	// replaced: the Service selects it no longer. It goes when the wanted ones are healthy.
	replaced
	// leaving: the pod is terminating or has ended. It goes at once.
	leaving
)

// resolution is what the cluster says should be in the group.
type resolution struct {
	endpoints map[elbv2.Target]endpoint
	// missing says what is not there, the Service or its port; empty when both are.
	missing string
}

// resolver reads the cluster from the caches.
type resolver struct {
	reader client.Reader
}

// resolve finds the endpoints of the binding's Service port, and the pods behind those of the registered targets that
// no slice lists.
func (r *resolver) resolve(ctx context.Context, binding *v1beta1.TargetGroupBinding, known map[elbv2.Target]entry) (resolution, error) {
	res := resolution{endpoints: map[elbv2.Target]endpoint{}}
	service, err := r.service(ctx, binding)
	if err != nil {
		return res, err
	}
	var portName string
	portName, res.missing = servicePort(service, binding.Spec.ServiceRef)
	if res.missing == "" {
		if err := r.fromSlices(ctx, binding, portName, res.endpoints); err != nil {
			return res, err
		}
	}
	return res, r.fromAddresses(ctx, binding, service, known, &res)
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

// servicePort is the name that the port has in slices; missing says in words why there is none.
func servicePort(service *corev1.Service, ref v1beta1.ServiceReference) (name, missing string) {
	if service == nil {
		return "", fmt.Sprintf("Service %q does not exist", ref.Name)
	}
	for _, port := range service.Spec.Ports {
		byName := ref.Port.Type == intstr.String && port.Name == ref.Port.StrVal
		if byName || ref.Port.Type == intstr.Int && port.Port == ref.Port.IntVal {
			return port.Name, ""
		}
	}
	return "", fmt.Sprintf("Service %q has no port %q", ref.Name, ref.Port.String())
}

func (r *resolver) fromSlices(ctx context.Context, binding *v1beta1.TargetGroupBinding, portName string,
	out map[elbv2.Target]endpoint,
) error {
	var list discoveryv1.EndpointSliceList
	err := r.reader.List(ctx, &list, client.InNamespace(binding.Namespace), client.UnsafeDisableDeepCopy,
		client.MatchingFields{indexSliceService: binding.Spec.ServiceRef.Name})
	if err != nil {
		return fmt.Errorf("listing EndpointSlices: %w", err)
	}
	for i := range list.Items {
		slice := &list.Items[i]
		port, ok := slicePort(slice, portName)
		if slice.AddressType != addressType(binding) || !ok {
			continue
		}
		for j := range slice.Endpoints {
			if err := r.fromSliceEndpoint(ctx, binding, &slice.Endpoints[j], port, out); err != nil {
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
	target := elbv2.Target{ID: ep.Addresses[0], Port: port}
	var pod corev1.Pod
	err := r.reader.Get(ctx, client.ObjectKey{Namespace: binding.Namespace, Name: ep.TargetRef.Name}, &pod, client.UnsafeDisableDeepCopy)
	switch {
	case apierrors.IsNotFound(err), err == nil && pod.UID != ep.TargetRef.UID:
		place(out, endpoint{target: target, uid: ep.TargetRef.UID}) // the caches do not agree yet: look again when they do
	case err != nil:
		return fmt.Errorf("getting Pod %s: %w", ep.TargetRef.Name, err)
	default:
		ready := ep.Conditions.Ready == nil || *ep.Conditions.Ready
		place(out, newEndpoint(target, &pod, standingOf(&pod, ready), readiness.GateFor(binding.Name)))
	}
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

func newEndpoint(target elbv2.Target, pod *corev1.Pod, s standing, gate corev1.PodConditionType) endpoint {
	return endpoint{
		target: target, standing: s, uid: pod.UID, pod: pod,
		unproven: readiness.Has(pod, gate) && !readiness.ShowsRegistration(pod, gate),
	}
}

// standingOf is where the Service's selector puts a pod. The pod's own words count before the slice's, which come
// later; the slice's ready also covers Services that publish not-ready addresses.
func standingOf(pod *corev1.Pod, sliceReady bool) standing {
	switch {
	case isLeaving(pod):
		return leaving
	case sliceReady || containersReady(pod):
		return wanted
	default:
		return kept
	}
}

func isLeaving(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
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
		pod, err := r.podAt(ctx, binding.Namespace, target.ID, service)
		if err != nil {
			return err
		}
		if pod == nil {
			continue
		}
		s := unlistedStanding(pod, service, res.missing != "", listed[target.ID])
		res.endpoints[target] = newEndpoint(target, pod, s, readiness.GateFor(binding.Name))
	}
	return nil
}

// unlistedStanding is where a pod belongs whose target no slice lists. A pod that the Service still selects has only
// slipped out of the slices for the moment, unless they list it with another port.
func unlistedStanding(pod *corev1.Pod, service *corev1.Service, missing, otherPort bool) standing {
	switch {
	case isLeaving(pod):
		return leaving
	case missing:
		return kept
	case selects(service, pod) && !otherPort:
		return kept
	default:
		return replaced
	}
}

// selects reports whether the Service has a selector and the pod's labels match it.
func selects(service *corev1.Service, pod *corev1.Pod) bool {
	return service != nil && len(service.Spec.Selector) > 0 && labels.SelectorFromSet(service.Spec.Selector).Matches(labels.Set(pod.Labels))
}

// podAt is the pod that has the address, nil when there is none. Of several it is one that is not leaving, as the address
// of a pod that has ended may belong to the next one already, and of those one that the Service selects, as pods in the
// host network share their node's address.
func (r *resolver) podAt(ctx context.Context, namespace, address string, service *corev1.Service) (*corev1.Pod, error) {
	var list corev1.PodList
	err := r.reader.List(ctx, &list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy,
		client.MatchingFields{indexPodAddress: address})
	if err != nil {
		return nil, fmt.Errorf("listing pods at %s: %w", address, err)
	}
	var best *corev1.Pod
	for i := range list.Items {
		pod := &list.Items[i]
		if best == nil || !isLeaving(pod) && (isLeaving(best) || selects(service, pod)) {
			best = pod
		}
	}
	return best, nil
}
