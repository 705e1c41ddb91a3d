// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/targetgate/targetgate/targets/endpoints"
	"github.com/targetgate/targetgate/targets/report"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// Indexes of the cache of bindings. Those by target group are in package ownership, and those of pods and slices in package
// endpoints.
const (
	indexBindingService = "targets.binding.service"
	indexBindingType    = "targets.binding.type"
)

// SetupWithManager adds the registrar to the manager. It runs on the leader only, and not before every cache it reads
// has synced. The manager's cache must have ownership's indexes.
func (r *Registrar) SetupWithManager(ctx context.Context, mgr ctrl.Manager) error {
	r.prepare(endpoints.NewCache())
	if err := addIndexes(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	if err := warm(ctx, mgr.GetCache(), &corev1.Pod{}, &discoveryv1.EndpointSlice{}); err != nil {
		return err
	}
	w := r.watcher()
	err := ctrl.NewControllerManagedBy(mgr).
		Named("targets").
		For(&v1beta1.TargetGroupBinding{}, builder.WithPredicates(r.bindingChanged(), r.bindings.notesEnds())).
		Watches(&v1beta1.TargetGroupBinding{}, handler.EnqueueRequestsFromMapFunc(w.bindingsOfGroup),
			builder.WithPredicates(duplicatesChanged())).
		Watches(&corev1.Service{}, requeue(w.bindingsOfService)).
		Watches(&discoveryv1.EndpointSlice{}, w.sliceEvents()).
		Watches(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(w.bindingsOfNamespace), builder.WithPredicates(labelChanged())).
		Watches(&corev1.Node{}, w.nodeEvents(), builder.WithPredicates(nodeChanged())).
		Watches(&corev1.Pod{}, w.podEvents()).
		WatchesRawSource(source.Func(r.startWithQueue)).
		WatchesRawSource(source.Func(w.watchRoles)).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: r.MaxConcurrentReconciles,
			NewQueue:                w.newQueue,
			RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](
				minBackoff, r.MaxBackoff),
		}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("building the targets controller: %w", err)
	}
	return nil
}

// minBackoff is the pause after a first pass that failed at the API server.
const minBackoff = 50 * time.Millisecond

// startWithQueue starts the registrar's parts: the end of a call or write requeues its binding without delay.
func (r *Registrar) startWithQueue(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	report.Lead()
	go r.scope.Follow(ctx)
	passes := undelayed(queue)
	r.start(ctx, func(key types.NamespacedName, pause time.Duration) {
		passes.addAfter(reconcile.Request{NamespacedName: key}, pause)
	})
	return nil
}

// bindingIndexes say by which values the cache finds bindings.
var bindingIndexes = map[string]func(*v1beta1.TargetGroupBinding) string{
	indexBindingService: func(b *v1beta1.TargetGroupBinding) string { return b.Spec.ServiceRef.Name },
	indexBindingType:    func(b *v1beta1.TargetGroupBinding) string { return string(ptr.Deref(b.Spec.TargetType, "")) },
}

func addIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	for field, value := range bindingIndexes {
		values := func(o client.Object) []string { return []string{value(o.(*v1beta1.TargetGroupBinding))} }
		if err := indexer.IndexField(ctx, &v1beta1.TargetGroupBinding{}, field, values); err != nil {
			return fmt.Errorf("indexing %s: %w", field, err)
		}
	}
	return nil
}

// warm has the kinds cached from the start, also by a replica that does not lead yet: it begins at once when it does.
func warm(ctx context.Context, informers cache.Informers, kinds ...client.Object) error {
	for _, kind := range kinds {
		if _, err := informers.GetInformer(ctx, kind, cache.BlockUntilSynced(false)); err != nil {
			return fmt.Errorf("caching %T: %w", kind, err)
		}
	}
	return nil
}
