// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"fmt"
	"slices"

	"github.com/targetgate/targetgate/balancers/stack"
)

// CreateRule makes one with its tags, at the priority of Rule. Part is how later steps name it.
type CreateRule struct {
	Listener stack.Ref
	Rule     stack.Rule
	Part     string
}

func (c CreateRule) Text() string         { return "create rule " + c.Part + ": " + RuleText(c.Rule) }
func (CreateRule) Effect() Effect         { return Makes }
func (c CreateRule) listener() string     { return c.Listener.ID }
func (c CreateRule) action() stack.Action { return c.Rule.Action }

func (c CreateRule) created() (string, map[string]string) { return c.Part, nil }

func (c CreateRule) On(seen *stack.Stack, made Made) {
	onListener(seen, c.Listener, func(l *stack.Listener) {
		r := stack.Copy(c.Rule)
		r.ARN, r.Owner, r.Action = made.ID, "", seenAction(r.Action)
		l.Rules = append(slices.Clip(l.Rules), r)
		l.SortRules()
	})
}

// ModifyRule replaces conditions and action.
type ModifyRule struct {
	Rule stack.Ref
	To   stack.Rule
}

func (c ModifyRule) Text() string         { return "change rule " + c.Rule.Part + ": " + RuleText(c.To) }
func (ModifyRule) Effect() Effect         { return Moves }
func (c ModifyRule) listener() string     { return c.Rule.ID }
func (c ModifyRule) action() stack.Action { return c.To.Action }
func (ModifyRule) reroutes()              {}

func (c ModifyRule) On(seen *stack.Stack, _ Made) {
	if r := seen.Rule(c.Rule.ID); r != nil {
		to := stack.Copy(c.To)
		r.Conditions, r.Action, r.Transforms = to.Conditions, seenAction(to.Action), to.Transforms
	}
}

// SetPriorities moves rules of one listener, all at once.
type SetPriorities struct {
	Listener   stack.Ref
	Priorities []RulePriority
}

// RulePriority is a rule's new priority.
type RulePriority struct {
	Rule     stack.Ref
	Priority int32
}

func (c SetPriorities) Text() string {
	if len(c.Priorities) == 1 {
		return "move 1 rule of listener " + c.Listener.Part
	}
	return fmt.Sprintf("move %d rules of listener %s", len(c.Priorities), c.Listener.Part)
}
func (SetPriorities) Effect() Effect     { return Moves }
func (c SetPriorities) listener() string { return c.Listener.ID }
func (SetPriorities) reroutes()          {}

func (c SetPriorities) On(seen *stack.Stack, _ Made) {
	for _, p := range c.Priorities {
		if r := seen.Rule(p.Rule.ID); r != nil {
			r.Priority = p.Priority
		}
	}
	onListener(seen, c.Listener, (*stack.Listener).SortRules)
}

// DeleteRule deletes one.
type DeleteRule struct{ Rule stack.Ref }

func (c DeleteRule) Text() string     { return "delete rule " + c.Rule.Part }
func (DeleteRule) Effect() Effect     { return Removes }
func (c DeleteRule) deleted() string  { return c.Rule.ID }
func (c DeleteRule) listener() string { return c.Rule.ID }
func (DeleteRule) reroutes()          {}

func (c DeleteRule) On(seen *stack.Stack, _ Made) {
	is := func(r stack.Rule) bool { return r.ARN == c.Rule.ID }
	seen.EachListener(func(l *stack.Listener) { l.Rules = slices.DeleteFunc(slices.Clone(l.Rules), is) })
}
