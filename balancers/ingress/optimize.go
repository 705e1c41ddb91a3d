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

// covers reports whether all requests of the later conditions are surely those of the earlier, too.
func covers(earlier, later []stack.Condition) bool {
	for _, condition := range earlier {
		if condition.Field != annotation.HostHeader && condition.Field != annotation.PathPattern || len(condition.Regex) > 0 {
			return false
		}
		if condition.Field == annotation.PathPattern && slices.Contains(condition.Values, reading.AnyPath) {
			continue
		}
		values := reading.ValuesOf(later, condition.Field)
		if len(values) == 0 || slices.ContainsFunc(values, func(value string) bool { return !slices.Contains(condition.Values, value) }) {
			return false
		}
	}
	return true
}
