// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package balancers

import (
	"context"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	ingressapi "github.com/targetgate/targetgate/balancers/v1beta1"
	"github.com/targetgate/targetgate/targets/queue"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// Pauses after passes that failed, by how many have failed in a row.
const (
	minBackoff = 100 * time.Millisecond
	maxBackoff = 30 * time.Second
)

// DefaultConcurrentReconciles is the incumbent's. Passes wait for AWS, but its budget is the same for all of them.
const DefaultConcurrentReconciles = 3

// spareWorkers are those that no tenant has besides its own: one of another need not wait until a pass of the first has ended.
const spareWorkers = 1

// SetupWithManager adds the reconciler to the manager. It runs on the leader only.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	generation := builder.WithPredicates(
		predicate.Or[client.Object](predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}))
	setLimits(r.Options.Limits)
	if err := addIndexes(context.Background(), mgr.GetFieldIndexer()); err != nil {
		return err
	}
	controllers := ctrl.NewControllerManagedBy(mgr)
	if r.Stacks != nil {
		controllers.WatchesRawSource(source.Func(r.enqueueLeftovers))
	}
	if r.Shared != nil {
		controllers.WatchesRawSource(source.Func(r.Shared.Start))
	}
	if r.SecretChanges != nil {
		controllers.WatchesRawSource(source.Func(r.enqueueSecretChanges))
	}
	err := controllers.
		Named("ingress").
		Watches(&networkingv1.Ingress{}, handler.EnqueueRequestsFromMapFunc(r.ofIngress),
			builder.WithPredicates(r.endings.notes(r.Clock), ingressChanged())).
		Watches(&corev1.Service{}, handler.EnqueueRequestsFromMapFunc(r.ofService), builder.WithPredicates(saysOtherwise(serviceSpec))).
		Watches(&networkingv1.IngressClass{}, handler.EnqueueRequestsFromMapFunc(r.ofClass), generation).
		Watches(&ingressapi.IngressClassParams{}, handler.EnqueueRequestsFromMapFunc(r.ofParams), generation).
		Watches(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(r.ofNamespace), builder.WithPredicates(labelsChanged())).
		Watches(&v1beta1.TargetGroupBinding{}, handler.EnqueueRequestsFromMapFunc(r.ofBinding), builder.WithPredicates(bindingChanged())).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: r.MaxConcurrentReconciles + spareWorkers,
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](minBackoff, maxBackoff),
			NewQueue:                r.newQueue,
		}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("building the ingress controller: %w", err)
	}
	return nil
}

// newQueue is called once, before there are passes.
func (r *Reconciler) newQueue(
	name string, limiter workqueue.TypedRateLimiter[reconcile.Request],
) workqueue.TypedRateLimitingInterface[reconcile.Request] {
	q := queue.NewLimited(name, limiter, r.tenants.Of, queue.Limits{OfTenant: r.MaxConcurrentReconciles, Long: turn, Clock: r.Clock})
	r.othersWait = q.OthersWait
	return q
}

// bindingChanged passes what others do to our bindings, also to the labels by which they are found, and their end, for which steps wait.
// What is created we have created.
func bindingChanged() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() || !maps.Equal(e.ObjectOld.GetLabels(), e.ObjectNew.GetLabels())
		},
	}
}
