// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/targetgate/targetgate/balancers/fault"
	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/ingress/reading"
	"github.com/targetgate/targetgate/balancers/lookup"
	"github.com/targetgate/targetgate/balancers/stack"
)

// quota is one of a load balancer's.
type quota struct {
	what  string
	limit int
	// wants are keys of what members want. One that several want counts once.
	wants map[*reading.Reading][]string
	// present are the keys of what is seen: true for what may be a held member's.
	present map[string]bool
}

// quotaChecker finds the members for which a quota of AWS has no room.
type quotaChecker struct {
	*draft
	parts     map[string]string // of target groups that are seen, by ARN
	heldNames map[string]bool   // of members
}

func newQuotaChecker(d *draft) quotaChecker {
	names := map[string]bool{}
	for _, r := range d.held {
		names[r.Name] = true
	}
	return quotaChecker{d, d.in.SeenParts(), names}
}

// check finds the members that go over a quota.
func (d quotaChecker) check() map[*reading.Reading]fault.Fault {
	limits, rules, groups, certificates := d.in.Options.Limits, d.ruleKeys(), d.groupKeys(), d.certificateKeys()
	for _, quota := range []quota{
		{"rules", limits.Rules, rules, d.seenRuleKeys()},
		{"target groups", limits.TargetGroups, groups, d.seenGroupKeys()},
		{"certificates besides the default ones", limits.Certificates, certificates, d.seenCertificateKeys()},
		{"tags of the user's", stack.MostTags - len(d.in.TagsOf(stack.LoadBalancerPart)), d.tagKeys(), d.seenTagKeys()},
	} {
		if faults := d.over(quota); len(faults) > 0 {
			return faults
		}
	}
	return nil
}

// checkFrontPorts finds the members that want more ports in front than AWS lets the load balancer be a target at.
func (d quotaChecker) checkFrontPorts() map[*reading.Reading]fault.Fault {
	attributes, wants, present := map[string]string{}, map[*reading.Reading][]string{}, map[string]bool{}
	if seen := d.in.SeenFront(); seen != nil {
		maps.Copy(attributes, seen.Attributes)
		for _, l := range seen.Listeners {
			present[strconv.Itoa(int(l.Port))] = slices.ContainsFunc(d.held, func(r *reading.Reading) bool {
				return r.Ports == nil || slices.Contains(r.FrontPorts, l.Port)
			})
		}
	}
	maps.Copy(attributes, d.keysOf(annotation.FrontAttributes.Name))
	for _, r := range d.built {
		for _, port := range r.FrontPorts {
			wants[r] = append(wants[r], strconv.Itoa(int(port)))
		}
	}
	weight := stack.FrontWeight(attributes)
	what := fmt.Sprintf("ports in front, each of which counts as %d targets of the Network Load Balancer", weight)
	return d.over(quota{what, d.in.Options.Limits.FrontTargets / weight, wants, present})
}

// over finds the members that do not fit into a quota. Those that want nothing new fit, the others are counted in their order. What may be
// a held member's counts as its unless another one wants it.
func (d quotaChecker) over(q quota) map[*reading.Reading]fault.Fault {
	used := map[string]bool{}
	for key, mayBeHeld := range q.present {
		if mayBeHeld {
			used[key] = true
		}
	}
	for _, keys := range q.wants {
		for _, key := range keys {
			delete(used, key)
		}
	}
	grows := map[*reading.Reading]int{}
	for r, keys := range q.wants {
		if slices.ContainsFunc(keys, func(key string) bool { return !hasKey(q.present, key) }) {
			grows[r] = 1
		}
	}
	faults := map[*reading.Reading]fault.Fault{}
	byGrowth := func(a, b *reading.Reading) int { return cmp.Compare(grows[a], grows[b]) }
	for _, r := range slices.SortedStableFunc(slices.Values(d.built), byGrowth) {
		added := lookup.Unique(slices.DeleteFunc(slices.Clone(q.wants[r]), func(key string) bool { return used[key] }))
		if n := len(used) + len(added); n > q.limit && grows[r] > 0 {
			faults[r] = fault.Fault{Field: "spec", Reason: fmt.Sprintf(
				"with this Ingress the load balancer would have %d %s, and its quota is %d: use fewer, another group, or a higher quota",
				n, q.what, q.limit)}
			continue
		}
		for _, key := range added {
			used[key] = true
		}
	}
	return faults
}

// distinct makes keys that differ: the second of one key gets a number.
type distinct map[string]int

func (n distinct) key(text string) string {
	n[text]++
	return fmt.Sprintf("%s#%d", text, n[text])
}

func (d quotaChecker) ruleKeys() map[*reading.Reading][]string {
	keys, owners := map[*reading.Reading][]string{}, d.byName()
	for _, l := range d.listeners {
		n := distinct{}
		for _, rule := range l.rules {
			r := owners[rule.Owner]
			keys[r] = append(keys[r], n.key(conditionsKey(l.port, rule.Conditions)))
		}
	}
	return keys
}

