// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package actions

import (
	"slices"

	"github.com/targetgate/targetgate/balancers/stack"
)

// Most is how many target groups an action may name.
const Most = 5

// Names reports whether an action names a target group, with whatever weight.
func Names(action stack.Action, group stack.Ref) bool {
	same := func(w stack.Weighted) bool { return ID(w.Group) == ID(group) }
	return action.Forward != nil && slices.ContainsFunc(action.Forward.Groups, same)
}

// SendsTo reports whether an action sends requests to a target group: it has a weight, or is the only one.
func SendsTo(action stack.Action, group stack.Ref) bool {
	if action.Forward == nil {
		return false
	}
	sends := func(w stack.Weighted) bool {
		return ID(w.Group) == ID(group) && (w.Weight > 0 || len(action.Forward.Groups) == 1)
	}
	return slices.ContainsFunc(action.Forward.Groups, sends)
}

// AnySendsTo reports whether any rule or default action of a load balancer sends requests to a target group.
func AnySendsTo(balancer *stack.LoadBalancer, group stack.Ref) bool {
	return slices.ContainsFunc(balancer.Listeners, func(l stack.Listener) bool {
		return SendsTo(l.Default, group) || slices.ContainsFunc(l.Rules, func(r stack.Rule) bool { return SendsTo(r.Action, group) })
	})
}

// Receivers are the target groups to which an action sends requests.
func Receivers(action stack.Action) []stack.Ref {
	var list []stack.Ref
	if action.Forward != nil {
		for _, w := range action.Forward.Groups {
			if SendsTo(action, w.Group) {
				list = append(list, w.Group)
			}
		}
	}
	return list
}

// With is a forward that also names target groups, to which it sends nothing.
func With(action stack.Action, groups ...stack.Ref) stack.Action {
	forward := *action.Forward
	forward.Groups = slices.Clone(forward.Groups)
	if len(forward.Groups) == 1 && len(groups) > 0 {
		forward.Groups[0].Weight = max(1, forward.Groups[0].Weight)
	}
	for _, group := range groups {
		forward.Groups = append(forward.Groups, stack.Weighted{Group: group})
	}
	action.Forward = &forward
	return action
}

// Waiting is what is done in place of an action that waits for target groups, when meanwhile is what may be done: the load balancer gets to
// know them, and it is seen whose the rule is. Without anything that may be done, it is the answer of a load balancer without a healthy
// target.
func Waiting(meanwhile stack.Action, groups []stack.Ref) stack.Action {
	switch {
	case meanwhile.Forward != nil:
		groups = slices.DeleteFunc(groups, func(g stack.Ref) bool { return Names(meanwhile, g) })
		return With(meanwhile, groups[:max(0, min(len(groups), Most-len(meanwhile.Forward.Groups)))]...)
	case meanwhile.Fixed != nil || meanwhile.Redirect != nil:
		return meanwhile
	}
	return stack.Action{Fixed: &stack.FixedResponse{Status: "503", ContentType: "text/plain"}}
}

// WithSecret is an action with the secret of the client at which users log in, as a wanted load balancer has it. It is false if that has no
// such client.
func WithSecret(action stack.Action, wanted *stack.LoadBalancer) (stack.Action, bool) {
	if action.Auth == nil || action.Auth.OIDC == nil {
		return action, true
	}
	for _, l := range wanted.Listeners {
		for _, rule := range append([]stack.Rule{{Action: l.Default}}, l.Rules...) {
			auth := rule.Action.Auth
			if auth != nil && auth.OIDC != nil && auth.OIDC.Secret != "" && authKey(auth) == authKey(action.Auth) {
				action.Auth = auth
				return action, true
			}
		}
	}
	return action, false
}

// Add has a forward send more to a target group.
func Add(forward *stack.Forward, more stack.Weighted) {
	for i, other := range forward.Groups {
		if ID(other.Group) == ID(more.Group) {
			forward.Groups[i].Weight += more.Weight
			return
		}
	}
	forward.Groups = append(forward.Groups, more)
}

// Named are target groups that are named, by their IDs.
type Named map[string]bool

// Add adds those of an action.
func (n Named) Add(action stack.Action) {
	if action.Forward != nil {
		for _, w := range action.Forward.Groups {
			n[ID(w.Group)] = true
		}
	}
}

// AddAll adds those of a listener.
func (n Named) AddAll(l *stack.Listener) {
	n.Add(l.Default)
	for _, rule := range l.Rules {
		n.Add(rule.Action)
	}
}
