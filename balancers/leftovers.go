// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package balancers

import (
	"context"
	"errors"
	"slices"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/ingress/membership"
	"github.com/targetgate/targetgate/balancers/stack"
)

// Stacks lists what there is in AWS.
type Stacks interface {
	// Stacks are the IDs of all that have a part there.
	Stacks(ctx context.Context) ([]stack.ID, error)
}

// leftoverPause is when the stacks are listed again after a failure.
const leftoverPause = time.Minute

// enqueueLeftovers requests passes over all groups of which there is something in AWS, at the start and in each drift interval: also over
// those without any Ingress, of which a former process has left something, such as a security group that lingered.
func (r *Reconciler) enqueueLeftovers(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	go func() {
		for ctx.Err() == nil {
			pause := r.DriftInterval
			requests, err := r.leftovers(ctx)
			if err != nil {
				ctrl.LoggerFrom(ctx).Error(err, "Failed to list what there is in AWS")
				pause = leftoverPause
			}
			enqueueLast(queue, requests)
			select {
			case <-time.After(pause):
			case <-ctx.Done():
			}
		}
	}()
	return nil
}

// enqueueLast puts these requests behind all others, unless something else asks for one of them. The queue is that of newQueue.
func enqueueLast(queue workqueue.TypedRateLimitingInterface[reconcile.Request], requests []reconcile.Request) {
	low := priorityqueue.AddOpts{Priority: ptr.To(handler.LowPriority)}
	queue.(priorityqueue.PriorityQueue[reconcile.Request]).AddWithOpts(low, requests...)
}

func (r *Reconciler) leftovers(ctx context.Context) (out []reconcile.Request, err error) {
	ids, err := r.Stacks.Stacks(ctx)
	if r.Issuer != nil {
		ofCertificates, failure := r.Issuer.Stacks(ctx)
		ids, err = append(ids, ofCertificates...), errors.Join(err, failure)
	}
	for _, id := range ids {
		if id.Kind == stack.Ingresses {
			out = append(out, requestOf(membership.GroupNamed(id.Name)))
		}
	}
	return out, err
}

// isMentioned reports whether an Ingress names the group, or has its name, whoever's it is: then another controller may be at work. For one
// that is being deleted nobody makes anything any more; while it has the group's finalizer it is a member.
func isMentioned(group membership.Group, all []*networkingv1.Ingress) bool {
	return slices.ContainsFunc(all, func(i *networkingv1.Ingress) bool {
		switch {
		case i.DeletionTimestamp != nil:
			return false
		case !group.IsExplicit():
			return i.Namespace == group.Namespace && i.Name == group.Name
		}
		return i.Annotations[annotation.GroupName.FullName()] == group.Name
	})
}
