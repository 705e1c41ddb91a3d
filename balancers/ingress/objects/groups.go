// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/targetgate/targetgate/balancers/fault"
	"github.com/targetgate/targetgate/balancers/ingress/membership"
	"github.com/targetgate/targetgate/balancers/stack"
	ingressapi "github.com/targetgate/targetgate/balancers/v1beta1"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// GroupsOf are the groups that an object concerns, which may be an Ingress, a Service, an IngressClass or IngressClassParams, in order;
// those of all Ingresses for nil.
func (f *Ingresses) GroupsOf(ctx context.Context, object client.Object) ([]stack.Group, error) {
	objects, err := f.objects(ctx) // what the functions below only log
	if err != nil {
		return nil, err
	}
	requests := requestsOf(objects)
	if object != nil {
		requests = f.RequestsFor(ctx, object)
	}
	var out []stack.Group
	strays := membership.Strays(membership.Classify(objects))
	for _, request := range requests {
		if _, isNone := strays[stack.Group(request.NamespacedName)]; !isNone {
			out = append(out, stack.Group(request.NamespacedName))
		}
	}
	slices.SortFunc(out, func(a, b stack.Group) int { return strings.Compare(a.String(), b.String()) })
	return out, nil
}

// Strays are the faults of Ingresses that seem to be ours and belong to no group because of them. A pass tells them, and does nothing more.
func (f *Ingresses) Strays(ctx context.Context) (out []fault.Fault, err error) {
	objects, err := f.objects(ctx)
	if err != nil {
		return nil, err
	}
	for _, stray := range membership.Strays(membership.Classify(objects)) {
		out = append(out, *stray.Fault)
	}
	slices.SortFunc(out, func(a, b fault.Fault) int { return strings.Compare(a.Member, b.Member) })
	return out, nil
}

// RequestsFor are those of the groups that an object concerns, which may be one that has left a group: an Ingress as an event has it, what
// says what Ingresses ask for, or a binding.
func (f *Ingresses) RequestsFor(ctx context.Context, object client.Object) []reconcile.Request {
	switch object.(type) {
	case *networkingv1.Ingress:
		return f.ofIngress(ctx, object)
	case *corev1.Service:
		return f.ofService(ctx, object)
	case *networkingv1.IngressClass:
		return f.ofClass(ctx, object)
	case *ingressapi.IngressClassParams:
		return f.ofParams(ctx, object)
	case *corev1.Namespace:
		return f.ofNamespace(ctx, object)
	case *v1beta1.TargetGroupBinding:
		return f.ofBinding(ctx, object)
	}
	return nil
}
