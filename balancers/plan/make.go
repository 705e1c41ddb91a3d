// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"
	"strings"

	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

// Options are what a plan depends on besides the stacks.
type Options struct {
	// Rules is the quota: how many rules a load balancer may have over all its listeners, those of default actions not counted. 0 is 100.
	Rules int
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
// Without members all is deleted; with members and without a wanted load balancer nothing is done.
//
// The order is: security groups, load balancer, target groups, bindings of those that get requests at once that are answered now, listeners
// with their rules, what nobody needs any more, tags, the other bindings, and at last what has to wait: the web ACL of a load balancer that
// is not active, the end of one that is replaced, and target groups that take over from others.
//
// While a member is held, its parts stay as they are seen; so do parts that may be its own as far as can be told, other load balancers
// than the one that has its target groups, and the scheme of that one.
func Make(wanted, seen stack.Stack, options Options) (steps.Plan, []Overflow) {
	if options.Rules == 0 {
		options.Rules = 100
	}
	p := &planner{wanted: wanted, seen: seen, options: options, deleted: map[string]bool{}}
	switch {
	case len(wanted.LoadBalancers) > 0:
		p.make()
	case len(wanted.Members) == 0:
		p.deleteAll()
	}
	return p.plan, p.overflow
}

// make plans the steps to a stack that has a load balancer.
func (p *planner) make() {
	p.findHeld()
	p.chooseLoadBalancer()
	p.matchTargetGroups()
	p.findListeners()
	p.beginRoutes()

	p.prepareSecurityGroups()
	p.prepareLoadBalancer()
	if p.balancer != nil && p.balancer.Active {
		p.guard()
	}
	p.prepareTargetGroups()
	p.rebind()
	// Readiness gates wait for the health checks of a target group only when a load balancer has it. But new rules may at once take
	// requests from others: from those of a held member, or from what is answered now.
	p.bind(func(g *targetGroup) bool { return p.anyHeld || g.atOnce })
	p.changeListeners()
	p.revoke()
	p.deleteUnused()
	p.tag()
	known := p.attachAll()
	p.bind(func(*targetGroup) bool { return true })
	if p.balancer == nil || !p.balancer.Active {
		p.guard()
	}
	p.replaceLoadBalancer()
	if p.seen.Front == nil {
		p.deleteSecurityGroups()
	}
	p.takeOver(known)
	p.changeFront()
	if p.seen.Front != nil { // what stands in front has them, too
		p.deleteSecurityGroups()
	}
}

type planner struct {
	wanted, seen stack.Stack
	options      Options
	plan         steps.Plan
	overflow     []Overflow

	held     map[string]int // by ID: the place in wanted.Members of the held member whose target group it is
	anyHeld  bool
	balancer *stack.LoadBalancer // that is seen and stays; nil when one is created
	old      []stack.LoadBalancer
	groups   []*targetGroup // wanted
	services map[string]string
	listen   []*listener
	routes   []*route
	deleted  map[string]bool // by ID: target groups
	// behind is the load balancer that is the target of all target groups; none but for what is in front of one.
	behind    stack.Ref
	behindAt  map[int32]stack.Ref // its listeners, by port
	frontDone bool                // what is in front is planned
}

func (p *planner) do(why string, change steps.Change) {
	p.plan = append(p.plan, steps.Step{Change: change, Why: why})
}

func (p *planner) doLate(why string, change steps.Change) {
	p.plan = append(p.plan, steps.Step{Change: change, Why: why, Late: true})
}

func (p *planner) doAfter(wait steps.Wait, why string, change steps.Change) {
	p.plan = append(p.plan, steps.Step{Wait: &wait, Change: change, Why: why})
}

// deleteAll begins with the load balancers: while one of them is protected, it goes on to serve. Security groups come last, as they may be
// refused for long.
func (p *planner) deleteAll() {
	const why = "no member is left"
	p.deleteFront(func(front stack.Ref) { p.do(why, steps.DeleteLoadBalancer{LoadBalancer: front}) })
	for _, balancer := range p.seen.LoadBalancers {
		p.do(why, steps.DeleteLoadBalancer{LoadBalancer: balancerRef(&balancer)})
	}
	for _, binding := range p.seen.Bindings {
		p.do(why, steps.DeleteBinding{Namespace: binding.Namespace, Name: binding.Name})
	}
	for _, group := range p.seen.TargetGroups {
		p.do(why, steps.DeleteTargetGroup{Group: seenGroup(&group)})
	}
	p.deleteSecurityGroups()
}

// findHeld finds the target groups of held members. One that a good member wants is its own; of several held members that it may belong
// to it is that with the longest name.
func (p *planner) findHeld() {
	p.held = map[string]int{}
	for _, group := range p.seen.TargetGroups {
		if p.wants(group.Part) {
			continue
		}
		longest := 0
		for i, member := range p.wanted.Members {
			prefix := member.Name + "-"
			if member.Held && strings.HasPrefix(group.Part, prefix) && len(prefix) > longest {
				p.held[group.ARN], longest = i, len(prefix)
			}
		}
	}
	p.anyHeld = slices.ContainsFunc(p.wanted.Members, func(m stack.Member) bool { return m.Held })
}

func (p *planner) wants(part string) bool {
	return slices.ContainsFunc(p.wanted.TargetGroups, func(g stack.TargetGroup) bool { return g.Part == part })
}

// isHeld says whether a target group is a held member's.
func (p *planner) isHeld(id string) bool { _, held := p.held[id]; return held }

// chooseLoadBalancer takes the seen one with the wanted scheme, by name if there are several. While a member is held it takes the one that
// has most of the held target groups, whatever its scheme.
func (p *planner) chooseLoadBalancer() {
	wanted, best := &p.wanted.LoadBalancers[0], -1
	for i := range p.seen.LoadBalancers {
		balancer := &p.seen.LoadBalancers[i]
		score := 0
		if p.anyHeld {
			score = 4 * p.heldBy(balancer.ARN)
		} else if balancer.Scheme != wanted.Scheme {
			continue
		}
		if balancer.Scheme == wanted.Scheme {
			score += 2
		}
		if balancer.Name == wanted.Name {
			score++
		}
		if score > best {
			best, p.balancer = score, balancer
		}
	}
	for _, balancer := range p.seen.LoadBalancers {
		if p.balancer == nil || balancer.ARN != p.balancer.ARN {
			p.old = append(p.old, balancer)
		}
	}
}

// heldBy is how many held target groups a load balancer has.
func (p *planner) heldBy(arn string) int {
	n := 0
	for _, group := range p.seen.TargetGroups {
		if p.isHeld(group.ARN) && slices.Contains(group.LoadBalancers, arn) {
			n++
		}
	}
	return n
}

// to is the load balancer that stays or is created.
func (p *planner) to() stack.Ref {
	if p.balancer == nil {
		return stack.Ref{Part: p.wanted.LoadBalancers[0].Part()}
	}
	return balancerRef(p.balancer)
}

func balancerRef(b *stack.LoadBalancer) stack.Ref { return stack.Ref{ID: b.ARN, Part: b.Part()} }

func seenGroup(g *stack.TargetGroup) stack.Ref { return stack.Ref{ID: g.ARN, Part: g.Part} }
