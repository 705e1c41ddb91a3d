// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/aws/awserr"
	"github.com/targetgate/targetgate/balancers"
	"github.com/targetgate/targetgate/balancers/stack"
)

// Preview is for one question: what it has read of the cluster once it does not read again.
type Preview struct {
	// Reconciler reads by Snapshot. It needs no Applier and no Recorder.
	Reconciler *balancers.Reconciler
	Snapshot   *Snapshot
}

// All asks about all groups.
func (p *Preview) All(ctx context.Context) (Report, error) {
	groups, err := p.Reconciler.Frontend.GroupsOf(ctx, nil)
	if err != nil {
		return Report{}, err
	}
	return p.report(ctx, groups, func(string) bool { return true })
}

// Group asks about one group, by its name or as "namespace/name" of an Ingress that is alone in its own.
func (p *Preview) Group(ctx context.Context, name string) (Report, error) {
	groups, err := p.Reconciler.Frontend.GroupsOf(ctx, nil)
	if err != nil {
		return Report{}, err
	}
	groups = slices.DeleteFunc(groups, func(g stack.Group) bool { return g.String() != name })
	if len(groups) == 0 {
		return Report{}, fmt.Errorf("no Ingress belongs to group %q, or has left it and is still there", name)
	}
	return p.report(ctx, groups, func(string) bool { return false })
}

// Ingress asks about the groups of one Ingress: the one to which it belongs, and those that it has left.
func (p *Preview) Ingress(ctx context.Context, key client.ObjectKey) (Report, error) {
	object := &networkingv1.Ingress{}
	if err := p.Snapshot.Get(ctx, key, object); err != nil {
		return Report{}, fmt.Errorf("getting Ingress in namespace %s: %w", key.Namespace, err)
	}
	return p.concerned(ctx, []client.Object{object})
}

// Objects asks about all groups that these objects concern, when they have been applied.
func (p *Preview) Objects(ctx context.Context, objects []client.Object) (Report, error) {
	created, err := p.Snapshot.Propose(ctx, objects)
	if err != nil {
		return Report{}, err
	}
	report, err := p.concerned(ctx, objects)
	for _, object := range created {
		if _, is := object.(*corev1.Service); is {
			report.Notes = append(report.Notes, "Service "+nameOf(object)+
				" is new: the names of its target groups, and its node ports, are known when it is there")
		}
	}
	return report, err
}

func (p *Preview) concerned(ctx context.Context, objects []client.Object) (Report, error) {
	var groups []stack.Group
	var notes []string
	asked := map[string]bool{}
	for _, object := range objects {
		of, err := p.Reconciler.Frontend.GroupsOf(ctx, object)
		if err != nil {
			return Report{}, err
		}
		groups = append(groups, of...)
		if _, is := object.(*networkingv1.Ingress); is {
			asked[nameOf(object)] = true
			if len(of) == 0 {
				notes = append(notes, "Ingress "+nameOf(object)+" belongs to no group: by its class it is not targetgate's, or it has a fault")
			}
		}
	}
	slices.SortFunc(groups, func(a, b stack.Group) int { return strings.Compare(a.String(), b.String()) })
	report, err := p.report(ctx, slices.Compact(groups), func(name string) bool { return asked[name] })
	report.Notes = append(report.Notes, notes...)
	return report, err
}

// report asks about the groups, and has the faults of those Ingresses without a group of which these holds.
func (p *Preview) report(ctx context.Context, groups []stack.Group, these func(string) bool) (Report, error) {
	report := Report{Groups: []Group{}}
	strays, err := p.Reconciler.Frontend.Strays(ctx)
	if err != nil {
		return report, err
	}
	for _, fault := range strays {
		if these(fault.Member) {
			report.Faults = append(report.Faults, Fault{Ingress: fault.Member, Text: fault.Error()})
		}
	}
	for _, group := range groups {
		proposal, err := p.Reconciler.Propose(ctx, group)
		out := groupOf(proposal)
		if err != nil {
			out.Error = awserr.Message(err)
		}
		if ctx.Err() != nil {
			return report, ctx.Err()
		}
		report.add(out)
	}
	return report, nil
}

func nameOf(o client.Object) string { return o.GetNamespace() + "/" + o.GetName() }
