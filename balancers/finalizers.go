// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package balancers

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/targetgate/targetgate/aws/awserr"
	"github.com/targetgate/targetgate/balancers/apply"
	"github.com/targetgate/targetgate/balancers/fault"
	"github.com/targetgate/targetgate/balancers/frontend"
	"github.com/targetgate/targetgate/balancers/owners"
	"github.com/targetgate/targetgate/balancers/plan"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

// leaveOutUnserved leaves out members that are not invited and have nothing here.
func (p *pass) leaveOutUnserved() {
	var members []frontend.Member
	for _, m := range p.members.Active {
		if m.Uninvited != nil && !p.isHere(m) {
			if !p.Frontend.HoldsTooMany(m.Object) { // who is told once, and not in each group
				teller{p}.warn(m.Object, reasonBuild, buildFailed, m.Uninvited.Error())
			}
			continue
		}
		members = append(members, m)
	}
	p.members.Active, p.lookups = members, lookups{}
}

// isHere reports whether something is served for the member in the group, or was, until the load balancer of the group went.
func (p *pass) isHere(m frontend.Member) bool {
	isIts := func(g stack.TargetGroup) bool { return plan.MayBeOf(&g, m.Name, p.seen.Bindings) }
	return statuses{p}.isServed(m.Object) || slices.ContainsFunc(p.seen.TargetGroups, isIts) ||
		m.Fault == nil && len(p.seen.LoadBalancers) == 0 && len(p.Frontend.Addresses(m.Object)) > 0
}

// claims puts the finalizer of the group on members, and takes it off.
type claims struct{ *pass }

// claim puts the group's finalizer on all active members, before anything is made for them. One that cannot have it is held: what it has
// stays, as it may have lost its finalizer, or have it already and the cache is late. One that is gone is left out.
func (p claims) claim(ctx context.Context) (errs error) {
	var there []frontend.Member
	for _, member := range p.members.Active {
		isClaimed, err := p.claimOne(ctx, member.Object)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			errs = errors.Join(errs, p.finalizerFailed(member.Object, reasonAddFinalizer, "adding", err))
		}
		if !isClaimed {
			p.unclaimed[member.UID()] = true
			member.Fault = &fault.Fault{Member: member.Name, Reason: "it does not have the finalizer"}
		}
		there = append(there, member)
	}
	p.members.Active, p.lookups = there, lookups{}
	return errs
}

// claimOne puts the finalizer on the member, if it is to be there now, and reports whether it is.
func (p claims) claimOne(ctx context.Context, member client.Object) (isClaimed bool, err error) {
	of, finalizer := finalizerOf(member), p.Frontend.Finalizer(p.group)
	if p.isClaimed(member) {
		p.memory.isRight(of, finalizer)
		return true, nil
	}
	due, late := p.repair(member, "the finalizer "+finalizer, of, finalizer)
	if !due {
		return late, nil
	}
	version, err := p.patch(ctx, member, controllerutil.AddFinalizer)
	if err == nil {
		p.memory.wrote(of, finalizer, version, p.Clock.Now())
	}
	return err == nil, err
}

// isClaimed reports whether the member has the group's finalizer.
func (p claims) isClaimed(member client.Object) bool {
	return controllerutil.ContainsFinalizer(member, p.Frontend.Finalizer(p.group))
}

// release takes the group's finalizer off the members that do not belong to it any more, when nothing that serves is left of them.
func (p claims) release(ctx context.Context) (errs error) {
	for _, member := range p.members.Inactive {
		if !p.isTakenAway(member) {
			continue
		}
		if !p.isClaimed(member) { // somebody else has taken it off
			p.memory.forget(member.GetUID())
			continue
		}
		if _, err := p.patch(ctx, member, controllerutil.RemoveFinalizer); client.IgnoreNotFound(err) != nil {
			errs = errors.Join(errs, p.finalizerFailed(member, reasonRemoveFinalizer, "removing", err))
			continue
		}
		p.memory.forget(member.GetUID())
		p.Shared.Ended()
	}
	return errs
}

// isTakenAway reports whether nothing that serves is left of an inactive member. What lingers, such as a security group with interfaces,
// does not count: a later pass removes it, by its tags. Nor does a load balancer that somebody has protected from deletion.
func (p claims) isTakenAway(member client.Object) bool {
	if !hasLoadBalancer(&p.seen) {
		return true
	}
	if len(p.result.LeftOut) > 0 || p.awaitsHealth() && p.hasTargetGroup(member) || p.awaitsEnd() {
		return false
	}
	return !slices.ContainsFunc(p.result.Failures, func(f apply.Failure) bool {
		return f.Step.Change.Effect() == steps.Removes && !isProtected(f)
	})
}

// awaitsHealth reports whether something new does not serve yet.
func (p claims) awaitsHealth() bool {
	return slices.ContainsFunc(p.result.Waits, func(w steps.Wait) bool { return w.Settled == (stack.Ref{}) && !delaysNobody(w) })
}

// awaitsEnd reports whether a load balancer, and what it needs, goes later, and not because it is protected.
func (p claims) awaitsEnd() bool {
	return slices.ContainsFunc(p.result.Waits, func(w steps.Wait) bool { return w.Gone != (stack.Ref{}) }) &&
		len(p.members.Active) == 0 && !slices.ContainsFunc(p.result.Failures, isProtected)
}

// hasTargetGroup reports whether a target group of an inactive member is there. One that nobody wants may be that of a held member with a
// longer name.
func (p claims) hasTargetGroup(member client.Object) bool {
	name := frontend.NameOf(member)
	return slices.ContainsFunc(p.seen.TargetGroups, func(g stack.TargetGroup) bool {
		isIts := func(m stack.Member) bool { return len(m.Name) > len(name) && plan.MayBeOf(&g, m.Name, p.seen.Bindings) }
		return plan.MayBeOf(&g, name, p.seen.Bindings) && owners.OfGroup(stack.Ref{Part: g.Part}, p.wanted, p.seen) == "" &&
			!slices.ContainsFunc(p.wanted.Members, isIts)
	})
}

func isProtected(f apply.Failure) bool {
	_, balancer := f.Step.Change.(steps.DeleteLoadBalancer)
	return balancer && awserr.IsProtected(f.Err)
}

// patch changes the finalizers, and returns the version of the Ingress since then. The lock keeps those that others write at the same time.
func (p claims) patch(ctx context.Context, member client.Object, change func(client.Object, string) bool) (string, error) {
	changed := member.DeepCopyObject().(client.Object)
	change(changed, p.Frontend.Finalizer(p.group))
	lock := client.MergeFromWithOptions(member, client.MergeFromWithOptimisticLock{})
	err := p.Client.Patch(ctx, changed, lock)
	return changed.GetResourceVersion(), err
}

// finalizerFailed tells the member, unless somebody else has only been faster.
func (p claims) finalizerFailed(member client.Object, reason, doing string, err error) error {
	if !apierrors.IsConflict(err) {
		teller(p).warn(member, reason, "Failed %s finalizer due to %v", doing, err)
	}
	return fmt.Errorf("%s finalizer of %s %s: %w", doing, p.words().Object, frontend.NameOf(member), err)
}
