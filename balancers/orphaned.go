// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package balancers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/targetgate/targetgate/aws/awserr"
	"github.com/targetgate/targetgate/balancers/frontend"
	"github.com/targetgate/targetgate/balancers/orphans"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

// Orphan is a group with a load balancer to which no Ingress belongs.
type Orphan struct {
	Group         stack.Group
	LoadBalancers []string // names
	// Since is when it lost its Ingresses, as far as a controller has seen; zero for not known.
	Since time.Time
	// Due is when the controller deletes it at the earliest, zero if it does not or that is not known.
	Due time.Time
	// Kept is why the controller does not delete it, "" if it does. Refused is why it cannot be deleted on request either.
	Kept, Refused string
	// Plan is what goes with it.
	Plan steps.Plan
}

// Orphans are the groups with a load balancer to which no Ingress belongs, in the order of their names. It writes nothing.
func (r *Reconciler) Orphans(ctx context.Context) (out []Orphan, err error) {
	ids, err := r.Stacks.Stacks(ctx)
	if err != nil {
		return nil, err
	}
	claims, err := r.Frontend.Claims(ctx)
	if err != nil {
		return nil, err
	}
	groups, counted := r.groupsNamed(ids), 0
	for _, group := range groups {
		if claims.Owned[group] {
			continue
		}
		seen, err := r.View.Parts(ctx, r.idOf(group))
		switch by, isClaimed := claims.By[group]; {
		case err != nil:
			return nil, err
		case hasLoadBalancer(&seen):
			out = append(out, r.orphanOf(group, &seen, by))
			if !isClaimed {
				counted++
			}
		}
	}
	slices.SortFunc(out, func(a, b Orphan) int { return cmp.Compare(a.Group.String(), b.Group.String()) })
	for i := range out {
		if err := r.judge(ctx, &out[i], counted, len(groups)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// orphanOf is what is seen of a group, as far as the number of the others does not count. By is who claims it, empty for nobody.
func (r *Reconciler) orphanOf(group stack.Group, seen *stack.Stack, by frontend.Claim) Orphan {
	o := Orphan{Group: group, LoadBalancers: namesOf(seen), Since: orphans.Recorded(seen), Refused: r.foreign(group, seen)}
	switch {
	case by.By == "":
	case by.Reserves:
		o.Kept = by.By + " name its group"
	default:
		o.Refused = by.By + " names its group: another controller may be at work"
	}
	return o
}

func namesOf(seen *stack.Stack) (names []string) {
	for _, s := range seen.All() {
		for _, balancer := range s.LoadBalancers {
			names = append(names, balancer.Name)
		}
	}
	return names
}

// foreign says that a load balancer of the group has no name of ours, "" if all have.
func (r *Reconciler) foreign(group stack.Group, seen *stack.Stack) string {
	if names := orphans.Foreign(group, seen); len(names) > 0 {
		return strings.Join(names, ", ") + " is not a name that targetgate gives: delete it in AWS"
	}
	return ""
}

// judge says what becomes of an orphan.
func (r *Reconciler) judge(ctx context.Context, o *Orphan, without, all int) (err error) {
	switch {
	case o.Refused != "":
		o.Kept = o.Refused
		return nil
	case o.Kept != "":
	case r.OrphanGrace == 0:
		o.Kept = "--orphan-grace is 0"
	case orphans.IsTooMany(without, all):
		o.Kept = fmt.Sprintf("%d of %d load balancers have no Ingress: has the API server lost its data, or is --cluster-name that of another "+
			"cluster?", without, all)
	case !o.Since.IsZero():
		o.Due = o.Since.Add(r.OrphanGrace)
	}
	p := r.newPass(o.Group)
	p.requested = true
	o.Plan, err = p.removal(ctx)
	return err
}

// removal are the steps that delete what was made for a group without Ingresses.
func (p *pass) removal(ctx context.Context) (steps.Plan, error) {
	var err error
	if err = p.load(ctx); err != nil {
		return nil, err
	}
	if !p.isEmpty() || p.members.Mentioned {
		return nil, fmt.Errorf("an Ingress belongs to group %s or names it", p.group)
	}
	planned, err := p.propose(ctx)
	if err == nil && p.isOrphaned() {
		err = errors.New(p.foreign(p.group, &p.seen))
	}
	return planned, err
}

// Removal is what one pass of Remove has done, as text.
type Removal struct {
	Done, Waits []string
	// Again is when the next pass may do more; 0 when nothing is left.
	Again time.Duration
}

// Remove makes one pass that deletes what was made for a group without Ingresses, because a user asks for that: also before its time, and
// where too many have none. The rules of Orphan.Refused hold. What was done before an error is in the answer.
func (r *Reconciler) Remove(ctx context.Context, group stack.Group) (out Removal, err error) {
	p := r.newPass(group)
	p.requested = true
	if p.steps, err = p.removal(ctx); err != nil || len(p.steps) == 0 {
		return out, err
	}
	p.apply(ctx)
	for _, step := range p.result.Done {
		out.Done = append(out.Done, step.String())
	}
	for _, later := range p.result.Later {
		out.Waits = append(out.Waits, fmt.Sprintf("%s: %s", steps.Step{Change: later.Step.Change}, awserr.Message(later.Err)))
	}
	for _, wait := range p.result.Waits {
		out.Waits = append(out.Waits, wait.String())
	}
	for _, failure := range p.result.Failures {
		err = errors.Join(err, fmt.Errorf("%s: %s", steps.Step{Change: failure.Step.Change}, awserr.Message(failure.Err)))
	}
	out.Again = cmp.Or(p.result.Again, lingerPause)
	return out, err
}
