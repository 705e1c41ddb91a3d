// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"
	"strings"

	"github.com/targetgate/targetgate/balancers/plan/actions"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

// targetGroup is one that is wanted.
type targetGroup struct {
	wanted stack.TargetGroup
	seen   *stack.TargetGroup // nil when it is created
	name   string
	// before serves the same Service in its place until it is healthy; nil when nothing does, or when it serves already.
	before *stack.TargetGroup
	// fresh says that no request is sent to it or to its Service yet, and some are to be. None is of a load balancer that
	// replaces one and serves nobody yet.
	fresh bool
	// meanwhile serves, until it is healthy, requests that it is to serve; none unless it is fresh.
	meanwhile stack.Ref
	// atOnce says that it gets requests without a wait that something else answers, or may answer. Bound says that its binding is created.
	atOnce, bound bool
	// unnamed says that the quota has no room for it beside what is seen: no new rule names it until others have made room, or it serves.
	unnamed bool
	// known says that the load balancer knows it before it serves, and checks its health.
	known bool
	// elsewhere does what before does on another load balancer, which this one's replaces.
	elsewhere *stack.TargetGroup
}

// instead is what serves until it may take over; none if it need not wait.
func (g *targetGroup) instead() stack.Ref {
	if g.before != nil {
		return seenGroup(g.before)
	}
	return g.meanwhile
}

// serve has it take over: nothing serves in its place any more.
func (g *targetGroup) serve() { g.before, g.meanwhile = nil, stack.Ref{} }

func (g *targetGroup) ref() stack.Ref {
	if g.seen != nil {
		return seenGroup(g.seen)
	}
	return stack.Ref{Part: g.wanted.Part}
}

// targetGroups are those that are wanted, in their order: what routes ask of them.
type targetGroups []*targetGroup

// of is the one of a part, nil for none.
func (t targetGroups) of(part string) *targetGroup {
	if i := slices.IndexFunc(t, func(g *targetGroup) bool { return g.wanted.Part == part }); i >= 0 {
		return t[i]
	}
	return nil
}

// last is the last one to which an action sends, nil if it sends to none.
func (t targetGroups) last(action stack.Action) *targetGroup {
	for _, g := range slices.Backward(t) {
		if actions.SendsTo(action, g.ref()) {
			return g
		}
	}
	return nil
}

// resolved is an action whose target groups have the IDs of those that are seen.
func (t targetGroups) resolved(action stack.Action) stack.Action {
	if action.Forward == nil {
		return action
	}
	forward := *action.Forward
	forward.Groups = slices.Clone(forward.Groups)
	for i, weighted := range forward.Groups {
		if g := t.of(weighted.Group.Part); g != nil && weighted.Group.ID == "" {
			forward.Groups[i].Group = g.ref()
		}
	}
	action.Forward = &forward
	return action
}

// areFresh reports whether an action sends to a target group to which nothing was sent.
func (t targetGroups) areFresh(action stack.Action) bool {
	return slices.ContainsFunc(t, func(g *targetGroup) bool { return g.fresh && actions.SendsTo(action, g.ref()) })
}

// rule is what a route to final may do while others serve in the place of some of its target groups. One that now has weight 0 there
// keeps it until it takes over: so the load balancer checks its health. What serves meanwhile gets requests as it gets them from meanwhile.
func (t targetGroups) rule(final, now, meanwhile stack.Rule) stack.Rule {
	coming := t.coming(final.Action)
	if len(coming) == 0 {
		final.Action = t.action(final.Action, now.Action)
		return final
	}
	action, auth := meanwhile.Action, meanwhile.Action.Auth
	if now.Action.Forward != nil && actions.SendingKey(now.Action) == actions.SendingKey(action) {
		action = now.Action
	}
	if final.Action.Auth != nil { // nobody waits for that
		auth = final.Action.Auth
	}
	final.Action, final.Transforms = actions.Waiting(action, t.named(coming)), meanwhile.Transforms
	final.Action.Auth = auth
	return final
}

