// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"slices"
	"strings"
)

// Covers reports whether wide hold whenever narrow do. It is false when that cannot be told.
func Covers(wide, narrow []Condition) bool {
	return !slices.ContainsFunc(wide, func(w Condition) bool {
		all := w.Field == "path-pattern" && (slices.Contains(w.Values, "/*") || slices.Contains(w.Values, "*"))
		return !all && !slices.ContainsFunc(narrow, func(n Condition) bool { return implies(n, w) })
	})
}

// equals reports whether both hold of the same requests, as far as the same values in the same order tell.
func (c Condition) equals(d Condition) bool {
	return c.Field == d.Field && strings.EqualFold(c.Header, d.Header) && slices.Equal(c.Values, d.Values) &&
		slices.Equal(c.Regex, d.Regex) && slices.Equal(c.Query, d.Query)
}

// isWithin reports whether the regular expressions of one are among those of the other.
func (c Condition) isWithin(d Condition) bool {
	isIn := func(regex string) bool { return slices.Contains(d.Regex, regex) }
	return c.Field == d.Field && strings.EqualFold(c.Header, d.Header) && len(c.Regex) > 0 && len(c.Values) == 0 &&
		!slices.ContainsFunc(c.Regex, func(regex string) bool { return !isIn(regex) })
}

// implies reports whether w holds whenever n does, as far as can be told.
func implies(n, w Condition) bool {
	if n.equals(w) || n.isWithin(w) {
		return true
	}
	if !isPattern(n) || n.Field != w.Field || !isPattern(w) {
		return false
	}
	return !slices.ContainsFunc(n.Values, func(value string) bool {
		return !slices.ContainsFunc(w.Values, func(pattern string) bool { return fits(folded(w, pattern), folded(n, value)) })
	})
}

// Apart reports whether no request fulfils both. It is false when that cannot be told.
func Apart(a, b []Condition) bool {
	for _, x := range a {
		for _, y := range b {
			if x.Field == y.Field && isPattern(x) && isPattern(y) && areApart(x, y) {
				return true
			}
		}
	}
	return false
}

func areApart(x, y Condition) bool {
	return !slices.ContainsFunc(x.Values, func(a string) bool {
		return slices.ContainsFunc(y.Values, func(b string) bool { return mayMeet(folded(x, a), folded(y, b)) })
	})
}

// isPattern reports whether the condition's values are patterns of a host or a path.
func isPattern(c Condition) bool {
	return len(c.Values) > 0 && len(c.Regex) == 0 && (c.Field == "host-header" || c.Field == "path-pattern")
}

// folded is a pattern in lower case where case does not count.
func folded(c Condition, pattern string) string {
	if c.Field == "host-header" {
		return strings.ToLower(pattern)
	}
	return pattern
}

const wildcards = "*?"

// fits reports whether all that matches text, itself a pattern, matches pattern. It may be wrong for adjacent wildcards, and is false then.
func fits(pattern, text string) bool {
	p, t, star, mark := 0, 0, -1, 0
	for t < len(text) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, t
			p++
		case p < len(pattern) && (pattern[p] == text[t] || pattern[p] == '?' && text[t] != '*'):
			p, t = p+1, t+1
		case star >= 0:
			mark++
			p, t = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// mayMeet reports whether something may match both patterns. It compares what stands before the first and behind the last wildcard.
func mayMeet(a, b string) bool {
	if !strings.ContainsAny(a, wildcards) {
		return fits(b, a)
	}
	if !strings.ContainsAny(b, wildcards) {
		return fits(a, b)
	}
	headA, headB := a[:strings.IndexAny(a, wildcards)], b[:strings.IndexAny(b, wildcards)]
	tailA, tailB := a[strings.LastIndexAny(a, wildcards)+1:], b[strings.LastIndexAny(b, wildcards)+1:]
	return (strings.HasPrefix(headA, headB) || strings.HasPrefix(headB, headA)) &&
		(strings.HasSuffix(tailA, tailB) || strings.HasSuffix(tailB, tailA))
}
