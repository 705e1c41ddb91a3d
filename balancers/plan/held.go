// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"
	"strconv"
	"strings"

	"github.com/targetgate/targetgate/balancers/stack"
)

// keepsPort says whether a held member listens on a port, or may do so, as its ports are not known.
func (p *planner) keepsPort(port int32) bool {
	return slices.ContainsFunc(p.wanted.Members, func(m stack.Member) bool {
		return m.Held && (len(m.Ports) == 0 || slices.Contains(m.Ports, port))
	})
}

// isForHeld says whether a rule sends to a target group of a held member.
func (p *planner) isForHeld(rule *stack.Rule) bool { return rule != nil && p.heldOf(rule.Action) >= 0 }

// heldOf is the place of the held member to which an action sends, -1 for none.
func (p *planner) heldOf(action stack.Action) int {
	if action.Forward != nil {
		for _, group := range action.Forward.Groups {
			if member, held := p.held[group.Group.ID]; held {
				return member
			}
		}
	}
	return -1
}

// placeHeld puts the rules of held members where these stand among the members: before the first rule of a later member.
func (p *planner) placeHeld(l *listener, held []*stack.Rule) {
	order := map[string]int{}
	for i, member := range p.wanted.Members {
		order[member.Name] = i
	}
	member := func(at *place) int {
		if at.final.Owner == "" && at.seen != nil {
			return p.heldOf(at.final.Action)
		}
		return order[at.final.Owner]
	}
	for _, rule := range held {
		i := slices.IndexFunc(l.places, func(at *place) bool { return member(at) > p.heldOf(rule.Action) })
		if i < 0 {
			i = len(l.places)
		}
		l.places = slices.Insert(l.places, i, &place{final: *rule, seen: rule})
	}
}

// isKept says whether a rule that nobody can be named for may be a held member's. A new rule for the same requests that a good member
// wants is there in its stead.
func (p *planner) isKept(l *listener, rule *stack.Rule) bool {
	if !p.anyHeld || p.isOurs(rule.Action) {
		return false
	}
	key := conditionsKey(rule.Conditions)
	return !slices.ContainsFunc(l.places, func(at *place) bool {
		return (at.seen == nil || p.isBegun(at.seen)) && conditionsKey(at.final.Conditions) == key
	})
}

// isBegun says whether a rule was created behind all others by a pass that ended before it could move it up, to the place that its tag
// names.
func (p *planner) isBegun(rule *stack.Rule) bool {
	_, place, _ := strings.Cut(rule.Tags[p.wanted.ID.Kind.ResourceTag()], ":")
	number, err := strconv.Atoi(place)
	return err == nil && number < int(rule.Priority)
}

// isOurs says whether an action sends to a target group of the stack.
func (p *planner) isOurs(action stack.Action) bool {
	return slices.ContainsFunc(p.seen.TargetGroups, func(g stack.TargetGroup) bool {
		return action.Forward != nil && slices.ContainsFunc(action.Forward.Groups, func(w stack.Weighted) bool { return w.Group.ID == g.ARN })
	})
}

// placeBehind puts a rule behind the nearest one that is tried before it and stays.
func (l *listener) placeBehind(rule *stack.Rule, seen []*stack.Rule) {
	at, nearest := 0, int32(0)
	for _, other := range seen {
		i := slices.IndexFunc(l.places, func(p *place) bool { return p.seen == other })
		if i >= 0 && other.Priority < rule.Priority && other.Priority > nearest {
			at, nearest = i+1, other.Priority
		}
	}
	l.places = slices.Insert(l.places, at, &place{final: *rule, seen: rule})
}

// keep is a listener that nobody wants but a held member, as it is seen. Only a default action of a member that is gone goes.
func (p *planner) keep(seen stack.Listener) stack.Listener {
	seen.Rules, seen.Tags, seen.Attributes = nil, nil, nil
	if p.behind == (stack.Ref{}) && p.isOurs(seen.Default) && p.heldOf(seen.Default) < 0 {
		seen.Default = notFound
	}
	return seen
}

// notFound is the default action of a listener for which no member wants another.
var notFound = stack.Action{Fixed: &stack.FixedResponse{Status: "404", ContentType: "text/plain"}}

// holdBack leaves to held members the certificates and the default action that may be theirs.
func (p *planner) holdBack(wanted stack.Listener, seen *stack.Listener) stack.Listener {
	if !p.anyHeld {
		return wanted
	}
	if p.heldOf(seen.Default) >= 0 || !p.isOurs(seen.Default) {
		if actionKey(wanted.Default, byID) == actionKey(notFound, byID) {
			wanted.Default = seen.Default
		}
	}
	if wanted.Protocol != "HTTPS" || seen.Protocol != "HTTPS" {
		return wanted
	}
	all := slices.Clone(seen.Certificates)
	for _, certificate := range wanted.Certificates {
		if !slices.Contains(all, certificate) {
			all = append(all, certificate)
		}
	}
	wanted.Certificates = all
	return wanted
}
