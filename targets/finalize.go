// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/targetgate/targetgate/aws/awserr"
	"github.com/targetgate/targetgate/aws/budget"
	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/endpoints"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// finalize takes a binding that is being deleted apart: its gates are opened whatever AWS says, its targets are
// deregistered, and the finalizer goes when AWS has accepted that for every target of a group that has been read. Targets
// of which another binding takes care are left to it.
func (r *Registrar) finalize(
	ctx context.Context, s session, binding *v1beta1.TargetGroupBinding, duplicates []v1beta1.TargetGroupBinding,
) (ctrl.Result, error) {
	defer observeStage(stageCleanup, r.Clock)()
	var next requeue
	next.in(r.openDeleted(s, binding))
	err := r.empty(ctx, s, binding, duplicates, &next)
	if err != nil {
		return ctrl.Result{}, err
	}
	return next.result(), nil
}

// empty is finalize but for the gates.
func (r *Registrar) empty(
	ctx context.Context, s session, binding *v1beta1.TargetGroupBinding, duplicates []v1beta1.TargetGroupBinding, next *requeue,
) error {
	if !controllerutil.ContainsFinalizer(binding, v1beta1.Finalizer) {
		return nil
	}
	if owningBinding(binding, duplicates) != nil || hasSuccessor(duplicates) {
		next.in(r.transfer(s, binding))
		return nil
	}
	if err := r.loadRecord(ctx, s, binding); err != nil {
		return err
	}
	entries, _ := s.group.snapshot()
	mine, err := r.removable(ctx, s, binding, entries)
	if err != nil {
		return err
	}
	removal := planRemoval(entries, mine)
	deregisterAgain := r.startDeregistrations(s, removal, 0)
	r.startRegistrations(s, binding, removal) // which is none: what was due is not any more
	entries, complete := s.group.snapshot()
	consentAgain := r.askConsent(s)
	if s.group.emptied(entries, complete, mine) && !r.holdOf(s.group).undecided() {
		next.in(r.releaseLater(s, binding, s.group.left(entries, mine)))
		return nil
	}
	next.in(deregisterAgain)
	next.in(consentAgain)
	next.in(r.observe(s, look{at: s.group.lastReading().Add(pollUnsettled), class: budget.ClassOther}))
	next.in(r.writeStatus(s, binding, statusInput{
		generation: binding.Generation, deleting: true, complete: complete, entries: entries,
	}))
	return nil
}

// planRemoval deregisters everything of ours that is or may be in the group.
func planRemoval(entries map[elbv2.Target]entry, mine func(elbv2.Target) bool) plan {
	p := plan{deregister: departures{}}
	for target, e := range entries {
		if mine(target) && e.mayBeIn() && e.leavable() {
			p.deregister[target] = departure{why: whyDeleted}
		}
	}
	return p
}

// emptied reports whether nothing of ours is left in the group, or AWS does not know the group: there is none, or its ARN is of
// another account or Region, or none at all.
func (g *group) emptied(entries map[elbv2.Target]entry, complete bool, mine func(elbv2.Target) bool) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.arn == "" || g.gone != nil || g.invalid != nil {
		return true
	}
	for target, e := range entries {
		if mine(target) && (e.mayBeIn() || e.registering || e.deregistering) && !g.deregistration.hopelessAlone(target) {
			return false
		}
	}
	return complete
}

// left says what may be left in the group of a binding that goes, as AWS refuses to deregister it; nil when it is nothing.
func (g *group) left(entries map[elbv2.Target]entry, mine func(elbv2.Target) bool) *bindingEvent {
	g.mu.Lock()
	defer g.mu.Unlock()
	refusals := g.deregistration.refusals()
	if g.invalid != nil {
		refusals = []string{awserr.Message(g.invalid)}
	}
	if len(refusals) == 0 || g.gone != nil {
		return nil
	}
	var left []string
	for target, e := range entries {
		if mine(target) && e.mayBeIn() {
			left = append(left, target.String())
		}
	}
	slices.Sort(left)
	event := failedCleanup(g.arn, refusals, left)
	return &event
}

// openDeleted has the gate of a binding that is being deleted opened, beside the pass, and says how long it is until that is due
// for the next pod. A pod that is no older than the deletion may be at the gate of another binding of that name, which the cache
// does not show yet.
func (r *Registrar) openDeleted(s session, binding *v1beta1.TargetGroupBinding) (wait time.Duration) {
	var older, others []*corev1.Pod
	for _, pod := range r.gatedPods(s.key) {
		if pod.CreationTimestamp.Before(binding.DeletionTimestamp) {
			older = append(older, pod)
		} else {
			others = append(others, pod)
		}
	}
	due, wait := r.orphans.due(s.key, others, r.Clock.Now())
	r.open(s, append(older, due...), readiness.BindingDeleted())
	return wait
}

// openGates has the binding's gate opened in every pod that carries it, beside the pass.
func (r *Registrar) openGates(s session, why readiness.Health) { r.open(s, r.gatedPods(s.key), why) }

func (r *Registrar) open(s session, pods []*corev1.Pod, why readiness.Health) {
	for _, pod := range pods {
		if !endpoints.IsTerminating(pod) {
			r.hand(s, readiness.GateFor(s.key.Name), conditionUpdate{pod: pod, health: why})
		}
	}
}
