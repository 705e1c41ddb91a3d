// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package balancers

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/targetgate/targetgate/balancers/fault"
	"github.com/targetgate/targetgate/balancers/ingress/membership"
	"github.com/targetgate/targetgate/balancers/plan"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
	ingressapi "github.com/targetgate/targetgate/balancers/v1beta1"
)

// Proposal is what a pass over a group would do, and why.
type Proposal struct {
	Group stack.Group
	// Members belong to the group, in the order of their rules. Leaving ones belong to another group, and stay until that one serves them.
	Members, Leaving []string
	// Faults are those of members: one that is no warning holds its member. Overflow are rules for which the quota has no room.
	Faults   []fault.Fault
	Overflow []plan.Overflow
	// Wanted is what the members want.
	Wanted stack.Stack
	// Plan is for AWS and the bindings, Writes are for the Ingresses.
	Plan   steps.Plan
	Writes []Write
	// Orphaned says that there is a load balancer of the group and no Ingress: it is left alone.
	Orphaned bool
}

// Write is one of an Ingress.
type Write struct {
	Ingress string `json:"ingress"` // "namespace/name"
	Text    string `json:"text"`
}

// Propose says what a pass over the group would do. It writes nothing, so that of the Reconciler it needs what reads and what plans. A
// pass that has to wait may do less than what is proposed; what it leaves is proposed again.
func (r *Reconciler) Propose(ctx context.Context, group stack.Group) (Proposal, error) {
	p := r.newPass(group)
	out := Proposal{Group: group}
	var err error
	if p.members, err = p.load(ctx); err != nil {
		return out, err
	}
	out.Writes = claims{p}.proposed()
	out.Plan, err = p.propose(ctx)
	for _, member := range p.members.Active {
		if !p.isLeaving(member.Ingress) {
			out.Members = append(out.Members, membership.NameOf(member.Ingress))
		}
	}
	if err != nil {
		return out, err
	}
	out.Wanted, out.Orphaned, out.Overflow = p.wanted, p.isOrphaned(), p.overflow
	for _, member := range p.leaving {
		out.Leaving = append(out.Leaving, membership.NameOf(member))
	}
	out.Faults = slices.DeleteFunc(slices.Clone(p.faults), func(f fault.Fault) bool {
		member := p.member(f.Member)
		return member != nil && p.isLeaving(member)
	})
	out.Writes = append(out.Writes, statuses{p}.proposed(out.Plan)...)
	for _, member := range p.members.Inactive {
		out.Writes = append(out.Writes, Write{membership.NameOf(member), "remove the finalizer " + membership.FinalizerOf(group)})
	}
	return out, nil
}

// propose finds by which steps what is seen becomes what the members want. It writes nothing.
func (p *pass) propose(ctx context.Context) (steps.Plan, error) {
	if err := (observer{p}).observe(ctx); err != nil {
		return nil, err
	}
	if p.leaveOutUnserved(); p.isOrphaned() {
		return nil, nil
	}
	p.keepLeaving()
	if err := p.build(ctx); err != nil {
		return nil, err
	}
	if err := (observer{p}).complete(ctx); err != nil {
		return nil, err
	}
	p.memory.inTurn(p.wanted.TargetGroups)
	p.memory.assumeVersions(&p.wanted, &p.seen)
	for i := range p.seen.LoadBalancers {
		balancer := &p.seen.LoadBalancers[i]
		p.before = append(p.before, balancer.ARN)
		balancer.InStatus = statuses{p}.isKnown(*balancer)
	}
	var planned steps.Plan
	planned, p.overflow = p.MakePlan(p.wanted, p.seen)
	p.lookups = lookups{}
	return planned, nil
}

// GroupsOf are the groups that an object concerns, which may be an Ingress, a Service, an IngressClass or IngressClassParams, in order;
// those of all Ingresses for nil.
func (r *Reconciler) GroupsOf(ctx context.Context, object client.Object) ([]stack.Group, error) {
	objects, err := r.objects(ctx) // what the functions below only log
	if err != nil {
		return nil, err
	}
	requests := requestsOf(objects)
	if object != nil {
		requests = r.requestsFor(ctx, object)
	}
	var out []stack.Group
	strays := membership.Strays(membership.Classify(objects))
	for _, request := range requests {
		if _, isNone := strays[stack.Group(request.NamespacedName)]; !isNone {
			out = append(out, stack.Group(request.NamespacedName))
		}
	}
	slices.SortFunc(out, func(a, b stack.Group) int { return strings.Compare(a.String(), b.String()) })
	return out, nil
}

// Strays are the faults of Ingresses that seem to be ours and belong to no group because of them. A pass tells them, and does nothing more.
func (r *Reconciler) Strays(ctx context.Context) (out []fault.Fault, err error) {
	objects, err := r.objects(ctx)
	if err != nil {
		return nil, err
	}
	for _, stray := range membership.Strays(membership.Classify(objects)) {
		out = append(out, *stray.Fault)
	}
	slices.SortFunc(out, func(a, b fault.Fault) int { return strings.Compare(a.Member, b.Member) })
	return out, nil
}

func (r *Reconciler) requestsFor(ctx context.Context, object client.Object) []reconcile.Request {
	switch object.(type) {
	case *networkingv1.Ingress:
		return r.ofIngress(ctx, object)
	case *corev1.Service:
		return r.ofService(ctx, object)
	case *networkingv1.IngressClass:
		return r.ofClass(ctx, object)
	case *ingressapi.IngressClassParams:
		return r.ofParams(ctx, object)
	}
	return nil
}

// proposed are the finalizers that active members get.
func (p claims) proposed() (out []Write) {
	for _, member := range p.members.Active {
		if !p.isClaimed(member.Ingress) {
			out = append(out, Write{membership.NameOf(member.Ingress), "add the finalizer " + membership.FinalizerOf(p.group)})
		}
	}
	return out
}

// proposed are the statuses that change when all steps are done.
func (p statuses) proposed(planned steps.Plan) (out []Write) {
	isNew := slices.ContainsFunc(planned, func(s steps.Step) bool {
		c, is := s.Change.(steps.CreateLoadBalancer)
		return is && !c.LoadBalancer.Network
	})
	shown := p.shown()
	if shown != nil && !isNew {
		shown = cmp.Or(p.after(shown.ARN, planned), shown)
	}
	for _, member := range p.members.Active {
		switch {
		case p.isLeaving(member.Ingress), p.isUnserved(member.Ingress):
		case isNew:
			out = append(out, Write{membership.NameOf(member.Ingress), "write the name of the new load balancer to the status, once it serves"})
		case shown != nil:
			if entries := p.statusOf(member, shown); !isStatus(member.Ingress, entries) {
				out = append(out, Write{membership.NameOf(member.Ingress), "write " + statusText(entries[0]) + " to the status"})
			}
		}
	}
	for _, member := range p.members.Inactive {
		if p.isToForget(member) {
			out = append(out, Write{membership.NameOf(member), "empty the status"})
		}
	}
	return out
}

// after is the load balancer as it is when the steps are done, nil if it is gone then.
func (p *pass) after(arn string, planned steps.Plan) *stack.LoadBalancer {
	seen := stack.Copy(p.seen)
	for _, step := range planned {
		step.Change.On(&seen, steps.Made{})
	}
	return seen.LoadBalancer(arn)
}

func statusText(entry networkingv1.IngressLoadBalancerIngress) string {
	ports := make([]string, len(entry.Ports))
	for i, port := range entry.Ports {
		ports[i] = fmt.Sprint(port.Port)
	}
	return entry.Hostname + " with ports " + strings.Join(ports, ", ")
}