// action is what final may do while others serve the same Services.
func (t targetGroups) action(final, now stack.Action) stack.Action {
	if final.Forward == nil {
		return final
	}
	forward := stack.Forward{Sticky: final.Forward.Sticky, StickyOff: final.Forward.StickyOff}
	var waiting []stack.Ref
	for _, group := range final.Forward.Groups {
		if g := t.waiting(group.Group); g != nil && actions.SendsTo(final, group.Group) {
			group.Group = seenGroup(g.before)
			if actions.Names(now, g.ref()) {
				waiting = append(waiting, g.ref())
			}
		}
		actions.Add(&forward, group)
	}
	final.Forward = &forward
	return actions.With(final, waiting...)
}

// waiting is the target group that is named, if another serves in its place.
func (t targetGroups) waiting(group stack.Ref) *targetGroup {
	for _, g := range t {
		if g.before != nil && g.ref() == group {
			return g
		}
	}
	return nil
}

// coming are the target groups to which final sends, and which have to wait.
func (t targetGroups) coming(final stack.Action) []stack.Ref {
	var list []stack.Ref
	for _, g := range t {
		if g.meanwhile != (stack.Ref{}) && actions.SendsTo(final, g.ref()) {
			list = append(list, g.ref())
		}
	}
	return list
}

// named are those that the quota has room for.
func (t targetGroups) named(refs []stack.Ref) []stack.Ref {
	return slices.DeleteFunc(refs, func(ref stack.Ref) bool {
		return slices.ContainsFunc(t, func(g *targetGroup) bool { return g.unnamed && g.ref() == ref })
	})
}

// targetGroupSteps are the steps to target groups.
type targetGroupSteps struct {
	*view
	*draft
	groups targetGroups
}

// prepare creates what is missing, and changes health checks and attributes.
func (s targetGroupSteps) prepare() {
	for _, g := range s.groups {
		if g.seen == nil {
			s.create(g)
			s.register(g)
			continue
		}
		s.register(g)
		if g.seen.HealthCheck != g.wanted.HealthCheck {
			s.do("its health check differs", steps.SetHealthCheck{
				Group: g.ref(), Check: g.wanted.HealthCheck, ProtocolVersion: g.wanted.ProtocolVersion,
			})
		}
		if differ := differing(g.wanted.Attributes, g.wanted.Presets, g.seen.Attributes); len(differ) > 0 {
			s.do("attributes differ", steps.SetTargetGroupAttributes{Group: g.ref(), Attributes: differ})
		}
	}
}

func seenGroup(g *stack.TargetGroup) stack.Ref { return stack.Ref{ID: g.ARN, Part: g.Part} }

func (s targetGroupSteps) create(g *targetGroup) {
	group, why := g.wanted, "it does not exist"
	if group.Name = g.name; g.before != nil || g.elsewhere != nil {
		why = "it replaces one that cannot be changed"
	}
	s.do(why, steps.CreateTargetGroup{Group: group})
	if len(group.Attributes) > 0 {
		s.do(why, steps.SetTargetGroupAttributes{Group: g.ref(), Attributes: group.Attributes})
	}
}

// register makes the load balancer behind the target of a group.
func (s targetGroupSteps) register(g *targetGroup) {
	if s.behind != (stack.Ref{}) && (g.seen == nil || !s.hasTarget(g.seen, &g.wanted)) {
		s.do("the load balancer is not its target", steps.RegisterLoadBalancer{
			Group: g.ref(), Target: s.behind, Listener: s.behindAt[g.wanted.TargetPort], Port: g.wanted.TargetPort,
		})
	}
}

// differing are the attributes to be set, with presets as far as they are seen. None is when those that are seen were not read.
func differing(wanted, presets, seen map[string]string) map[string]string {
	differ := map[string]string{}
	for key, value := range wanted {
		if seen != nil && !isSame(seen[key], value) {
			differ[key] = value
		}
	}
	for key, value := range seen {
		if preset, ok := presets[key]; ok && !isSame(preset, value) {
			differ[key] = preset
		}
	}
	return differ
}

// isSame compares values of attributes. The incumbent has written a switch as the user has, such as True.
func isSame(a, b string) bool {
	return a == b || strings.EqualFold(a, b) && (strings.EqualFold(a, "true") || strings.EqualFold(a, "false"))
}