// byName are the members that are built.
func (d *draft) byName() map[string]*reading.Reading {
	members := make(map[string]*reading.Reading, len(d.built))
	for _, r := range d.built {
		members[r.Name] = r
	}
	return members
}

func (d quotaChecker) seenRuleKeys() map[string]bool {
	keys := map[string]bool{}
	if d.balancer == nil {
		return keys
	}
	for _, l := range d.balancer.Listeners {
		n := distinct{}
		for _, rule := range l.Rules {
			keys[n.key(conditionsKey(l.Port, rule.Conditions))] = d.mayBeHeld(reading.GroupsOf(rule.Action)...)
		}
	}
	return keys
}

// mayBeHeld reports whether what sends to these target groups may be a held member's: not if they are all of others.
func (d quotaChecker) mayBeHeld(arns ...string) bool {
	isOfOthers := func(arn string) bool {
		part, ours := d.parts[arn]
		return ours && !beginsWith(part, d.heldNames)
	}
	return len(d.held) > 0 && (len(arns) == 0 || slices.ContainsFunc(arns, func(arn string) bool { return !isOfOthers(arn) }))
}

// beginsWith reports whether the part of a target group begins with one of the names and a hyphen.
func beginsWith(part string, names map[string]bool) bool {
	for i, c := range part {
		if c == '-' && names[part[:i]] {
			return true
		}
	}
	return false
}

// conditionsKey is the same for the same conditions in any order.
func conditionsKey(port int32, conditions []stack.Condition) string {
	texts := make([]string, len(conditions))
	for i, condition := range conditions {
		texts[i] = fmt.Sprintf("%q", condition)
	}
	slices.Sort(texts)
	return fmt.Sprintf("%d %s", port, strings.Join(texts, " "))
}

func (d quotaChecker) groupKeys() map[*reading.Reading][]string {
	keys := map[*reading.Reading][]string{}
	for _, r := range d.built {
		if !d.hasRules(r) {
			continue
		}
		for _, rule := range r.Rules {
			keys[r] = append(keys[r], reading.GroupsOf(rule.Action)...)
		}
		if r.Fallback != nil {
			keys[r] = append(keys[r], reading.GroupsOf(r.Fallback.Action)...)
		}
	}
	return keys
}

func (d quotaChecker) seenGroupKeys() map[string]bool {
	keys := map[string]bool{}
	if d.balancer == nil {
		return keys
	}
	for _, l := range d.balancer.Listeners {
		for _, arn := range reading.GroupsOf(l.Default) {
			keys[cmp.Or(d.parts[arn], arn)] = d.mayBeHeld(arn)
		}
		for _, rule := range l.Rules {
			for _, arn := range reading.GroupsOf(rule.Action) {
				keys[cmp.Or(d.parts[arn], arn)] = d.mayBeHeld(arn)
			}
		}
	}
	return keys
}

func (d quotaChecker) certificateKeys() map[*reading.Reading][]string {
	keys := map[*reading.Reading][]string{}
	for _, l := range d.listeners {
		for _, r := range l.members {
			for _, arn := range r.Certificates {
				if l.protocol == annotation.HTTPS && arn != l.certificates[0] {
					keys[r] = append(keys[r], fmt.Sprintf("%d %s", l.port, arn))
				}
			}
		}
	}
	return keys
}

func (d quotaChecker) seenCertificateKeys() map[string]bool {
	keys := map[string]bool{}
	if d.balancer == nil {
		return keys
	}
	for _, l := range d.balancer.Listeners {
		for _, arn := range l.Additional() {
			keys[fmt.Sprintf("%d %s", l.Port, arn)] = d.mayBeHeld()
		}
	}
	return keys
}

// tagKeys are the keys of the tags that members give to what they share, without those that it has anyway.
func (d quotaChecker) tagKeys() map[*reading.Reading][]string {
	keys, own := map[*reading.Reading][]string{}, d.in.TagsOf(stack.LoadBalancerPart)
	for _, r := range d.built {
		for _, key := range slices.Sorted(maps.Keys(r.Tags)) {
			if !hasKey(own, key) {
				keys[r] = append(keys[r], key)
			}
		}
	}
	return keys
}

// seenTagKeys are those of the load balancer that is seen.
func (d quotaChecker) seenTagKeys() map[string]bool {
	keys, own := map[string]bool{}, d.in.TagsOf(stack.LoadBalancerPart)
	if d.balancer == nil {
		return keys
	}
	for key := range d.balancer.Tags {
		keys[key] = !hasKey(own, key)
	}
	maps.DeleteFunc(keys, func(_ string, counts bool) bool { return !counts })
	return keys
}
