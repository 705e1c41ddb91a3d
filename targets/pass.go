// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/conditions"
	"github.com/targetgate/targetgate/targets/events"
	"github.com/targetgate/targetgate/targets/plan"
	"github.com/targetgate/targetgate/targets/report"
	"github.com/targetgate/targetgate/targets/retry"
	"github.com/targetgate/targetgate/targets/status"
	"github.com/targetgate/targetgate/targets/targetgroup"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// pass brings the group of a binding that is managed, and the gates of its pods, nearer to what they should be.
func (r *Registrar) pass(ctx context.Context, s passState, binding *v1beta1.TargetGroupBinding) (ctrl.Result, error) {
	defer report.ObserveStage(report.StageReconcile, r.Clock)()
	if err := r.loadRecord(ctx, s, binding); err != nil {
		return ctrl.Result{}, err
	}
	gated := r.gated(s)
	before, now := s.group.Snapshot(), r.Clock.Now() // after loadRecord, which may wait; what is seen later may have later times
	res, err := r.resolver.ForPass().After(s.resolved, now).Resolve(ctx, binding, before.Targets)
	if err != nil {
		return ctrl.Result{}, err
	}
	s.resolved = res.Memory
	mine, err := r.others.mine(ctx, binding, s.claims.Record(), res.Endpoints, before.Targets)
	if err != nil {
		return ctrl.Result{}, err
	}
	hold, policy := plan.HoldOf(r.Consent.Mode, before), r.policyOf(binding, res.Service)
	in := plan.Input{
		Endpoints: res.Endpoints, Group: before, Nodes: !binding.Spec.IsIP(), Gate: s.gates.Gate(), Workloads: res.Workloads,
		Mine: mine, Withheld: hold.Withheld, Policy: policy, UnreadyKept: s.unreadyKept, Leaving: s.leaving, Now: now,
	}
	if err := r.foreign.look(ctx, s.memory, binding, &in); err != nil {
		return ctrl.Result{}, err
	}
	p := plan.Make(in)
	p.Generation = actsOn(binding.Generation, before, hold, s.claims.Failure())
	s.unreadyKept, s.leaving, s.foreign = p.UnreadyKept, p.Leaving, p.Foreign
	var next nextPass
	next.in(retry.Soonest(p.NextChange, res.Unseen.Next(now)))
	// Before anything that may take its time.
	next.in(s.calls.Deregister(p.Changes))
	next.in(s.calls.Register(p.Changes, s.claims.Claimed(binding)))

	rules, err := r.rules.want(ctx, binding, res, before)
	if err != nil {
		return ctrl.Result{}, err
	}
	after := s.group.Snapshot() // what was registered before our time has its owners now
	next.in(r.claims.Claim(s.claims, binding, after, p))
	s.hold(binding)
	claimFailure := s.claims.Failure() // one for which the plan has no more use is forgotten now
	pods, unlisted := r.report(ctx, s, binding, conditions.Input{
		Gated: gated, Resolution: res, Plan: p, Group: after, ClaimFailure: claimFailure, Hold: hold, Policy: policy, Now: now,
	}, &next)
	opened := s.gates.Opened(now) // with those that this pass opens
	awaited := plan.Awaited(res.Endpoints, after.Targets, s.gates.Gate(), p.ReplacedAt, opened)
	next.in(s.calls.Read(plan.NextReading(plan.ReadingInput{
		Group: after, Awaited: awaited, Policy: policy, UnreadyKept: p.UnreadyKept.Now,
		BudgetIsShort: s.calls.Client.Short(), DriftInterval: r.DriftInterval, Guarded: r.guards.Leaving(),
	})))
	if !s.claims.AddsFinalizer(binding) {
		next.in(r.writeStatus(s, binding, status.Input{
			Generation: binding.Generation, Group: after, Complete: before.Complete(), ClaimFailure: claimFailure,
			Missing: res.Missing, Plan: p, Policy: policy, Shortfall: status.Shortfall(binding, r.Networking != nil), Pods: pods,
			Unlisted: unlisted, Skipped: res.Skipped, Hold: hold, Rules: rules, Promptly: r.beside.IsPrompt(binding),
		}))
	}
	next.in(conditions.NextRelease(s.detached, awaited, policy, now))
	next.in(s.calls.ReadSettings(awaited))
	next.in(s.calls.ReadTag(p.AsksOwner))
	return next.result(), nil
}

