// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"cmp"
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/conditions"
	"github.com/targetgate/targetgate/targets/events"
	"github.com/targetgate/targetgate/targets/report"
	"github.com/targetgate/targetgate/targets/retry"
	"github.com/targetgate/targetgate/targets/status"
	"github.com/targetgate/targetgate/targets/targetgroup"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// refuse says in the status why the binding is left alone, and opens the gates of its pods, whose health no one checks. The
// pods of a successor wait: only a call of the other binding is awaited. Calls of this binding that have not begun are dropped.
func (r *Registrar) refuse(s passState, binding *v1beta1.TargetGroupBinding, why string, successor bool) ctrl.Result {
	s.group.Retire()
	var next nextPass
	if successor {
		next.in(duplicatePause)
	} else {
		next.in(r.gates.Write(s.gates, conditions.OpenAll(r.gated(s), readiness.NotManaged(why), s.gates.Lost())))
		next.in(targetgroup.RecheckPause)
	}
	next.in(r.writeStatus(s, binding, status.Input{
		Generation: binding.Generation, Group: s.group.Snapshot(), ClaimFailure: s.claims.Failure(), Unsupported: why, Successor: successor,
	}))
	return next.result()
}

const notDeregistered = "The binding is deleted without deregistering its targets: %s"

// forbid leaves a binding alone whose role its namespace may not have assumed: AWS is not asked, and its targets stay as they are.
// The gates of its pods wait as for a Service that is gone, as the list may change back, and open then. When the binding is
// deleted it goes at once.
func (r *Registrar) forbid(s passState, binding *v1beta1.TargetGroupBinding, why string) ctrl.Result {
	s.group.Retire()
	var next nextPass
	if !binding.DeletionTimestamp.IsZero() {
		next.in(r.openDeleted(s, binding))
		left := events.Warning(v1beta1.ReasonRoleNotAllowed, "Deregister", notDeregistered, why)
		next.in(r.release(s, binding, &left))
		return next.result()
	}
	now := r.Clock.Now()
	updates, detached := conditions.Forbidden(conditions.Input{
		Gate: s.gates.Gate(), Gated: r.gated(s), Opened: s.gates.Opened(now), Lost: s.gates.Lost(), Detached: s.detached, Policy: r.Policy,
		Now: now,
	}, why)
	s.detached = detached
	next.in(r.gates.Write(s.gates, updates))
	next.in(targetgroup.RecheckPause)
	next.in(detached.Next(r.Policy, now))
	next.in(r.writeStatus(s, binding, status.Input{
		Generation: binding.Generation, Group: s.group.Snapshot(), ClaimFailure: s.claims.Failure(), Forbidden: why,
	}))
	return next.result()
}

// duplicatePause is the pause before the next check of a duplicate's call that is under way.
const duplicatePause = 500 * time.Millisecond

// retire has the duplicates send nothing more, and reports whether a call of theirs is still under way.
func (all *memories) retire(duplicates []v1beta1.TargetGroupBinding) (underWay bool) {
	for i := range duplicates {
		if m := all.find(client.ObjectKeyFromObject(&duplicates[i])); m != nil && m.group.Retire() {
			underWay = true
		}
	}
	return underWay
}

// transfer lets a binding that is being deleted go without touching a target: they are the other binding's.
func (r *Registrar) transfer(s passState, binding *v1beta1.TargetGroupBinding) (next time.Duration) {
	if s.group.Retire() {
		return duplicatePause
	}
	r.bindings.leave(s.memory)
	return r.release(s, binding, nil)
}

// releasePause is after which a binding is looked at again whose rules are being removed: nothing may be left to wake it.
const releasePause = 5 * time.Second

// release removes the finalizer, after the inbound rules that only this binding asked for. The end of these wakes the binding.
func (r *Registrar) release(s passState, binding *v1beta1.TargetGroupBinding, left *events.Event) time.Duration {
	done, rulesLeft := true, (*events.Event)(nil)
	if s.vanished == nil || !s.vanished.recreated { // else they are the other binding's, of the same name
		done, rulesLeft = r.rules.released(binding)
	}
	if !done {
		return retry.Soonest(releasePause, r.writeStatus(s, binding, status.Input{
			Generation: binding.Generation, Group: s.group.Snapshot(), Deleting: true, Rules: r.rules.state(s.key),
		}))
	}
	if left != nil && rulesLeft != nil {
		both := *left
		both.Note += ". " + rulesLeft.Note
		left = &both
	}
	left = cmp.Or(left, rulesLeft)
	if s.vanished != nil {
		return r.claims.Discard(s.claims, binding, left)
	}
	s.letGo()
	return r.claims.Release(s.claims, binding, left)
}

// writeStatus has the status written of a binding that is there.
func (r *Registrar) writeStatus(s passState, binding *v1beta1.TargetGroupBinding, in status.Input) time.Duration {
	if s.vanished != nil {
		return 0
	}
	in.Foreign = s.foreign
	return r.statuses.Write(s.status, binding, in)
}

// absent is a pass over a binding that does not exist.
func (r *Registrar) absent(ctx context.Context, key types.NamespacedName) (ctrl.Result, error) {
	r.beside.Absent(key)
	registered, err := r.beside.IsRegistered(ctx, key.Namespace)
	if client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, err
	}
	if !registered {
		r.forget(key)
		return ctrl.Result{}, nil
	}
	return r.orphaned(key), nil
}

// forget drops what is remembered of a binding.
func (r *Registrar) forget(key types.NamespacedName) {
	report.DeleteGauges(key)
	if m := r.bindings.find(key); m != nil { // nothing that is queued is sent any more
		m.group.Retire()
		r.bindings.leave(m)
		m.status.Drop(r.Clock.Now())
	}
	r.bindings.forget(key)
	if !r.bindings.hasVanished(key) { // else they are to be removed first
		r.rules.forget(key)
	}
	r.resolver.Holders.Hold(key, nil)
	r.resolver.Selectors.Drop(key)
}
