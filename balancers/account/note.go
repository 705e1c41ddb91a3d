// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package account

import (
	"cmp"
	"maps"
	"slices"

	"github.com/targetgate/targetgate/balancers/apply"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

// Note takes in a change that was made, with the IDs of all its references, and what it has made. A change that the view does not
// understand has the stack read again.
func (v *View) Note(id stack.ID, change steps.Change, done apply.Made) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.tick++
	e := v.entries[id]
	if e == nil {
		e = &entry{seen: stack.Stack{ID: id}, detailed: true, looked: v.Clock.Now()}
		if id.Name != "" { // else it is of no stack, as the security group that all share
			v.entries = put(v.entries, id, e)
		}
	}
	e.changed = v.tick
	for _, s := range concerned(&e.seen, change) {
		n := noting{View: v, seen: s, entry: e, done: done}
		if !n.securityGroup(change) && !n.targetGroup(change) && !n.loadBalancer(change) && !n.listener(change) && !n.rule(change) {
			n.tags(change)
		}
		n.attach()
	}
}

// concerned are the stacks that a change may be of. Only what is made must not be noted in both: by its ID all else is found in one.
func concerned(s *stack.Stack, change steps.Change) []*stack.Stack {
	switch c := change.(type) {
	case steps.CreateLoadBalancer:
		return []*stack.Stack{with(s, c.LoadBalancer.Network)}
	case steps.CreateTargetGroup:
		return []*stack.Stack{with(s, stack.IsFrontGroup(c.Group.Part))}
	case steps.CreateSecurityGroup:
		return []*stack.Stack{s}
	}
	return s.All()
}

// noting is a change being taken in, of one stack. The caller holds the lock.
type noting struct {
	*View
	*entry
	seen *stack.Stack
	done apply.Made
}

// create takes note of what was made with its tags, and is listed by sweeps.
func (n *noting) create(tags map[string]string) {
	n.makes(maps.Clone(tags))
	n.View.tags = put(n.View.tags, n.done.ID, maps.Clone(tags))
}

// makes takes note of what was made.
func (n *noting) makes(tags map[string]string) {
	n.made = put(n.made, n.done.ID, made{tags: tags, at: n.Clock.Now()})
}

func (n *noting) remove(id string) {
	n.gone = put(n.gone, id, n.Clock.Now())
	delete(n.made, id)
}

// put sets a key of a map that may be nil.
func put[K comparable, V any](to map[K]V, key K, value V) map[K]V {
	if to == nil {
		to = map[K]V{}
	}
	to[key] = value
	return to
}

// merge sets keys of attributes that are known.
func merge(to, from map[string]string) {
	if to != nil {
		maps.Copy(to, from)
	}
}

func (n *noting) securityGroup(change steps.Change) bool {
	switch c := change.(type) {
	case steps.CreateSecurityGroup:
		group := copyOf(c.Group)
		group.ID, group.Name, group.Inbound = n.done.ID, cmp.Or(n.done.Name, group.Name), nil
		n.create(group.Tags)
		if group.Shared {
			n.shared = append(n.shared, group)
		} else {
			n.seen.SecurityGroups = append(n.seen.SecurityGroups, group)
		}
	case steps.Authorize:
		if g := n.findSecurityGroup(c.Group.ID); g != nil {
			for _, rule := range c.Rules {
				if !slices.Contains(g.Inbound, rule) {
					g.Inbound = append(g.Inbound, rule)
				}
			}
		}
	case steps.Revoke:
		if g := n.findSecurityGroup(c.Group.ID); g != nil {
			g.Inbound = slices.DeleteFunc(g.Inbound, func(rule stack.Inbound) bool { return slices.Contains(c.Rules, rule) })
		}
	case steps.DeleteSecurityGroup:
		n.remove(c.Group.ID)
		is := func(g stack.SecurityGroup) bool { return g.ID == c.Group.ID }
		n.seen.SecurityGroups = slices.DeleteFunc(n.seen.SecurityGroups, is)
		n.shared = slices.DeleteFunc(n.shared, is)
	default:
		return false
	}
	return true
}

func (n *noting) findSecurityGroup(id string) *stack.SecurityGroup {
	for _, groups := range [][]stack.SecurityGroup{n.seen.SecurityGroups, n.shared} {
		for i := range groups {
			if groups[i].ID == id {
				return &groups[i]
			}
		}
	}
	return nil
}

func (n *noting) targetGroup(change steps.Change) bool {
	switch c := change.(type) {
	case steps.CreateTargetGroup:
		group := copyOf(c.Group)
		group.ARN, group.Owner, group.SpareName = n.done.ID, "", ""
		group.LoadBalancers, group.Attributes, group.Target, group.TargetPort = nil, map[string]string{}, stack.Ref{}, 0
		n.create(group.Tags)
		n.seen.TargetGroups = append(n.seen.TargetGroups, group)
	case steps.SetHealthCheck:
		if g := n.findTargetGroup(c.Group.ID); g != nil {
			g.HealthCheck = c.Check
		}
	case steps.SetTargetGroupAttributes:
		if g := n.findTargetGroup(c.Group.ID); g != nil {
			merge(g.Attributes, c.Attributes)
		}
	case steps.RegisterLoadBalancer:
		if g := n.findTargetGroup(c.Group.ID); g != nil {
			g.Target, g.TargetPort = stack.Ref{ID: c.Target.ID}, c.Port
		}
	case steps.DeleteTargetGroup:
		n.remove(c.Group.ID)
		n.seen.TargetGroups = slices.DeleteFunc(n.seen.TargetGroups, func(g stack.TargetGroup) bool { return g.ARN == c.Group.ID })
	default:
		return false
	}
	return true
}

func (n *noting) findTargetGroup(arn string) *stack.TargetGroup {
	for i := range n.seen.TargetGroups {
		if n.seen.TargetGroups[i].ARN == arn {
			return &n.seen.TargetGroups[i]
		}
	}
	return nil
}

// tags takes in changes of tags, of any part.
func (n *noting) tags(change steps.Change) {
	switch c := change.(type) {
	case steps.Tag:
		if tags := n.findTags(c.Of.ID); tags != nil {
			*tags = maps.Clone(*tags)
			for key, value := range c.Tags {
				*tags = put(*tags, key, value)
			}
		}
	case steps.Untag:
		if tags := n.findTags(c.Of.ID); tags != nil {
			*tags = maps.Clone(*tags)
			maps.DeleteFunc(*tags, func(key, _ string) bool { return slices.Contains(c.Keys, key) })
		}
	}
}

func (n *noting) findTags(id string) *map[string]string {
	if g := n.findSecurityGroup(id); g != nil {
		return &g.Tags
	}
	if g := n.findTargetGroup(id); g != nil {
		return &g.Tags
	}
	if b := n.findLoadBalancer(id); b != nil {
		return &b.Tags
	}
	if l := n.findListener(id); l != nil {
		return &l.Tags
	}
	if l, i := n.findRule(id); l != nil {
		return &l.Rules[i].Tags
	}
	return nil
}
