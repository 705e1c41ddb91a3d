// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package incumbent

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/targets/v1beta1"
)

// endpoint is a pod that is to be a target.
type endpoint struct {
	key
	pod *corev1.Pod
}

// endpointsOf are those of the binding's Service. Waits says that pods with the gate are not ready to be registered yet, which no event
// may tell.
func (c *passes) endpointsOf(ctx context.Context, binding *v1beta1.TargetGroupBinding) (found []endpoint, waits bool, _ error) {
	service := types.NamespacedName{Namespace: binding.Namespace, Name: binding.Spec.ServiceRef.Name}
	if err := c.client.Get(ctx, service, &corev1.Service{}); err != nil {
		return nil, false, err
	}
	var list discoveryv1.EndpointSliceList
	err := c.client.List(ctx, &list, client.InNamespace(service.Namespace),
		client.MatchingLabels{discoveryv1.LabelServiceName: service.Name})
	if err != nil {
		return nil, false, err
	}
	for _, slice := range list.Items {
		for i := range slice.Endpoints {
			if slice.Endpoints[i].TargetRef == nil || len(slice.Ports) == 0 {
				continue
			}
			var pod corev1.Pod
			err := c.pods.Get(ctx, types.NamespacedName{Namespace: service.Namespace, Name: slice.Endpoints[i].TargetRef.Name}, &pod)
			if client.IgnoreNotFound(err) != nil {
				return nil, false, err
			}
			wanted, later := wants(&slice.Endpoints[i].Conditions, &pod, err == nil, gateOf(binding))
			waits = waits || later
			if wanted {
				found = append(found, endpoint{key{slice.Endpoints[i].Addresses[0], *slice.Ports[0].Port}, &pod})
			}
		}
	}
	slices.SortFunc(found, func(a, b endpoint) int { return strings.Compare(a.String(), b.String()) })
	return found, waits, nil
}

// wants reports whether an endpoint is to be a target, or may be later. One that is not ready but for its gates is, unless its pod
// terminates. All nodes are taken for ready.
func wants(conditions *discoveryv1.EndpointConditions, pod *corev1.Pod, known bool, gate corev1.PodConditionType) (now, later bool) {
	switch {
	case !known:
		return false, true
	case conditions.Ready != nil && *conditions.Ready:
		return true, false
	case !isTrue(pod, corev1.ContainersReady):
		return false, hasGate(pod, gate)
	default:
		return conditions.Terminating == nil || !*conditions.Terminating, false
	}
}

// checkpointOf is a hash of what a pass goes by.
func checkpointOf(found []endpoint, spec *v1beta1.TargetGroupBindingSpec) (string, error) {
	text, err := json.Marshal(spec)
	if err != nil {
		return "", err
	}
	endpoints := sha256.New()
	for _, e := range found {
		endpoints.Write([]byte(e.String() + ","))
	}
	specs := sha256.Sum256(text)
	return base64.RawURLEncoding.EncodeToString(endpoints.Sum(nil)) + "/" + base64.RawURLEncoding.EncodeToString(specs[:]), nil
}
