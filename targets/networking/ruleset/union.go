// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ruleset

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/targetgate/targetgate/aws/ec2"
)

// Wanted are the rules that must be in a security group, each with the bindings that need it.
type Wanted map[ec2.Rule]sets.Set[types.NamespacedName]

// Add adds a rule that these bindings need.
func (w Wanted) Add(rule ec2.Rule, bindings sets.Set[types.NamespacedName]) {
	if w[rule] == nil {
		w[rule] = sets.Set[types.NamespacedName]{}
	}
	for key := range bindings {
		w[rule].Insert(key)
	}
}

// surroundings are what the form of rules depends on besides the wishes.
type surroundings struct {
	restricted bool
	quota      int
	// labelled are the rules with our label that are believed present; staying are present and will not be revoked by us now.
	labelled, staying Rules
	// held are the labelled ones that a binding that is not resolved may wish for: they stay.
	held Rules
}

// union makes the rules of one security group from the wishes of all bindings.
//
// In unrestricted mode, and of CIDRs, every rule is as it was asked for. In restricted mode the ports of one protocol and source
// group have one of two forms: exact, a rule for each range that is asked for, or merged, one rule from the lowest port to the
// highest, which is the only form that the incumbent knows. Exact is preferred. The form is merged
//
//   - where the merged rule of today's wishes is present already: a take-over from the incumbent makes no call;
//   - near the quota: the flows that save most rules are merged until the rest fits with a reserve.
//
// While a binding that is not resolved may wish for a present rule, the merge of all wishes of its flow is not known: the rule satisfies
// the wishes that it covers. Near the quota the form of such a flow is merged, too, if a wish is not satisfied so and there is room for
// the merge of those wishes that are known.
//
// The form of a flow changes when its wishes change such that the merged rule is no longer today's merge, or when the number of
// rules comes near the quota. Grants precede revokes then, too: no rule goes before all those are there that it stood for (see
// revocable). The reserve leaves room for both forms meanwhile.
func union(wishes map[types.NamespacedName]Rules, around surroundings) Wanted {
	wanted, flows, held := Wanted{}, map[Flow]Wanted{}, byFlow(around.held)
	for key, rules := range wishes {
		for rule := range rules {
			if !around.restricted || rule.Source.Group == "" {
				wanted.Add(rule, sets.New(key))
				continue
			}
			flow := FlowOf(rule)
			if flows[flow] == nil {
				flows[flow] = Wanted{}
			}
			flows[flow].Add(allIfZero(rule), sets.New(key))
		}
	}
	var fitting []flowRules
	for flow, rules := range flows {
		merged := merge(rules)
		switch {
		case around.labelled.Has(merged):
			wanted.addMerged(merged, rules)
		case len(held[flow]) > 0:
			fitting = append(fitting, flowRules{exact: covered(rules, held[flow], around.labelled), merged: merged, held: true})
		case rules[merged] != nil:
			wanted.addMerged(merged, rules)
		default:
			fitting = append(fitting, flowRules{exact: rules, merged: merged})
		}
	}
	wanted.addFitting(fitting, around)
	return wanted
}

// allIfZero is the rule; for the port 0, which the incumbent takes for all ports when it merges, all ports.
func allIfZero(rule ec2.Rule) ec2.Rule {
	if rule.From == 0 && rule.To == 0 {
		rule.To = lastPort
	}
	return rule
}

// merge is the rule from the lowest to the highest port of rules of one flow.
func merge(rules Wanted) ec2.Rule {
	var merged ec2.Rule
	first := true
	for rule := range rules {
		if first {
			merged, first = rule, false
		}
		merged.From, merged.To = min(merged.From, rule.From), max(merged.To, rule.To)
	}
	return merged
}

func (w Wanted) addMerged(merged ec2.Rule, rules Wanted) {
	for _, bindings := range rules {
		w.Add(merged, bindings)
	}
}

func byFlow(rules Rules) map[Flow][]ec2.Rule {
	flows := map[Flow][]ec2.Rule{}
	for rule := range rules {
		flows[FlowOf(rule)] = append(flows[FlowOf(rule)], rule)
	}
	return flows
}

