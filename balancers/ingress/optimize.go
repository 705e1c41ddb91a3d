// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"slices"
	"strconv"

	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/stack"
)

// optimize leaves out what no request can need on the listener: redirects that lead to themselves, and rules behind a redirect that takes
// all of their requests.
func optimize(rules []rule, protocol annotation.Protocol, port int32) []rule {
	var out []rule
	for _, next := range rules {
		covered := slices.ContainsFunc(out, func(earlier rule) bool {
			return earlier.Action.Redirect != nil && covers(earlier.Conditions, next.Conditions)
		})
		if !covered && !leadsToItself(next.Rule, protocol, port) {
			out = append(out, next)
		}
	}
	return out
}

// leadsToItself reports whether the rule redirects to what it matches.
func leadsToItself(rule stack.Rule, protocol annotation.Protocol, port int32) bool {
	to := rule.Action.Redirect
	if to == nil {
		return false
	}
	regex := func(c stack.Condition) bool { return c.Field == annotation.PathPattern && len(c.Regex) > 0 }
	if slices.ContainsFunc(rule.Conditions, regex) || to.Query != annotation.SameQuery {
		return false
	}
	return slices.Contains(append(valuesOf(rule.Conditions, annotation.HostHeader), annotation.SameHost), to.Host) &&
		slices.Contains(append(valuesOf(rule.Conditions, annotation.PathPattern), annotation.SamePath), to.Path) &&
		slices.Contains([]string{annotation.SamePort, strconv.Itoa(int(port))}, to.Port) &&
		slices.Contains([]string{annotation.SameProtocol, string(protocol)}, to.Protocol)
}

func valuesOf(conditions []stack.Condition, field string) []string {
	for _, condition := range conditions {
		if condition.Field == field {
			return slices.Clip(condition.Values)
		}
	}
	return nil
}

// covers reports whether all requests of the later conditions are surely those of the earlier, too.
func covers(earlier, later []stack.Condition) bool {
	for _, condition := range earlier {
		if condition.Field != annotation.HostHeader && condition.Field != annotation.PathPattern || len(condition.Regex) > 0 {
			return false
		}
		if condition.Field == annotation.PathPattern && slices.Contains(condition.Values, anyPath) {
			continue
		}
		values := valuesOf(later, condition.Field)
		if len(values) == 0 || slices.ContainsFunc(values, func(value string) bool { return !slices.Contains(condition.Values, value) }) {
			return false
		}
	}
	return true
}
