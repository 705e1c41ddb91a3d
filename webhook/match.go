// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// coveringBinding is what is wanted of a binding that covers a pod.
type coveringBinding struct {
	gate     corev1.PodConditionType
	protocol v1beta1.Protocol // of the target group, empty when it is not known yet
}

// coveringBindings are the namespace's bindings that cover a pod with these labels: of type ip, not being deleted, and
// with a Service that exists and selects the pod.
func coveringBindings(ctx context.Context, reader client.Reader, namespace string, podLabels labels.Set) ([]coveringBinding, error) {
	var bindings v1beta1.TargetGroupBindingList
	if err := reader.List(ctx, &bindings, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing bindings: %w", err)
	}
	var covering []coveringBinding
	for i := range bindings.Items {
		binding := &bindings.Items[i]
		if !binding.Spec.IsIP() || !binding.DeletionTimestamp.IsZero() {
			continue
		}
		var service corev1.Service
		err := reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: binding.Spec.ServiceRef.Name},
			&service, client.UnsafeDisableDeepCopy)
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("getting Service %s: %w", binding.Spec.ServiceRef.Name, err)
		}
		if !apierrors.IsNotFound(err) && selects(&service, podLabels) {
			covering = append(covering, coveringBinding{readiness.GateFor(binding.Name), protocolOf(binding)})
		}
	}
	return covering, nil
}

// protocolOf is the protocol of the binding's target group: as its author or our own webhook wrote it, else as AWS told
// us later.
func protocolOf(binding *v1beta1.TargetGroupBinding) v1beta1.Protocol {
	switch {
	case binding.Spec.TargetGroupProtocol != nil:
		return *binding.Spec.TargetGroupProtocol
	case binding.Status.TargetGroup != nil:
		return binding.Status.TargetGroup.Protocol
	default:
		return ""
	}
}

// selectingServices are the names of the namespace's Services that select a pod with these labels.
func selectingServices(ctx context.Context, reader client.Reader, namespace string, podLabels labels.Set) ([]string, error) {
	var services corev1.ServiceList
	if err := reader.List(ctx, &services, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing Services: %w", err)
	}
	var names []string
	for i := range services.Items {
		if selects(&services.Items[i], podLabels) {
			names = append(names, services.Items[i].Name)
		}
	}
	return names, nil
}

func selects(service *corev1.Service, podLabels labels.Set) bool {
	return len(service.Spec.Selector) > 0 && labels.SelectorFromSet(service.Spec.Selector).Matches(podLabels)
}
