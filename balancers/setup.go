// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package balancers

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/targetgate/targetgate/balancers/frontend"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/targets/queue"
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
	setLimits(r.Limits)
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
	if err := r.Frontend.Watch(context.Background(), mgr.GetFieldIndexer(), r.watches(controllers)); err != nil {
		return err
	}
	err := controllers.
		Named(strings.ToLower(r.words().Object)).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: r.MaxConcurrentReconciles + spareWorkers,
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](minBackoff, maxBackoff),
			NewQueue:                r.newQueue,
		}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("building the controller of %s: %w", r.words().Object, err)
	}
	return nil
}

// watches are what the front end adds its own to.
func (r *Reconciler) watches(to *ctrl.Builder) frontend.Watches {
	return frontend.Watches{
		Builder: to, Ends: r.endings.notes(r.Clock, func(o client.Object) bool { return r.Frontend.HoldsOurs(o) }), Knows: r.memories.knows,
		Found: r.found,
	}
}

// found takes in that a group has a member in a namespace.
func (r *Reconciler) found(group stack.Group, namespace string) {
	r.tenants.Found(requestOf(group), namespace)
}

func requestOf(group stack.Group) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName(group)}
}

// newQueue is called once, before there are passes.
func (r *Reconciler) newQueue(
	name string, limiter workqueue.TypedRateLimiter[reconcile.Request],
) workqueue.TypedRateLimitingInterface[reconcile.Request] {
	q := queue.NewLimited(name, limiter, r.tenants.Of, queue.Limits{OfTenant: r.MaxConcurrentReconciles, Long: turn, Clock: r.Clock})
	r.othersWait = q.OthersWait
	return q
}
