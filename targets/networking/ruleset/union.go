// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ruleset

import (
	"cmp"
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
	// labelled are the rules with our label that are believed present; staying are present and will not be revoked by us.
	labelled, staying Rules
	// held are the labelled ones that a binding that is not resolved may wish for.
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
// the wishes that it covers.
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
	var exact []flowRules
	for flow, rules := range flows {
		merged := merge(rules)
		switch {
		case around.labelled.Has(merged):
			wanted.addMerged(merged, rules)
		case len(held[flow]) > 0:
			wanted.addCovered(rules, held[flow], around.labelled)
		case rules[merged] != nil:
			wanted.addMerged(merged, rules)
		default:
			exact = append(exact, flowRules{rules, merged})
		}
	}
	wanted.addFitting(exact, around)
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

// addCovered adds the rules of a flow, or those held that cover them: the narrowest.
func (w Wanted) addCovered(rules Wanted, held []ec2.Rule, present Rules) {
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
		w.Add(best, bindings)
	}
}

// covers reports whether what rule b lets in, a does, too.
func covers(a, b ec2.Rule) bool {
	return FlowOf(a) == FlowOf(b) && a.From <= b.From && a.To >= b.To
}

// flowRules are the wishes of one flow, and their merge.
type flowRules struct {
	exact  Wanted
	merged ec2.Rule
}

// addFitting adds flows in their exact form, and those that save most in their merged form until all fit. It looks at each rule a fixed
// number of times: the count is kept, not made anew.
func (w Wanted) addFitting(flows []flowRules, around surroundings) {
	slices.SortFunc(flows, func(a, b flowRules) int {
		return cmp.Or(len(b.exact)-len(a.exact), compareRules(a.merged, b.merged))
	})
	quota := around.quota - reserveOf(around.quota)
	counted := around.staying.Union(w.rules())
	for _, flow := range flows {
		for rule := range flow.exact {
			counted.Insert(rule)
		}
	}
	count := tallyOf(counted)
	for _, flow := range flows {
		if count.within(quota) {
			for rule, bindings := range flow.exact {
				w.Add(rule, bindings)
			}
			continue
		}
		for rule := range flow.exact {
			if !around.staying.Has(rule) {
				counted.Delete(rule)
				count.remove(rule)
			}
		}
		if !counted.Has(flow.merged) {
			counted.Insert(flow.merged)
			count.add(flow.merged)
		}
		w.addMerged(flow.merged, flow.exact)
	}
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
