// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"context"
	"maps"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/targetgate/targetgate/balancers/frontend"
	ingressapi "github.com/targetgate/targetgate/balancers/v1beta1"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// GroupField is the field by which bindings with a group's labels are found.
func (f *Ingresses) GroupField() string { return groupField }

// Watch adds the watches of Ingresses, and of all that says what they ask for. It is called before there are passes.
func (f *Ingresses) Watch(ctx context.Context, indexer client.FieldIndexer, to frontend.Watches) error {
	if err := AddIndexes(ctx, indexer); err != nil {
		return err
	}
	f.Watches = to
	generation := builder.WithPredicates(
		predicate.Or[client.Object](predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}))
	requests := handler.EnqueueRequestsFromMapFunc(f.RequestsFor)
	to.Builder.
		Watches(&networkingv1.Ingress{}, requests, builder.WithPredicates(to.Ends, IngressChanged())).
		Watches(&corev1.Service{}, requests, builder.WithPredicates(saysOtherwise(serviceSpec))).
		Watches(&networkingv1.IngressClass{}, requests, generation).
		Watches(&ingressapi.IngressClassParams{}, requests, generation).
		Watches(&corev1.Namespace{}, requests, builder.WithPredicates(labelsChanged())).
		Watches(&v1beta1.TargetGroupBinding{}, requests, builder.WithPredicates(BindingChanged()))
	return nil
}

// BindingChanged passes what others do to our bindings, also to the labels by which they are found, and their end, for which steps wait.
// What is created we have created.
func BindingChanged() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() || !maps.Equal(e.ObjectOld.GetLabels(), e.ObjectNew.GetLabels())
		},
	}
}
