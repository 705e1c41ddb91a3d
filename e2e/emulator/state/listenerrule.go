// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/targetgate/targetgate/e2e/emulator/refusal"
	"github.com/targetgate/targetgate/e2e/emulator/routing"
	"github.com/targetgate/targetgate/e2e/emulator/tag"
)

// ListenerRule says what a listener does with some requests. The default rule has priority 0 and no conditions.
type ListenerRule struct {
	ARN        string
	Listener   string
	Priority   int
	Conditions []routing.Condition // all must hold
	Action     routing.Action
	Transforms []routing.Transform
}

// IsDefault reports whether it is what a listener does when no other rule matches.
func (r ListenerRule) IsDefault() bool { return r.Priority == 0 }

// lastPriority is the highest number that a rule may have.
const lastPriority = 50000

func ruleARN(listener, id string) string {
	return strings.Replace(listener, ":listener/", ":listener-rule/", 1) + "/" + id
}

func ruleNotFound() error { return refusal.New("RuleNotFound", "One or more rules not found") }

func priorityInUse(priority int) error {
	return refusal.New("PriorityInUse", "Priority '%d' is currently in use", priority)
}

// rule finds a rule with its listener; the machine must be locked.
func (m *Machine) rule(arn string) (*listener, *ListenerRule, error) {
	for _, l := range m.listeners {
		for i := range l.rules {
			if l.rules[i].ARN == arn {
				return l, &l.rules[i], nil
			}
		}
	}
	return nil, nil, ruleNotFound()
}

// CreateRule makes a rule. It is shown at once and reaches the data plane with the next batch.
func (m *Machine) CreateRule(r ListenerRule, tags map[string]string) (ListenerRule, error) {
	now := m.enter()
	defer m.leave()
	l := m.listener(r.Listener)
	if l == nil {
		return r, listenerNotFound()
	}
	r.Action = r.Action.WithDefaults()
	if err := cmp.Or(m.ruleQuota(l), tag.Check(tags), m.validateRule(l, r), l.free(r.Priority)); err != nil {
		return r, err
	}
	r.ARN = ruleARN(l.ARN, m.region.ID())
	l.rules = append(l.rules, r)
	l.sort()
	m.begin(r.ARN, tags, now)
	m.changedRules(l.balancer, now)
	return r, nil
}

func (m *Machine) ruleQuota(l *listener) error {
	if l.balancer.Type == Network {
		return refusal.New("OperationNotPermitted", "Rules cannot be added to listeners of a Network Load Balancer")
	}
	count := 0
	for _, other := range m.listenersOf(l.balancer) {
		count += len(other.rules) - 1
	}
	if count >= m.opts.Quotas.RulesPerBalancer {
		return refusal.New("TooManyRules", "The maximum number of rules has been reached on load balancer '%s'", l.LoadBalancer)
	}
	return nil
}

func (m *Machine) validateRule(l *listener, r ListenerRule) error {
	return cmp.Or(
		refusal.Within("priority", r.Priority, 1, lastPriority),
		routing.ValidateConditions(r.Conditions, m.opts.Quotas.ValuesPerRule, m.opts.Quotas.WildcardsPerRule),
		routing.ValidateTransforms(r.Transforms),
		m.validateAction(l.balancer, l.Protocol, r.Action),
	)
}

func (l *listener) free(priority int) error {
	if slices.ContainsFunc(l.rules, func(r ListenerRule) bool { return r.Priority == priority }) {
		return priorityInUse(priority)
	}
	return nil
}

// sort puts the rules in the order in which they are tried.
func (l *listener) sort() {
	slices.SortFunc(l.rules, func(a, b ListenerRule) int { return cmp.Compare(a.rank(), b.rank()) })
}

func (r ListenerRule) rank() int {
	if r.IsDefault() {
		return lastPriority + 1
	}
	return r.Priority
}

