// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"slices"

	"github.com/targetgate/targetgate/balancers/plan/actions"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

// Options are what a plan depends on besides the stacks.
type Options struct {
	// Rules is the quota: how many rules a load balancer may have over all its listeners, those of default actions not counted. 0 is 100.
	Rules int
	// Certificates is the quota: how many certificates a load balancer may have over all its listeners, the default ones not counted but where
	// they are in the list for SNI, too. 0 is 25.
	Certificates int
	// TargetGroups is the quota: how many target groups the listeners and rules of a load balancer may name. 0 is 100.
	TargetGroups int
	// FrontTargets is the quota: how many targets a Network Load Balancer may have in a zone. 0 is 500.
	FrontTargets int
	// KeepTag says which keys of tags are not ours to remove, besides AWS's own and the incumbent's former ones; nil for none.
	KeepTag func(key string) bool
}

// Overflow is a rule that is wanted and not planned because of the quota. The listener does not have it when all steps are done.
type Overflow struct {
	Port int32
	Rule stack.Rule
}

// Make plans how what is seen becomes what is wanted. When no step waits and all are done, it plans nothing more. What is wanted must name
// its parts by Ref.Part, or by Ref.ID when they are not the stack's. Attributes that are nil because they are not read are left alone.
// Without members all is deleted. With members and without a wanted load balancer all are held, and what others have left is deleted.
//
// The order is: security groups, bindings that change, load balancer, target groups, bindings of those that get requests at once that are
// answered now, listeners with their rules, what nobody needs any more, tags, the other bindings, and at last what has to wait: the web ACL
// of a load balancer that is not active, the end of one that is replaced, target groups that take over from others, and the end of security
// groups on the load balancer until targets let in those that it keeps. While bindings go over from one to another, it has both.
//
// While a member is held, its parts stay as they are seen; so do parts that may be its own as far as can be told, other load balancers
// than the one that has its target groups, and the scheme of that one.
func Make(wanted, seen stack.Stack, options Options) (steps.Plan, []Overflow) {
	options.Rules, options.Certificates = cmp.Or(options.Rules, 100), cmp.Or(options.Certificates, 25)
	options.TargetGroups, options.FrontTargets = cmp.Or(options.TargetGroups, 100), cmp.Or(options.FrontTargets, 500)
	v, d := look(wanted, seen, options), &draft{deleted: map[string]bool{}}
	switch {
	case len(wanted.LoadBalancers) > 0:
		p := newPlanner(v, d)
		p.make()
		return d.plan, p.listeners.overflow
	case len(wanted.Members) == 0:
		deleteAll(v, d)
	default:
		deleteLeft(v, d)
	}
	return d.plan, nil
}

// draft is the plan so far.
type draft struct {
	plan    steps.Plan
	deleted map[string]bool // by ARN: target groups, also those in front
}

func (d *draft) do(why string, change steps.Change) {
	d.plan = append(d.plan, steps.Step{Change: change, Why: why})
}

func (d *draft) doLate(why string, change steps.Change) {
	d.plan = append(d.plan, steps.Step{Change: change, Why: why, Late: true})
}

func (d *draft) doAfter(wait steps.Wait, why string, change steps.Change) {
	d.plan = append(d.plan, steps.Step{Wait: &wait, Change: change, Why: why})
}

// awaitEnd has what follows depend on the end of these load balancers.
func (d *draft) awaitEnd(why string, balancers []stack.LoadBalancer) {
	for _, balancer := range balancers {
		d.doAfter(steps.Wait{Gone: balancerRef(&balancer)}, why, steps.Nothing{})
	}
}

// beginAnew has the step at that place depend on no wait before it, if there is one.
func (d *draft) beginAnew(at int) {
	if len(d.plan) > at {
		d.plan[at].Anew = true
	}
}

// comeAfterAll has the step at that place depend on each wait before it, if there is one.
func (d *draft) comeAfterAll(at int) {
	if len(d.plan) > at {
		d.plan[at].AfterAll = true
	}
}

// planner puts the steps to the parts of one stack in their order, and plans what concerns several kinds of parts.
type planner struct {
	*view
	*draft
	groups         targetGroups
	securityGroups securityGroupSteps
	loadBalancer   loadBalancerSteps
	targetGroups   targetGroupSteps
	bindings       bindingSteps
	listeners      *listenerSteps
	routes         *routes
	left           map[string]bool // by ARN: load balancers that are deleted once another has replaced them
	frontDone      bool            // what is in front is planned
}

