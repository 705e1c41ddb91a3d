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
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/targetgate/targetgate/aws/awserr"
	"github.com/targetgate/targetgate/balancers/apply"
	"github.com/targetgate/targetgate/balancers/frontend"
	"github.com/targetgate/targetgate/balancers/orphans"
	"github.com/targetgate/targetgate/balancers/stack"
)

// collector decides which load balancers without Ingresses are deleted. Only the reading of what is left uses its keeper.
type collector struct {
	keeper orphans.Keeper

	mu      sync.Mutex
	allowed stack.Group               // that a pass may delete, the zero value for none
	since   map[stack.Group]time.Time // when those lost their Ingresses of which that is to be recorded
}

// allows reports whether the load balancer of the group may be deleted though no Ingress has told so.
func (c *collector) allows(group stack.Group) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return group != stack.Group{} && c.allowed == group
}

// take takes in what a look has found.
func (c *collector) take(look orphans.Look) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.allowed, c.since = stack.Group{}, map[stack.Group]time.Time{}
	if look.Collect != nil {
		c.allowed = stack.GroupNamed(look.Collect.Name)
	}
	for id, since := range look.Record {
		c.since[stack.GroupNamed(id.Name)] = since
	}
}

// recordOf is since when the group has had no Ingress; false if that is not to be recorded.
func (c *collector) recordOf(group stack.Group) (since time.Time, is bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	since, is = c.since[group]
	return since, is
}

// record has the load balancers say since when they have had no Ingress, so that a restart does not begin anew. If AWS refuses that, this
// process alone counts. The pass over a group that gets an Ingress takes the tag away.
func (p *pass) record(ctx context.Context) {
	since, is := p.collector.recordOf(p.group)
	if !is || p.members.Mentioned {
		return
	}
	planned := orphans.Record(&p.seen, since)
	if len(planned) == 0 {
		return
	}
	for _, failure := range p.Applier.Run(ctx, apply.Pass{ID: p.id, Plan: planned}).Failures {
		ctrl.LoggerFrom(ctx).Info("Failed to tag a load balancer with the time since when it has had no Ingress: a restart counts anew",
			"reason", awserr.Message(failure.Err))
	}
}

// collect looks which of the groups have a load balancer and no Ingress, tells of them, and lets a pass delete one of them when it is time.
// It returns the groups of which nothing may be collected: while too many have none, those without any Ingress.
func (r *Reconciler) collect(ctx context.Context, groups []stack.Group) (kept map[stack.Group]bool, err error) {
	claims, err := r.Frontend.Claims(ctx)
	if err != nil {
		return nil, err
	}
	without := slices.DeleteFunc(slices.Clone(groups), func(group stack.Group) bool {
		_, is := claims.By[group]
		return is
	})
	var bare []orphans.Orphan
	seen := map[stack.ID]stack.Stack{}
	for _, group := range without {
		id := r.idOf(group)
		if seen[id], err = r.View.Parts(ctx, id); err != nil {
			return nil, err
		}
		if s := seen[id]; hasLoadBalancer(&s) {
			foreign := len(orphans.Foreign(group, &s)) > 0
			bare = append(bare, orphans.Orphan{ID: id, Recorded: orphans.Recorded(&s), Kept: foreign})
		}
	}
	keeper := &r.collector.keeper
	keeper.Grace, keeper.Pause = r.OrphanGrace, r.DriftInterval
	look := keeper.Look(bare, len(groups), r.Clock.Now())
	withoutIngress.Set(float64(len(bare)))
	r.collector.take(look)
	for id, at := range look.Tell {
		r.tellOrphaned(ctx, claims, stack.GroupNamed(id.Name), seen[id], at)
	}
	if look.Begins {
		ctrl.LoggerFrom(ctx).Info("Too many load balancers have no Ingress, none of them is deleted: has the API server lost its data, or is "+
			"--cluster-name that of another cluster? \"targetgate orphans\" lists them, and deletes those that you name", "without", len(bare),
			"all", len(groups))
	}
	if !look.TooMany || len(bare) <= orphans.Most { // what serves nobody need not wait for a few
		return nil, nil
	}
	kept = map[stack.Group]bool{}
	for _, group := range without {
		kept[group] = true
	}
	return kept, nil
}

// tellOrphaned tells of a load balancer that no member asks for, on the object that the front end names.
func (r *Reconciler) tellOrphaned(
	ctx context.Context, claims frontend.Claims, group stack.Group, seen stack.Stack, at time.Time,
) {
	var names []string
	for _, s := range seen.All() {
		for _, balancer := range s.LoadBalancers {
			names = append(names, balancer.Name)
		}
	}
	what := "--orphan-grace is 0, so it stays"
	switch foreign := orphans.Foreign(group, &seen); {
	case len(foreign) > 0:
		what = "it stays, as " + strings.Join(foreign, ", ") + " is not a name that targetgate gives"
	case !at.IsZero():
		what = fmt.Sprintf("it is deleted at %s, with all that was made for it", at.UTC().Format(time.RFC3339))
	}
	note := fmt.Sprintf("No Ingress asks for load balancer %s of group %s: %s. To keep it, create an Ingress of the group; to delete it now, "+
		"run targetgate orphans --delete=%s", strings.Join(names, " and "), group, what, group)
	ctrl.LoggerFrom(ctx).Info(note)
	if on := claims.About(group); on != nil {
		r.Recorder.Eventf(on, nil, corev1.EventTypeWarning, r.words().Orphan, action, "%s", note)
	}
}
