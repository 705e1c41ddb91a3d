// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"
	"strconv"
	"strings"

	"github.com/targetgate/targetgate/balancers/plan/actions"
	"github.com/targetgate/targetgate/balancers/stack"
)

// held is what stays as it is seen, while members are held.
type held struct {
	any     bool // a member is held
	members []stack.Member
	groups  map[string]int // by ARN: the place in members of the held one whose target group it is
}

// findHeld finds the target groups that are, or may be, those of held members. One that a good member wants is its own; of several held
// members that it may belong to it is that with the longest name.
func findHeld(wanted, seen *stack.Stack) held {
	h := held{members: wanted.Members, groups: map[string]int{}}
	for _, group := range seen.TargetGroups {
		if slices.ContainsFunc(wanted.TargetGroups, func(g stack.TargetGroup) bool { return g.Part == group.Part }) {
			continue
		}
		longest := 0
		for i, member := range h.members {
			if n := len(member.Name); member.Held && n > longest && MayBeOf(&group, member.Name, seen.Bindings) {
				h.groups[group.ARN], longest = i, n
			}
		}
	}
	h.any = slices.ContainsFunc(h.members, func(m stack.Member) bool { return m.Held })
	return h
}

// MayBeOf reports whether a target group is a member's. Its part is the names of the member and of the Service, joined by a hyphen, and
// either name may have hyphens. The binding names the Service. Without one, it may be that of each member whose name its part begins with.
func MayBeOf(group *stack.TargetGroup, member string, bindings []stack.Binding) bool {
	if !strings.HasPrefix(group.Part, member+"-") {
		return false
	}
	names, isOthers := group.Part[:max(0, strings.LastIndex(group.Part, ":"))], false
	for _, binding := range bindings {
		namespace, _, _ := strings.Cut(group.Part, "/")
		if binding.Group.ID != group.ARN || binding.Namespace != namespace || !strings.HasSuffix(names, "-"+binding.Spec.Service) {
			continue // it does not tell
		}
		if names == member+"-"+binding.Spec.Service {
			return true
		}
		isOthers = true
	}
	return !isOthers
}

// isOfMember reports whether a target group is one of a member's that has not left.
func (v *view) isOfMember(group *stack.TargetGroup) bool {
	return slices.ContainsFunc(v.wanted.Members, func(m stack.Member) bool { return MayBeOf(group, m.Name, v.seen.Bindings) })
}

// maySendOn reports whether others than its owner may use the action for a while: it sends requests to target groups of good members alone.
func (v *view) maySendOn(action stack.Action) bool {
	sent := false
	for _, w := range action.Forward.Groups {
		i := slices.IndexFunc(v.seen.TargetGroups, func(g stack.TargetGroup) bool { return g.ARN == w.Group.ID })
		if i < 0 || v.held.has(w.Group.ID) || !v.isOfMember(&v.seen.TargetGroups[i]) {
			return false
		}
		sent = sent || actions.SendsTo(action, w.Group)
	}
	return sent
}

// has reports whether a target group is a held member's.
func (h held) has(arn string) bool { _, held := h.groups[arn]; return held }

// count is how many held target groups a load balancer has.
func (h held) count(groups []stack.TargetGroup, balancer string) int {
	n := 0
	for _, group := range groups {
		if h.has(group.ARN) && slices.Contains(group.LoadBalancers, balancer) {
			n++
		}
	}
	return n
}

// keepsPort reports whether a held member listens on a port, or may do so, as its ports are not known.
func (h held) keepsPort(port int32) bool {
	return slices.ContainsFunc(h.members, func(m stack.Member) bool { return mayListen(m, port) })
}

func mayListen(m stack.Member, port int32) bool {
	return m.Held && (len(m.Ports) == 0 || slices.Contains(m.Ports, port))
}

