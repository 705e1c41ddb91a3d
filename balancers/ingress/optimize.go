// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"slices"

	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/ingress/reading"
	"github.com/targetgate/targetgate/balancers/stack"
)

// optimize leaves out what no request can need on the listener: redirects that lead to themselves, and rules behind a redirect that takes
// all of their requests.
func optimize(rules []reading.Rule, protocol annotation.Protocol, port int32) []reading.Rule {
	var out, redirects []reading.Rule
	for _, next := range rules {
		covered := slices.ContainsFunc(redirects, func(earlier reading.Rule) bool { return covers(earlier.Conditions, next.Conditions) })
		if covered || reading.LeadsToItself(next.Rule, protocol, port) {
			continue
		}
		if out = append(out, next); next.Action.Redirect != nil {
			redirects = append(redirects, next)
		}
	}
	return out
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
