// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"
	"strconv"

	"github.com/targetgate/targetgate/balancers/plan/actions"
	"github.com/targetgate/targetgate/balancers/stack"
)

// place is a rule's place in the final order.
type place struct {
	final stack.Rule // what is to stand there in the end
	now   stack.Rule // what one that is created has first: final, but for target groups that cannot serve yet
	// seen is the rule that takes the place: it has this content or is changed to have it. It is nil when one is created.
	seen   *stack.Rule
	reused bool // seen has other content, and is to be changed
	// meanwhile is what it does until target groups that have to wait can do what is final.
	meanwhile stack.Rule
	// overtakes are seen rules from which it would take requests before its target groups are healthy. While there are any, its rule stands
	// behind all others, and the place is empty.
	overtakes []*stack.Rule
}

func (p *place) isLate() bool { return len(p.overtakes) > 0 }

func (p *place) isMatched() bool { return p.seen != nil && !p.reused }

// arrangement is how the rules of one listener become those that are wanted.
type arrangement struct {
	places  []*place
	surplus []*stack.Rule // seen, and to be deleted, in their order
	left    []stack.Rule  // wanted, and not created because of the quota
	// last is the place of a rule that is to go, and stays until the default action can do what is final; nil for none.
	last *place
}

// match pairs what is wanted with what is seen: first what is wholly equal, then what is equal when target groups of one port of a Service
// count as one, then when those of one Service do: a pass that ended midway has made rules to the former port. Then the version of the
// client secret is left out: a secret that has changed is written in place. Of several that are equal the first seen is taken. Those that
// send to a fresh target group are paired with what sends the same requests elsewhere at last: no request that is answered alike before
// and after is answered by that target group, so their actions can change at any time. What answers by itself is not moved for them: it
// could come before a rule that is to keep its requests. Nor is what anybody may pass moved for what asks who a request is from: it could
// come before a rule that asks, too.
func match(wanted []*place, seen []*stack.Rule, service actions.Naming, isFresh func(stack.Action) bool) {
	ofAnyPort := func(r stack.Rule) string {
		return actions.RuleKey(r, func(g stack.Ref) string { return withoutPort(service(g)) })
	}
	for _, key := range []func(stack.Rule) string{
		func(r stack.Rule) string { return actions.RuleKey(r, actions.ID) },
		func(r stack.Rule) string { return actions.RuleKey(r, service) },
		ofAnyPort,
		func(r stack.Rule) string { return ofAnyPort(actions.AnyVersion(r)) },
	} {
		pair(wanted, seen, key)
	}
	fresh := slices.DeleteFunc(slices.Clone(wanted), func(p *place) bool { return !isFresh(p.final.Action) })
	left := slices.DeleteFunc(slices.Clone(seen), func(r *stack.Rule) bool { return taken(wanted, r) || r.Action.Forward == nil })
	pair(fresh, left, func(r stack.Rule) string {
		return actions.ConditionsKey(r.Conditions) + strconv.FormatBool(r.Action.Auth != nil)
	})
	open := slices.DeleteFunc(fresh, func(p *place) bool { return p.final.Action.Auth != nil })
	left = slices.DeleteFunc(left, func(r *stack.Rule) bool { return taken(wanted, r) })
	pair(open, left, func(r stack.Rule) string { return actions.ConditionsKey(r.Conditions) })
}

// pair pairs what has no pair yet by that key.
func pair(wanted []*place, seen []*stack.Rule, key func(stack.Rule) string) {
	index := map[string][]*stack.Rule{}
	for _, rule := range seen {
		if !taken(wanted, rule) && rule.Action.Unknown == "" {
			index[key(*rule)] = append(index[key(*rule)], rule)
		}
	}
	for _, p := range wanted {
		key := key(p.final)
		if p.seen == nil && len(index[key]) > 0 {
			p.seen, index[key] = index[key][0], index[key][1:]
		}
	}
}

func taken(places []*place, rule *stack.Rule) bool {
	return slices.ContainsFunc(places, func(p *place) bool { return p.seen == rule })
}

// isOvertaken reports whether a rule is to serve until a late one does.
func (a *arrangement) isOvertaken(rule *stack.Rule) bool {
	return slices.ContainsFunc(a.places, func(p *place) bool { return slices.Contains(p.overtakes, rule) })
}

// keepLast has a rule that is to go wait with the default action to do what that is to do. Then it goes.
func (a *arrangement) keepLast(arn string, byDefault stack.Action) {
	i := slices.IndexFunc(a.surplus, func(rule *stack.Rule) bool { return rule.ARN == arn })
	rule := a.surplus[i]
	a.last = &place{final: stack.Rule{Conditions: rule.Conditions, Action: byDefault}, seen: rule}
	a.places, a.surplus = append(a.places, a.last), slices.Delete(a.surplus, i, i+1)
}