// covered are the rules of a flow, or those held that cover them: the narrowest.
func covered(rules Wanted, held []ec2.Rule, present Rules) Wanted {
	out := Wanted{}
	for rule, bindings := range rules {
		best := rule
		for _, other := range held {
			if covers(other, rule) && (best == rule || covers(best, other)) {
				best = other
			}
		}
		if present.Has(rule) {
			best = rule
		}
		out.Add(best, bindings)
	}
	return out
}

// covers reports whether what rule b lets in, a does, too.
func covers(a, b ec2.Rule) bool {
	return FlowOf(a) == FlowOf(b) && a.From <= b.From && a.To >= b.To
}

// flowRules are the two forms of the wishes of one flow.
type flowRules struct {
	exact  Wanted
	merged ec2.Rule
	held   bool // rules of the flow are held, and cover wishes in exact
	going  int  // how many rules of exact are not there, or may be revoked
}

// addFitting adds flows in their exact form, and those that save most in their merged form until all fit. It looks at each rule a fixed
// number of times: the count is kept, not made anew.
func (w Wanted) addFitting(flows []flowRules, around surroundings) {
	count := tallyOf(around.staying.Union(w.rules()))
	for i := range flows {
		for rule := range flows[i].exact {
			if !around.staying.Has(rule) {
				flows[i].going++
				count.add(rule)
			}
		}
	}
	slices.SortFunc(flows, func(a, b flowRules) int {
		return cmp.Or(b.going-a.going, compareRules(a.merged, b.merged))
	})
	for _, flow := range flows {
		after := flow.countMerged(count, around.staying)
		if count.within(around.quota-reserveOf(around.quota)) || flow.going == 0 || flow.held && !after.within(around.quota) {
			maps.Copy(w, flow.exact)
			continue
		}
		count = after
		w.addMerged(flow.merged, flow.exact)
	}
}

// countMerged is the count once the flow has its merged form, and not its exact one.
func (f flowRules) countMerged(count tally, staying Rules) tally {
	for rule := range f.exact {
		if !staying.Has(rule) {
			count.remove(rule)
		}
	}
	if !staying.Has(f.merged) {
		count.add(f.merged)
	}
	return count
}

func (w Wanted) rules() Rules {
	rules := make(Rules, len(w))
	for rule := range w {
		rules.Insert(rule)
	}
	return rules
}

// reserveOf is the part of the quota that is left free for changes of form.
func reserveOf(quota int) int { return quota / 12 }

// tally counts rules as EC2 does: for each address family by itself.
type tally struct{ v4, v6 int }

func tallyOf(rules Rules) tally {
	var t tally
	for rule := range rules {
		t.add(rule)
	}
	return t
}

// add counts a rule. One that names a group or a prefix list counts in both families. How many entries a prefix list has room for, which
// is what EC2 counts, is not known here: it counts as 1.
func (t *tally) add(rule ec2.Rule) { t.change(rule, 1) }

// remove takes back what add counted.
func (t *tally) remove(rule ec2.Rule) { t.change(rule, -1) }

func (t *tally) change(rule ec2.Rule, by int) {
	is4, is6 := familiesOf(rule)
	if is4 {
		t.v4 += by
	}
	if is6 {
		t.v6 += by
	}
}

func familiesOf(rule ec2.Rule) (is4, is6 bool) {
	if cidr := rule.Source.CIDR; cidr.IsValid() {
		return cidr.Addr().Is4(), !cidr.Addr().Is4()
	}
	return true, true
}

func (t tally) within(quota int) bool { return t.v4 <= quota && t.v6 <= quota }

// compareRules orders rules such that those of a flow are together.
func compareRules(a, b ec2.Rule) int {
	return cmp.Or(cmp.Compare(a.Source.String(), b.Source.String()), cmp.Compare(a.Protocol, b.Protocol), cmp.Compare(a.From, b.From),
		cmp.Compare(a.To, b.To))
}