// mayHave reports whether a rule for which nobody can be named may be a held member's, by its port and its hosts.
func (h held) mayHave(port int32, rule *stack.Rule) bool {
	hosts, known := hostsOf(rule)
	return slices.ContainsFunc(h.members, func(m stack.Member) bool {
		isFor := func(host string) bool { return slices.Contains(m.Hosts, host) }
		return mayListen(m, port) && (!known || len(m.Hosts) == 0 || slices.ContainsFunc(hosts, isFor))
	})
}

// hostsOf are the hosts that a rule is for, "" for any. Those of regular expressions are not known.
func hostsOf(rule *stack.Rule) (hosts []string, known bool) {
	for _, condition := range rule.Conditions {
		if condition.Field == "host-header" {
			return condition.Values, len(condition.Regex) == 0
		}
	}
	return []string{""}, true
}

// hasRule reports whether a rule sends to a target group of a held member.
func (h held) hasRule(rule *stack.Rule) bool { return rule != nil && h.of(rule.Action) >= 0 }

// of is the place of the held member to which an action sends, -1 for none.
func (h held) of(action stack.Action) int {
	if action.Forward != nil {
		for _, group := range action.Forward.Groups {
			if member, held := h.groups[group.Group.ID]; held {
				return member
			}
		}
	}
	return -1
}

// place puts the rules of held members where these stand among the members: before the first rule of a later member.
func (h held) place(l *listener, rules []*stack.Rule) {
	order := map[string]int{}
	for i, member := range h.members {
		order[member.Name] = i
	}
	member := func(at *place) int {
		if at.final.Owner == "" && at.seen != nil {
			return h.of(at.final.Action)
		}
		return order[at.final.Owner]
	}
	for _, rule := range rules {
		i := slices.IndexFunc(l.places, func(at *place) bool { return member(at) > h.of(rule.Action) })
		if i < 0 {
			i = len(l.places)
		}
		l.places = slices.Insert(l.places, i, &place{final: *rule, seen: rule})
	}
}

// isKept reports whether a rule that nobody can be named for may be a held member's. A new rule for the same requests that a good member
// wants is there in its stead.
func (m *matcher) isKept(l *listener, rule *stack.Rule) bool {
	if !m.held.mayHave(l.seen.Port, rule) || m.isOurs(rule.Action) {
		return false
	}
	key := actions.ConditionsKey(rule.Conditions)
	return !slices.ContainsFunc(l.places, func(at *place) bool {
		return (at.seen == nil || m.isBegun(at.seen)) && actions.ConditionsKey(at.final.Conditions) == key
	})
}

// isBegun reports whether a rule was created behind all others by a pass that ended before it could move it up, to the place that its tag
// names.
func (m *matcher) isBegun(rule *stack.Rule) bool {
	_, place, _ := strings.Cut(rule.Tags[m.wanted.ID.Kind.ResourceTag()], ":")
	number, err := strconv.Atoi(place)
	return err == nil && number < int(rule.Priority)
}

// isOurs reports whether an action sends to a target group of the stack.
func (m *matcher) isOurs(action stack.Action) bool {
	return slices.ContainsFunc(m.seen.TargetGroups, func(g stack.TargetGroup) bool {
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
func (m *matcher) keep(seen stack.Listener) stack.Listener {
	seen.Rules, seen.Tags, seen.Attributes = nil, nil, nil
	if m.behind == (stack.Ref{}) && m.isOurs(seen.Default) && m.held.of(seen.Default) < 0 {
		seen.Default = notFound
	}
	return seen
}

// notFound is the default action of a listener for which no member wants another.
var notFound = stack.Action{Fixed: &stack.FixedResponse{Status: "404", ContentType: "text/plain"}}

// holdBack leaves to held members the default action that may be theirs, if the listener is seen. Their certificates are in what is wanted.
func (m *matcher) holdBack(wanted stack.Listener, seen *stack.Listener) stack.Listener {
	if seen == nil || !actions.Same(wanted.Default, notFound) {
		return wanted
	}
	if m.held.of(seen.Default) >= 0 || m.held.keepsPort(seen.Port) && !m.isOurs(seen.Default) {
		wanted.Default = seen.Default
	}
	return wanted
}