// created are the places for which there is no rule yet.
func (a *arrangement) created() []*place {
	var list []*place
	for _, p := range a.places {
		if p.seen == nil {
			list = append(list, p)
		}
	}
	return list
}

// growth is by how many rules the listener grows.
func (a *arrangement) growth() int { return len(a.created()) - len(a.surplus) }

// moves reports whether a rule must get another priority before the new ones can be created at theirs.
func (a *arrangement) moves() bool {
	for i, p := range a.places {
		if p.seen != nil && p.seen.Priority != int32(i+1) && !p.isLate() {
			return true
		}
	}
	return slices.ContainsFunc(a.surplus, func(rule *stack.Rule) bool { return int(rule.Priority) <= len(a.places) })
}

// fit reuses surplus rules for new ones, in place, when room is less than is to be created, and leaves out the last of what has no room
// even so. It reuses one, too, when that is the only change, the default action included, as one call then does it all at once.
func (a *arrangement) fit(room int, sameDefault bool) {
	room = max(room, 0)
	created := a.created()
	if over := len(created) - room - len(a.surplus); over > 0 {
		a.leaveOut(created[len(created)-over:])
		created = created[:len(created)-over]
	}
	if sameDefault && a.isOneChange(created) {
		a.reuse(created[0], a.surplus[0])
		return
	}
	a.pair(len(created) - room)
}

func (a *arrangement) leaveOut(places []*place) {
	for _, p := range places {
		a.left = append(a.left, p.final)
	}
	a.places = slices.DeleteFunc(a.places, func(p *place) bool { return slices.Contains(places, p) })
}

// isOneChange holds when one rule stands in the place of the only new one, and all others stay.
func (a *arrangement) isOneChange(created []*place) bool {
	if len(created) != 1 || created[0].isLate() || len(a.surplus) != 1 {
		return false
	}
	for i, p := range a.places {
		if p.seen == nil && a.surplus[0].Priority != int32(i+1) || p.seen != nil && p.seen.Priority != int32(i+1) {
			return false
		}
	}
	return true
}

// pair reuses n surplus rules: first those that stand between the same rules as the new one and go to the same target groups, then those
// that stand between the same rules, then any.
func (a *arrangement) pair(n int) {
	nearby := func(p *place, rule *stack.Rule) bool { return a.before(p) == a.beforeSeen(rule) }
	alike := func(p *place, rule *stack.Rule) bool {
		return nearby(p, rule) && actions.Same(p.now.Action, rule.Action)
	}
	for _, fits := range []func(*place, *stack.Rule) bool{alike, nearby, func(*place, *stack.Rule) bool { return true }} {
		for _, p := range a.created() {
			i := slices.IndexFunc(a.surplus, func(rule *stack.Rule) bool { return fits(p, rule) })
			if n > 0 && i >= 0 {
				a.reuse(p, a.surplus[i])
				n--
			}
		}
	}
}

// before is how many matched rules stand before a place.
func (a *arrangement) before(p *place) int {
	n := 0
	for _, other := range a.places {
		if other == p {
			break
		}
		if other.isMatched() {
			n++
		}
	}
	return n
}

// beforeSeen is how many matched rules are tried before a surplus one.
func (a *arrangement) beforeSeen(rule *stack.Rule) int {
	n := 0
	for _, other := range a.places {
		if other.isMatched() && other.seen.Priority < rule.Priority {
			n++
		}
	}
	return n
}

func (a *arrangement) reuse(p *place, rule *stack.Rule) {
	p.seen, p.reused = rule, true
	a.surplus = slices.DeleteFunc(a.surplus, func(other *stack.Rule) bool { return other == rule })
}

// answering is the rule that now answers all requests that the rule in a place is to answer, none if several may; without conditions when
// it is the default action. What is wanted in a place before it leaves it none of the requests for which it holds.
func (l *listener) answering(at int, conditions []stack.Condition) stack.Rule {
	for _, rule := range slices.SortedFunc(slices.Values(l.seen.Rules), byPriority) {
		covers := func(p *place) bool { return stack.Covers(p.final.Conditions, rule.Conditions) }
		switch {
		case stack.Apart(rule.Conditions, conditions), slices.ContainsFunc(l.places[:at], covers):
		case stack.Covers(rule.Conditions, conditions):
			return rule
		default:
			return stack.Rule{}
		}
	}
	return stack.Rule{Action: l.seen.Default}
}
