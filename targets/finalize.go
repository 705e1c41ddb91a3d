// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"slices"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/elbv2"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// finalize takes a binding that is being deleted apart: its gates are opened whatever AWS says, its targets are
// deregistered, and the finalizer goes when AWS has accepted that for every target of a group that has been read. Targets
// of which another binding takes care are left to it.
func (r *Registrar) finalize(
	ctx context.Context, s session, binding *v1beta1.TargetGroupBinding, rivals []v1beta1.TargetGroupBinding,
) (ctrl.Result, error) {
	defer observeStage(stageCleanup, r.Clock)()
	r.openGates(s, readiness.BindingDeleted())
	if !controllerutil.ContainsFinalizer(binding, v1beta1.Finalizer) {
		return ctrl.Result{}, nil
	}
	if elder(binding, rivals) != nil || hasHeir(rivals) {
		return r.handOver(s, binding), nil
	}
	if err := r.recall(ctx, s, binding); err != nil {
		return ctrl.Result{}, err
	}
	entries, _ := s.group.snapshot()
	mine, err := r.removable(ctx, s, binding, entries)
	if err != nil {
		return ctrl.Result{}, err
	}
	removal := planRemoval(entries, mine)
	retryIn := r.letGo(s, removal, 0)
	r.letIn(s, binding, removal)
	entries, complete := s.group.snapshot()
	askIn := r.askConsent(s)
	if s.group.emptied(entries, complete, mine) && !r.holdOf(s.group).undecided() {
		return ctrl.Result{RequeueAfter: r.releaseLater(s, binding, s.group.left(entries, mine))}, nil
	}
	readIn := r.observe(s, look{at: s.group.lastReading().Add(pollUnsettled), class: elbv2.ClassOther})
	countIn := r.writeStatus(s, binding, view{
		generation: binding.Generation, deleting: true, complete: complete, entries: entries,
	})
	return ctrl.Result{RequeueAfter: soonestOf(retryIn, readIn, countIn, askIn)}, nil
}

// planRemoval deregisters everything of ours that is or may be in the group.
func planRemoval(entries map[elbv2.Target]entry, mine func(elbv2.Target) bool) plan {
	p := plan{deregister: departures{}}
	for target, e := range entries {
		if mine(target) && e.mayBeIn() && e.leavable() {
			p.deregister[target] = departureUnknown
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
		refusals = []string{elbv2.Message(g.invalid)}
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

// openGates has the binding's gate opened in every pod that carries it, beside the pass.
func (r *Registrar) openGates(s session, why readiness.Health) {
	for _, pod := range r.gatedPods(s.key) {
		if !isLeaving(pod) {
			r.hand(s, readiness.GateFor(s.key.Name), verdict{pod: pod, health: why})
		}
	}
}
