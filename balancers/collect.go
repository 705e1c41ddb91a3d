// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package balancers

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/targetgate/targetgate/balancers/ingress/membership"
	"github.com/targetgate/targetgate/balancers/orphans"
	"github.com/targetgate/targetgate/balancers/stack"
)

// reasonOrphaned is that of events about load balancers that no Ingress asks for.
const reasonOrphaned = "LoadBalancerWithoutIngress"

// collector decides which load balancers without Ingresses are deleted. Only the reading of what is left uses it, but for allows.
type collector struct {
	keeper orphans.Keeper

	mu      sync.Mutex
	allowed membership.Group // that a pass may delete, the zero value for none
}

// allows reports whether the load balancer of the group may be deleted though no Ingress has told so.
func (c *collector) allows(group membership.Group) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return group != membership.Group{} && c.allowed == group
}

func (c *collector) allow(group membership.Group) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.allowed = group
}

// without are those of the groups that no Ingress belongs to, names, or has the finalizer of, whoever's it is.
func (r *Reconciler) without(objects membership.Objects, groups []membership.Group) []membership.Group {
	asked := map[membership.Group]bool{}
	for _, request := range requestsOf(objects) {
		asked[membership.Group(request.NamespacedName)] = true
	}
	for _, i := range objects.Ingresses {
		for _, name := range groupsOf(i) {
			asked[membership.GroupNamed(name)] = true
		}
	}
	for _, params := range objects.Params {
		if params.Spec.Group != nil {
			asked[membership.Group{Name: params.Spec.Group.Name}] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(groups), func(group membership.Group) bool { return asked[group] })
}

// collect looks which of the groups have a load balancer and no Ingress, tells of them, and lets a pass delete one of them when it is time.
// It returns the groups of which nothing may be collected: while too many have none, those without any Ingress.
func (r *Reconciler) collect(ctx context.Context, groups []membership.Group) (kept map[membership.Group]bool, err error) {
	objects, err := r.objects(ctx)
	if err != nil {
		return nil, err
	}
	without := r.without(objects, groups)
	var ids []stack.ID
	seen, foreign := map[stack.ID]stack.Stack{}, map[stack.ID]bool{}
	for _, group := range without {
		id := r.idOf(group)
		if seen[id], err = r.View.Parts(ctx, id); err != nil {
			return nil, err
		}
		s := seen[id]
		if slices.ContainsFunc(s.All(), func(s *stack.Stack) bool { return len(s.LoadBalancers) > 0 }) {
			ids = append(ids, id)
			foreign[id] = len(orphans.Foreign(r.Options.Cluster, group, &s)) > 0
		}
	}
	r.collector.keeper.Grace = r.OrphanGrace
	look := r.collector.keeper.Look(ids, foreign, len(groups), r.Clock.Now())
	withoutIngress.Set(float64(len(ids)))
	if r.collector.allow(membership.Group{}); look.Collect != nil {
		r.collector.allow(membership.GroupNamed(look.Collect.Name))
	}
	for id, at := range look.Tell {
		r.tellOrphaned(ctx, objects, membership.GroupNamed(id.Name), seen[id], at)
	}
	if look.Begins {
		ctrl.LoggerFrom(ctx).Info("Too many load balancers have no Ingress, none of them is deleted: has the API server lost its data, or is "+
			"--cluster-name that of another cluster?", "without", len(ids), "all", len(groups))
	}
	if !look.TooMany || len(ids) <= orphans.Most { // what serves nobody need not wait for a few
		return nil, nil
	}
	kept = map[membership.Group]bool{}
	for _, group := range without {
		kept[group] = true
	}
	return kept, nil
}

// tellOrphaned tells of a load balancer that no Ingress asks for: on the Ingress that it was made for, or for a group on the class of
// Ingresses.
func (r *Reconciler) tellOrphaned(
	ctx context.Context, objects membership.Objects, group membership.Group, seen stack.Stack, at time.Time,
) {
	var names []string
	for _, s := range seen.All() {
		for _, balancer := range s.LoadBalancers {
			names = append(names, balancer.Name)
		}
	}
	what := "--orphan-grace is 0, so it stays"
	switch foreign := orphans.Foreign(r.Options.Cluster, group, &seen); {
	case len(foreign) > 0:
		what = "it stays, as " + strings.Join(foreign, ", ") + " is not a name that targetgate gives"
	case !at.IsZero():
		what = fmt.Sprintf("it is deleted at %s, with all that was made for it", at.UTC().Format(time.RFC3339))
	}
	note := fmt.Sprintf("No Ingress asks for load balancer %s of group %s: %s. To keep it, create an Ingress of the group; to delete it now, "+
		"delete that Ingress again", strings.Join(names, " and "), group, what)
	ctrl.LoggerFrom(ctx).Info(note)
	var on runtime.Object
	if !group.IsExplicit() {
		on = &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: group.Namespace, Name: group.Name}}
	} else if i := slices.IndexFunc(objects.Classes, isOurs); i >= 0 {
		on = objects.Classes[i]
	}
	if on != nil {
		r.Recorder.Eventf(on, nil, corev1.EventTypeWarning, reasonOrphaned, action, "%s", note)
	}
}

func isOurs(class *networkingv1.IngressClass) bool {
	return class.Spec.Controller == membership.Controller
}
