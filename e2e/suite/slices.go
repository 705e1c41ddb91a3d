// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/e2e/testbed"
)

// WriteSlice writes an EndpointSlice of the app's Service by hand, IPv4, as one does to the Service's only port.
func (bed *Bed) WriteSlice(t *testing.T, app *testbed.App, name string, endpoints ...discoveryv1.Endpoint) {
	t.Helper()
	bed.WriteSliceOf(t, app, name, discoveryv1.AddressTypeIPv4, endpoints...)
}

// WriteSliceOf is WriteSlice for addresses of that family.
func (bed *Bed) WriteSliceOf(
	t *testing.T, app *testbed.App, name string, family discoveryv1.AddressType, endpoints ...discoveryv1.Endpoint,
) {
	t.Helper()
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: app.Name, Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: app.Name},
		},
		AddressType: family,
		Endpoints:   endpoints,
		Ports:       []discoveryv1.EndpointPort{{Name: ptr.To("http"), Port: ptr.To[int32](8080)}},
	}
	err := bed.Client.Update(t.Context(), slice)
	if client.IgnoreNotFound(err) == nil && err != nil {
		err = bed.Client.Create(t.Context(), slice)
	}
	Must(t, err)
}

// SliceEndpoint is the pod as a ready endpoint.
func SliceEndpoint(pod *corev1.Pod) discoveryv1.Endpoint {
	return discoveryv1.Endpoint{
		Addresses:  []string{pod.Status.PodIP},
		Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(true)},
		TargetRef:  &corev1.ObjectReference{Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
	}
}

// SliceEndpoints are the pods as ready endpoints, in their order.
func SliceEndpoints(list []corev1.Pod) []discoveryv1.Endpoint {
	var out []discoveryv1.Endpoint
	for i := range list {
		out = append(out, SliceEndpoint(&list[i]))
	}
	return out
}
