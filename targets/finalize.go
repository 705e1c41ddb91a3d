// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/targetgate/targetgate/aws/awserr"
	"github.com/targetgate/targetgate/aws/budget"
	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/conditions"
	"github.com/targetgate/targetgate/targets/endpoints"
	"github.com/targetgate/targetgate/targets/events"
	"github.com/targetgate/targetgate/targets/ownership"
	"github.com/targetgate/targetgate/targets/plan"
	"github.com/targetgate/targetgate/targets/report"
	"github.com/targetgate/targetgate/targets/retry"
	"github.com/targetgate/targetgate/targets/status"
	"github.com/targetgate/targetgate/targets/targetgroup"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// finalize takes a binding that is being deleted apart: its gates are opened whatever AWS says, its targets are
// deregistered, and the finalizer goes when AWS has accepted that for every target of a group that has been read, twice
// where an earlier process has worked on it. Targets that another binding takes over are left to it.
func (r *Registrar) finalize(
	ctx context.Context, s passState, binding *v1beta1.TargetGroupBinding, duplicates []v1beta1.TargetGroupBinding,
) (ctrl.Result, error) {
	defer report.ObserveStage(report.StageCleanup, r.Clock)()
	var next nextPass
	next.in(r.openDeleted(s, binding))
	if err := r.empty(ctx, s, binding, duplicates, &next); err != nil {
		return ctrl.Result{}, err
	}
	return next.result(), nil
}

// empty is finalize but for the gates.
func (r *Registrar) empty(
	ctx context.Context, s passState, binding *v1beta1.TargetGroupBinding, duplicates []v1beta1.TargetGroupBinding, next *nextPass,
) error {
	if !r.Mode.Holds(binding) {
		return nil
	}
	if s.vanished == nil {
		s.hold(binding)
	}
	if ownership.Owner(binding, duplicates) != nil || ownership.HasSuccessor(duplicates) {
		next.in(r.transfer(s, binding))
		return nil
	}
	if err := r.loadRecord(ctx, s, binding); err != nil {
		return err
	}
	before := s.group.Snapshot()
	in, err := r.removable(ctx, s, binding, before)
	if err != nil {
		return err
	}
	removal, waits := plan.Removal(in)
	s.foreign = removal.Foreign
	mine := removal.GoesWith(in)
	deregisterIn := s.calls.Deregister(removal.Changes)
	s.calls.Register(targetgroup.Changes{}, nothing) // what was due is no longer
	readTagIn := s.calls.ReadTag(removal.AsksOwner)
	after := s.group.Snapshot()
	if !waits && isEmptied(after, mine) && !plan.HoldOf(r.Consent.Mode, before).IsUndecided() {
		left := cmp.Or(leftIn(after, mine), withoutRecord(s, binding, after), leftForeign(s, binding))
		next.in(r.release(s, binding, left))
		return nil
	}
	next.in(deregisterIn)
	next.in(readTagIn)
	next.in(s.calls.Read(targetgroup.Reading{At: after.ReadAt.Add(plan.PollUnsettled), Class: budget.ClassOther}))
	next.in(r.writeStatus(s, binding, status.Input{
		Generation: binding.Generation, Group: after, Complete: after.Complete(), ClaimFailure: s.claims.Failure(), Deleting: true,
		Promptly: r.beside.IsPrompt(binding),
	}))
	return nil
}

func nothing(elbv2.Target) bool { return false }

// removable is what it takes to say which targets go with a binding that is deleted. What the cluster knows of a group's targets is looked
// up only where this process has not registered all of them.
func (r *Registrar) removable(ctx context.Context, s passState, binding *v1beta1.TargetGroupBinding, group targetgroup.Snapshot) (
	in plan.Input, err error,
) {
	in = plan.Input{
		Group: group, Nodes: !binding.Spec.IsIP(), Withheld: plan.HoldOf(r.Consent.Mode, group).Withheld, Now: r.Clock.Now(),
	}
	if in.Mine, err = r.others.mine(ctx, binding, s.claims.Record(), nil, group.Targets); err != nil {
		return in, err
	}
	if len(in.Unexplained()) > 0 && !binding.Spec.MultiClusterTargetGroup {
		res, err := r.resolver.ForPass().Resolve(ctx, binding, group.Targets)
		if err != nil {
			return in, err
		}
		in.Endpoints = res.Endpoints
		maps.DeleteFunc(in.Endpoints, func(_ elbv2.Target, ep endpoints.Endpoint) bool { return ep.UID == "" })
	}
	return in, r.foreign.look(ctx, s.memory, binding, &in)
}

// leftForeign says which targets a binding that goes leaves in its group, as they are not this cluster's; nil when there are none.
func leftForeign(s passState, binding *v1beta1.TargetGroupBinding) *events.Event {
	_, _, targets := ownership.Foreign(s.foreign.Record(binding.UID))
	if len(targets) == 0 {
		return nil
	}
	event := report.LeftForeign(binding.Spec.TargetGroupARN, targets)
	return &event
}

// isEmptied reports whether nothing of ours is left in the group, or AWS does not know the group: there is none, or its ARN is of
// another account or Region, or none at all.
func isEmptied(group targetgroup.Snapshot, mine func(elbv2.Target) bool) bool {
	if group.ARN == "" || group.Gone != nil || group.Invalid != nil {
		return true
	}
	for target, t := range group.Targets {
		if mine(target) && (t.MayBeIn() || t.UnderWay()) && !group.Deregistration.Hopeless[target] {
			return false
		}
	}
	return group.ShowsAll()
}

// leftIn says what may be left in the group of a binding that goes, as AWS refuses to deregister it; nil when it is nothing.
func leftIn(group targetgroup.Snapshot, mine func(elbv2.Target) bool) *events.Event {
	refusals := group.Deregistration.Words()
	if group.Invalid != nil {
		refusals = []string{awserr.Message(group.Invalid)}
	}
	if len(refusals) == 0 || group.Gone != nil {
		return nil
	}
	var left []string
	for target, t := range group.Targets {
		if mine(target) && t.MayBeIn() {
			left = append(left, target.String())
		}
	}
	slices.Sort(left)
	event := report.FailedCleanup(group.ARN, refusals, left)
	return &event
}

// withoutRecord says that targets of a shared group may be left, as the ConfigMap that says which has gone before the binding, such as with
// their namespace; nil where there is one, or nothing was ever done for the binding.
func withoutRecord(s passState, binding *v1beta1.TargetGroupBinding, group targetgroup.Snapshot) *events.Event {
	if !binding.Spec.MultiClusterTargetGroup || s.claims.IsWritten() || !workedFor(binding) || len(group.Targets) == 0 {
		return nil
	}
	event := report.LostRecord(ownership.RecordName(binding.Name), group.ARN)
	return &event
}

// openDeleted has the gate of a binding that is being deleted opened, beside the pass, and says how long it is until that is due
// for the next pod. A pod that is no older than the deletion may be at the gate of another binding of that name, which the cache
// does not show yet.
func (r *Registrar) openDeleted(s passState, binding *v1beta1.TargetGroupBinding) (wait time.Duration) {
	var older, others []*corev1.Pod
	for _, pod := range r.gated(s) {
		if pod.CreationTimestamp.Before(binding.DeletionTimestamp) {
			older = append(older, pod)
		} else {
			others = append(others, pod)
		}
	}
	due, wait := r.orphans.Due(s.key, others, r.Clock.Now())
	return retry.Soonest(wait, r.gates.Write(s.gates, conditions.OpenAll(append(older, due...), readiness.BindingDeleted(), s.gates.Lost())))
}