// ModifyRule replaces the conditions, the action and the transforms; what is empty stays, but for transforms that are to be reset.
func (m *Machine) ModifyRule(arn string, to ListenerRule, resetTransforms bool) (ListenerRule, error) {
	now := m.enter()
	defer m.leave()
	l, r, err := m.rule(arn)
	if err != nil {
		return ListenerRule{}, err
	}
	if r.IsDefault() {
		return ListenerRule{}, refusal.New("OperationNotPermitted", "Default rule '%s' cannot be modified", arn)
	}
	changed := *r
	if len(to.Conditions) > 0 {
		changed.Conditions = to.Conditions
	}
	if to.Action != (routing.Action{}) {
		changed.Action = to.Action.KeepSecret(r.Action).WithDefaults()
	}
	if len(to.Transforms) > 0 || resetTransforms {
		changed.Transforms = to.Transforms
	}
	if err := m.validateRule(l, changed); err != nil {
		return ListenerRule{}, err
	}
	*r = changed
	m.changedRules(l.balancer, now)
	return changed, nil
}

// DeleteRule removes a rule. It is no longer shown, and reaches the data plane with the next batch.
func (m *Machine) DeleteRule(arn string) error {
	now := m.enter()
	defer m.leave()
	l, r, err := m.rule(arn)
	if err != nil {
		return err
	}
	if r.IsDefault() {
		return refusal.New("OperationNotPermitted", "Default rule '%s' cannot be deleted", arn)
	}
	l.rules = slices.DeleteFunc(l.rules, func(other ListenerRule) bool { return other.ARN == arn })
	m.dropTags(arn)
	m.changedRules(l.balancer, now)
	return nil
}

// RulePriority is the new priority of a rule.
type RulePriority struct {
	Rule     string
	Priority int
}

// SetRulePriorities moves rules, all or none: they may swap their priorities.
func (m *Machine) SetRulePriorities(moves []RulePriority) ([]ListenerRule, error) {
	now := m.enter()
	defer m.leave()
	to := map[string]int{}
	for _, move := range moves {
		_, r, err := m.rule(move.Rule)
		switch _, twice := to[move.Rule]; {
		case err != nil:
			return nil, err
		case r.IsDefault():
			return nil, refusal.New("OperationNotPermitted", "The priority of default rule '%s' cannot be set", move.Rule)
		case twice:
			return nil, refusal.Invalid("Rule '%s' is given twice", move.Rule)
		}
		if err := refusal.Within("priority", move.Priority, 1, lastPriority); err != nil {
			return nil, err
		}
		to[move.Rule] = move.Priority
	}
	if len(to) == 0 {
		return nil, refusal.Invalid("At least one rule priority must be specified")
	}
	if err := m.collision(to); err != nil {
		return nil, err
	}
	return m.move(to, now), nil
}

// collision is the error for two rules of a listener that would have one priority.
func (m *Machine) collision(to map[string]int) error {
	for _, l := range m.listeners {
		taken := map[int]bool{}
		for _, r := range l.rules {
			priority := cmp.Or(to[r.ARN], r.Priority)
			if taken[priority] {
				return priorityInUse(priority)
			}
			taken[priority] = true
		}
	}
	return nil
}

func (m *Machine) move(to map[string]int, now time.Time) []ListenerRule {
	var moved []ListenerRule
	for _, l := range m.listeners {
		touched := false
		for i := range l.rules {
			if priority, ok := to[l.rules[i].ARN]; ok {
				l.rules[i].Priority = priority
				moved = append(moved, l.rules[i])
				touched = true
			}
		}
		if touched {
			l.sort()
			m.changedRules(l.balancer, now)
		}
	}
	return moved
}

// Rules lists the rules with one of the ARNs, else those of a listener, in the order in which they are tried, the default rule last.
func (m *Machine) Rules(listenerARN string, arns ...string) ([]ListenerRule, error) {
	m.enter()
	defer m.leave()
	var found []ListenerRule
	for _, arn := range arns {
		_, r, err := m.rule(arn)
		if err != nil {
			return nil, err
		}
		found = append(found, *r)
	}
	if len(arns) > 0 {
		return found, nil
	}
	l := m.listener(listenerARN)
	if l == nil {
		return nil, listenerNotFound()
	}
	return slices.Clone(l.rules), nil
}
