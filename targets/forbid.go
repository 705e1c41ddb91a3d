// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/endpoints"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// forbid leaves a binding alone whose role its namespace may not have assumed: AWS is not asked, and its targets stay as they are.
// The gates of its pods wait as for a Service that is gone, as the list may change back, and open then. When the binding is
// deleted it goes at once.
func (r *Registrar) forbid(s session, binding *v1beta1.TargetGroupBinding, why string) ctrl.Result {
	s.group.retire()
	var next requeue
	if !binding.DeletionTimestamp.IsZero() {
		next.in(r.openDeleted(s, binding))
		left := bindingEvent{corev1.EventTypeWarning, v1beta1.ReasonRoleNotAllowed, "Deregister",
			"No target is deregistered with the binding: " + why}
		next.in(r.releaseLater(s, binding, &left))
		return next.result()
	}
	next.in(refusalRecheck)
	next.in(r.openForbidden(s, why))
	next.in(r.writeStatus(s, binding, statusInput{generation: binding.Generation, forbidden: why}))
	return next.result()
}

// openForbidden opens the gates that have waited long enough, has the others say what they wait for, and says when the next one
// will have.
func (r *Registrar) openForbidden(s session, why string) (wait time.Duration) {
	now, gate := r.Clock.Now(), readiness.GateFor(s.key.Name)
	before, detached := s.group.currentDetached(), map[types.UID]detachment{}
	for _, pod := range r.gatedPods(s.key) {
		if endpoints.IsTerminating(pod) || readiness.IsOpen(pod, gate) {
			continue
		}
		d := before[pod.UID].still(notAllowed, now)
		detached[pod.UID] = d
		health := readiness.Released(readiness.ReasonRoleNotAllowed, cut(why))
		if left := d.holdOff(r.Policy) - now.Sub(d.since); left > 0 {
			wait, health = soonest(wait, left), readiness.RegistrationFailed(cut(why))
		}
		r.hand(s, gate, conditionUpdate{pod: pod, health: health})
	}
	s.group.setDetached(detached)
	return wait
}

// named is the update's target in an event's words; whose binding is left alone has none.
func (v conditionUpdate) named() string {
	if v.target == (elbv2.Target{}) {
		return "The pod's target"
	}
	return "Target " + v.target.String()
}

// watchRoles has all bindings that name a role looked at when other roles are allowed.
func (r *Registrar) watchRoles(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-r.RoleChanges:
				r.recheckRoles(ctx, queue)
			}
		}
	}()
	return nil
}

func (r *Registrar) recheckRoles(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	var list v1beta1.TargetGroupBindingList
	if err := r.Client.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Listing bindings after a change of the role allow list, will see it with their next pass")
		return
	}
	for i := range list.Items {
		if list.Items[i].Spec.IamRoleArnToAssume != "" {
			queue.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
		}
	}
}
