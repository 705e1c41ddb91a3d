// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"slices"
	"strings"

	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/ingress/reading"
	"github.com/targetgate/targetgate/balancers/stack"
)

// optimize leaves out what no request can need on the listener: redirects that lead to themselves, and rules behind a redirect that takes
// all of their requests. The latter are hidden. A rule is compared with at most so many redirects of its host, and with as many of any.
func optimize(rules []reading.Rule, protocol annotation.Protocol, port int32, most int) (out []reading.Rule, hidden []shadow) {
	redirects := byHost{most: most}
	for _, next := range rules {
		if reading.LeadsToItself(next.Rule, protocol, port) {
			continue
		}
		by := redirects.first(next.Conditions, func(earlier reading.Rule) bool { return covers(earlier.Conditions, next.Conditions) })
		if by != nil {
			hidden = append(hidden, shadow{next, *by})
			continue
		}
		if out = append(out, next); next.Action.Redirect != nil {
			redirects.add(next)
		}
	}
	return out, hidden
}

// shadow is a rule that no request reaches, as another stands before it.
type shadow struct{ rule, by reading.Rule }

// byHost finds the first of several rules that takes all requests of another, without looking at those of other hosts.
type byHost struct {
	most  int // how many are kept of a host
	count int
	rules map[string][]numbered // "" for those that may be for any host
}

type numbered struct {
	reading.Rule
	number int
}

func (b *byHost) add(rule reading.Rule) {
	if b.rules == nil {
		b.rules = map[string][]numbered{}
	}
	hosts := reading.ValuesOf(rule.Conditions, annotation.HostHeader)
	if len(hosts) == 0 || slices.ContainsFunc(hosts, func(host string) bool { return strings.ContainsAny(host, "*?") }) {
		hosts = []string{""}
	}
	b.count++
	for _, host := range hosts {
		host = strings.ToLower(host)
		if of := b.rules[host]; len(of) < b.most && (len(of) == 0 || of[len(of)-1].number != b.count) {
			b.rules[host] = append(of, numbered{rule, b.count})
		}
	}
}

// first is the first rule that takes the requests of these conditions; nil if none does. A rule that does so for each host of the
// conditions does for the first.
func (b *byHost) first(conditions []stack.Condition, takes func(reading.Rule) bool) *reading.Rule {
	var found *numbered
	hosts := []string{""}
	if own := reading.ValuesOf(conditions, annotation.HostHeader); len(own) > 0 {
		hosts = append(hosts, strings.ToLower(own[0]))
	}
	for _, host := range hosts {
		of := b.rules[host]
		i := slices.IndexFunc(of, func(n numbered) bool { return found != nil && n.number > found.number || takes(n.Rule) })
		if i >= 0 && (found == nil || of[i].number < found.number) {
			found = &of[i]
		}
	}
	if found == nil {
		return nil
	}
	return &found.Rule
}

// covers reports whether all requests of the later conditions are surely those of the earlier, too. As by the incumbent, conditions on
// other things than host and path cover nothing, and a regular expression covers itself alone.
func covers(earlier, later []stack.Condition) bool {
	return !slices.ContainsFunc(earlier, func(wide stack.Condition) bool {
		if wide.Field != annotation.HostHeader && wide.Field != annotation.PathPattern {
			return true
		}
		all := wide.Field == annotation.PathPattern && slices.Contains(wide.Values, reading.AnyPath)
		return !all && !slices.ContainsFunc(later, func(narrow stack.Condition) bool {
			return narrow.Field == wide.Field && isWithin(narrow.Values, wide.Values) && isWithin(narrow.Regex, wide.Regex)
		})
	})
}

// isWithin reports whether all items are among others.
func isWithin(items, others []string) bool {
	return !slices.ContainsFunc(items, func(item string) bool { return !slices.Contains(others, item) })
}
