// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

// Priorities of rules: that of the last one, and the first of those for rules that stand behind all others until they are moved up.
const lowest, firstLate = 50000, 40001

// ruleSteps are the steps to the rules of a listener.
type ruleSteps struct {
	*draft
	kind stack.Kind
}

// add creates the new rules of a listener that is seen. If others must be moved, they are created behind all others, then all are
// moved at once by prioritise, those that are to be deleted behind the rest. A request for which the rules before and after agree meets no
// other at any time: behind all others a new rule gets only what no rule matched; once all are moved, the first rule that matches is the
// final one, or, when none is, the one that matched before.
func (s ruleSteps) add(l *listener) {
	if l.moved = l.moves(); !l.moved {
		s.create(l, 0)
		return
	}
	bottom := int32(0)
	for _, rule := range l.inTime() {
		bottom = max(bottom, rule.Priority)
	}
	if created := len(l.created()); created > 0 && int(bottom)+created >= firstLate {
		bottom = s.compact(l)
	}
	s.create(l, bottom)
}

// compact moves the rules up, in their order, for there is no room behind them.
func (s ruleSteps) compact(l *listener) int32 {
	rules := l.inTime()
	list := make([]steps.RulePriority, 0, len(rules))
	for i, rule := range rules {
		if rule.Priority != int32(i+1) {
			list = append(list, steps.RulePriority{Rule: ruleRef(l, rule), Priority: int32(i + 1)})
		}
		rule.Priority = int32(i + 1)
	}
	s.do("there is no room behind the last rule", steps.SetPriorities{Listener: l.ref(), Priorities: list})
	return int32(len(rules))
}

// create creates the new rules in their order: at their final priorities when bottom is 0, else behind it. Late ones come last, and
// behind those of earlier passes.
func (s ruleSteps) create(l *listener, bottom int32) {
	for i, at := range l.places {
		if at.seen != nil || at.isLate() {
			continue
		}
		priority := int32(i + 1)
		if bottom > 0 {
			bottom++
			priority = bottom
		}
		s.createAt(l, i, priority)
	}
	last := int32(firstLate - 1)
	for i, at := range l.places {
		if at.seen == nil && at.isLate() {
			last = l.freeBehind(last)
			s.createAt(l, i, last)
		}
	}
}

// freeBehind is the first free priority behind one and behind the rules that are seen. Rules at the very end do not count: there is no room
// behind them.
func (l *listener) freeBehind(last int32) int32 {
	used := func(priority int32) bool {
		return slices.ContainsFunc(l.seen.Rules, func(r stack.Rule) bool { return r.Priority == priority })
	}
	for _, rule := range l.seen.Rules {
		if rule.Priority < lowest-int32(len(l.places)) {
			last = max(last, rule.Priority)
		}
	}
	for last++; used(last); last++ {
	}
	return last
}

func (s ruleSteps) createAt(l *listener, i int, priority int32) {
	rule := l.places[i].now
	rule.Priority, rule.Tags = priority, l.ruleTags(i, s.kind)
	s.do("a member wants it", steps.CreateRule{Listener: l.ref(), Rule: rule, Part: l.part(i)})
}

// part is the resource tag of a rule: its port and its place.
func (l *listener) part(i int) string {
	return strconv.Itoa(int(l.wanted.Port)) + ":" + strconv.Itoa(i+1)
}

// ruleTags are the tags of a rule with its place. Rules without tags have no place in them either.
func (l *listener) ruleTags(i int, kind stack.Kind) map[string]string {
	tags := maps.Clone(l.places[i].final.Tags)
	if tags != nil {
		tags[kind.ResourceTag()] = l.part(i)
	}
	return tags
}

// routes are what the rules do once they are in their places.
func (l *listener) routes() []*route {
	list := make([]*route, 0, len(l.places))
	for i, at := range l.places {
		r := &route{listener: l, rule: l.ruleAt(i), final: at.final, now: at.now, meanwhile: at.meanwhile}
		if at.seen != nil {
			r.now = *at.seen
		}
		list = append(list, r)
	}
	return list
}

// prioritise moves all rules of a listener but the late ones to their places at once, and the surplus behind them.
func (s ruleSteps) prioritise(l *listener) {
	var list []steps.RulePriority
	for i, at := range l.places {
		if !at.isLate() && (at.seen == nil || at.seen.Priority != int32(i+1)) {
			list = append(list, steps.RulePriority{Rule: l.ruleAt(i), Priority: int32(i + 1)})
		}
	}
	for i, rule := range l.surplus {
		if place := int32(len(l.places) + i + 1); rule.Priority != place {
			list = append(list, steps.RulePriority{Rule: ruleRef(l, rule), Priority: place})
		}
	}
	s.do("the order differs", steps.SetPriorities{Listener: l.ref(), Priorities: list})
}

// movedUp is why a late rule is moved to its place.
const movedUp = "its target groups were awaited"

// moveUp moves a late rule to its place, once its target groups are as healthy as those of the rules that it overtakes, and deletes what
// need not serve any longer.
func (s ruleSteps) moveUp(l *listener, i int, waits []steps.Wait) {
	for _, wait := range waits {
		s.doAfter(wait, movedUp, steps.Nothing{})
	}
	s.do(movedUp, steps.SetPriorities{Listener: l.ref(), Priorities: []steps.RulePriority{{Rule: l.ruleAt(i), Priority: int32(i + 1)}}})
	l.places[i].overtakes = nil
	s.delete(l)
}

// delete deletes the surplus but for what is to serve until a late rule does, and what comes before that. It begins with the last, so that
// the first that matches a request is the last to go.
func (s ruleSteps) delete(l *listener) {
	var kept []*stack.Rule
	for _, rule := range slices.Backward(l.surplus) {
		isBefore := func(other *stack.Rule) bool { return !stack.Apart(rule.Conditions, other.Conditions) }
		if l.isOvertaken(rule) || slices.ContainsFunc(kept, isBefore) {
			kept = append(kept, rule)
			continue
		}
		s.do("no member wants it", steps.DeleteRule{Rule: ruleRef(l, rule)})
	}
	slices.Reverse(kept)
	l.surplus = kept
}

// ruleAt is the rule of a place.
func (l *listener) ruleAt(i int) stack.Ref {
	if seen := l.places[i].seen; seen != nil {
		return ruleRef(l, seen)
	}
	return stack.Ref{Part: l.part(i)}
}

func ruleRef(l *listener, rule *stack.Rule) stack.Ref {
	return stack.Ref{ID: rule.ARN, Part: strconv.Itoa(int(l.wanted.Port)) + ":" + strconv.Itoa(int(rule.Priority))}
}

// inTime are all rules that are seen and not late, as they are tried.
func (l *listener) inTime() []*stack.Rule {
	return slices.DeleteFunc(l.sorted(), func(rule *stack.Rule) bool {
		return slices.ContainsFunc(l.places, func(p *place) bool { return p.seen == rule && p.isLate() })
	})
}

// sorted are all rules that are seen, as they are tried.
func (l *listener) sorted() []*stack.Rule {
	list := append([]*stack.Rule{}, l.surplus...)
	for _, at := range l.places {
		if at.seen != nil {
			list = append(list, at.seen)
		}
	}
	slices.SortFunc(list, func(a, b *stack.Rule) int { return cmp.Compare(a.Priority, b.Priority) })
	return list
}