func newPlanner(v *view, d *draft) *planner {
	m := &matcher{view: v}
	m.matchTargetGroups()
	list := m.matchListeners()
	beginRoutes(m, list)
	p := &planner{
		view: v, draft: d, groups: m.groups, left: map[string]bool{},
		securityGroups: securityGroupSteps{v, d}, loadBalancer: loadBalancerSteps{v, d}, targetGroups: targetGroupSteps{v, d, m.groups},
		bindings: bindingSteps{v, d, m.groups}, routes: &routes{draft: d, groups: m.groups, listeners: list, most: v.mostGroups()},
	}
	p.listeners = &listenerSteps{view: v, draft: d, list: list, routes: p.routes, rules: ruleSteps{d, v.wanted.ID.Kind}}
	return p
}

// make plans the steps to a stack that has a load balancer.
func (p *planner) make() {
	p.securityGroups.prepare()
	access := newExchange(p.bindings)
	access.begin()
	p.loadBalancer.prepare()
	if p.isActive() {
		p.loadBalancer.guard()
	}
	p.targetGroups.prepare()
	// Readiness gates wait for the health checks of a target group only when a load balancer has it. But new rules may at once take
	// requests from others: from those of a held member, or from what is answered now.
	p.bindings.create(func(g *targetGroup) bool { return p.held.any || g.atOnce })
	p.listeners.change()
	p.securityGroups.revoke()
	p.deleteUnused()
	p.tag()
	p.routes.attachAll()
	p.bindings.create(func(*targetGroup) bool { return true })
	if !p.isActive() {
		p.loadBalancer.guard()
	}
	if p.behind != (stack.Ref{}) { // of one in front, no target group has to wait for pods
		p.takeOver()
	}
	p.replaceLoadBalancer()
	inUse := p.seen.Front != nil || access.wait != nil // what stands in front has security groups, too
	if !inUse {
		p.securityGroups.delete()
	}
	p.takeOver()
	p.changeFront()
	if last := len(p.plan); access.wait != nil {
		access.finish()
		p.beginAnew(last)
	}
	if last := len(p.plan); inUse {
		p.securityGroups.delete()
		p.comeAfterAll(last)
	}
}

// deleteAll begins with the load balancers: one that is protected, or in use by something else, goes on to serve with all that is there.
// Security groups come last, as they may be refused for long.
func deleteAll(v *view, d *draft) {
	const why = "no member is left"
	d.deleteFront(v.seen.Front, func(front stack.Ref) { d.do(why, steps.DeleteLoadBalancer{LoadBalancer: front}) })
	for _, balancer := range v.seen.LoadBalancers {
		d.do(why, steps.DeleteLoadBalancer{LoadBalancer: balancerRef(&balancer)})
	}
	d.awaitEnd(why, v.seen.LoadBalancers)
	for _, binding := range v.seen.Bindings {
		d.do(why, steps.DeleteBinding{Namespace: binding.Namespace, Name: binding.Name})
	}
	for _, group := range v.seen.TargetGroups {
		d.do(why, steps.DeleteTargetGroup{Group: seenGroup(&group)})
	}
	securityGroupSteps{v, d}.delete()
}

// deleteLeft deletes what serves and is not, nor may be, of the members, which are all held: rules, then target groups that nothing names
// any more. Default actions of others go, too. What sends to no target group of the stack stays: it may be that of a held member, whose
// hosts or ports have changed. All else is left to the next plan for a good member.
func deleteLeft(v *view, d *draft) {
	m := &matcher{view: v}
	var all []*listener
	for _, balancer := range v.seen.LoadBalancers {
		for i := range balancer.Listeners {
			seen := &balancer.Listeners[i]
			l := m.matchListener(m.keep(*seen), seen)
			l.surplus = slices.DeleteFunc(l.surplus, func(rule *stack.Rule) bool { return !m.isOurs(rule.Action) })
			ruleSteps{d, v.wanted.ID.Kind}.delete(l)
			if !actions.Same(l.wanted.Default, seen.Default) {
				d.do("its default action differs", steps.ModifyListener{Listener: l.ref(), To: l.wanted})
			}
			all = append(all, l)
		}
	}
	for _, group := range v.seen.TargetGroups {
		ref := seenGroup(&group)
		isStaying := func(p *place) bool { return actions.Names(p.final.Action, ref) }
		isNamed := func(l *listener) bool {
			return actions.Names(l.wanted.Default, ref) || slices.ContainsFunc(l.places, isStaying)
		}
		isSeen := func(arn string) bool {
			return slices.ContainsFunc(v.seen.LoadBalancers, func(b stack.LoadBalancer) bool { return b.ARN == arn })
		}
		isElsewhere := slices.ContainsFunc(group.LoadBalancers, func(arn string) bool { return !isSeen(arn) })
		if !v.held.has(group.ARN) && !isElsewhere && !slices.ContainsFunc(all, isNamed) {
			bindingSteps{view: v, draft: d}.delete(group.ARN)
			d.do("no member wants it", steps.DeleteTargetGroup{Group: ref})
		}
	}
}