// policyOf is the registrar's policy, with what the binding's annotation says instead, or its Service's.
func (r *Registrar) policyOf(binding *v1beta1.TargetGroupBinding, service *corev1.Service) plan.Policy {
	policy := r.Policy
	if percent, ok, _ := binding.MinReadyPercent(annotationsOf(service)); ok {
		policy.MinReadyPercent = percent
	}
	return policy
}

// annotationsOf are those of a Service, which may be nil.
func annotationsOf(service *corev1.Service) map[string]string {
	if service == nil {
		return nil
	}
	return service.Annotations
}

// actsOn is the generation whose work a plan holds, 0 when it may not hold all of it: before the group and its consent were
// read, while readings fail, and while nothing can be claimed.
func actsOn(generation int64, group targetgroup.Snapshot, hold plan.Hold, claimFailure error) int64 {
	if !group.Complete() || hold.Withheld && !hold.IsFinal() || group.ReadingFailure != nil || claimFailure != nil {
		return 0
	}
	return generation
}

// report has written to the pods what the load balancer says of them, counts them, and tells users what else they should know. Gates of
// a binding that registers nodes are opened: no pod's health is checked. In lacks what is the same in all passes.
func (r *Registrar) report(ctx context.Context, s passState, binding *v1beta1.TargetGroupBinding, in conditions.Input, next *nextPass) (
	pods *conditions.PodCount, unlisted string,
) {
	found := report.Notices(binding, in.Plan, in.Resolution.Odd, in.Group.DelayDenied, in.Policy)
	report.AddPortNotice(found, binding, in.Resolution.Doubt)
	maps.Copy(found, report.AnnotationNotices(binding, annotationsOf(in.Resolution.Service)))
	if binding.Spec.IsIP() {
		in.Gate, in.Opened, in.Lost, in.Detached = s.gates.Gate(), s.gates.Opened(in.Now), s.gates.Lost(), s.detached
		in.Unlisted = func(pod *corev1.Pod) (string, bool) {
			return r.resolver.WhyUnlisted(binding, in.Resolution, pod)
		}
		result := conditions.Decide(in)
		s.detached, unlisted = result.Detached, result.Unlisted
		next.in(r.gates.Write(s.gates, result.Updates))
		maps.Copy(found, result.Late)
		count, ungated := r.countPods(ctx, binding.Namespace, in)
		maps.Copy(found, ungated)
		pods = &count
	} else {
		why := readiness.NotManaged("spec.targetType is instance: nodes are registered, not pods")
		next.in(r.gates.Write(s.gates, conditions.OpenAll(in.Gated, why, s.gates.Lost())))
	}
	s.emitted = r.reporter.RecordNew(s.emitted, found)
	r.reporter.Lost(binding, &s.lost, s.group.TakeLost())
	r.reporter.Late(binding, &s.late, s.group.TakeLate())
	return pods, unlisted
}

// countPods counts the pods, and finds those that should have a gate and have none.
func (r *Registrar) countPods(ctx context.Context, namespace string, in conditions.Input) (
	conditions.PodCount, map[string]events.Notice,
) {
	count := conditions.CountPods(in.Gated, in.Resolution.Endpoints, in.Gate)
	if count.Ungated == 0 {
		return count, nil
	}
	covered := r.scope.Covered(ctx, namespace)
	if covered == nil {
		return count, nil
	}
	missed := conditions.MissedPods(in.Resolution, in.Gate, covered)
	count.Missed = len(missed)
	return count, conditions.UngatedNotices(missed, in.Gate)
}

// nextPass is how long it is until the next pass; 0 when nothing asks for one.
type nextPass time.Duration

// in asks for a pass after that pause; 0 asks for none.
func (n *nextPass) in(pause time.Duration) { *n = nextPass(retry.Soonest(time.Duration(*n), pause)) }

func (n *nextPass) result() ctrl.Result { return ctrl.Result{RequeueAfter: time.Duration(*n)} }
