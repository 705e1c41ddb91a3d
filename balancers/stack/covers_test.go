// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"regexp"
	"strings"
	"testing"
)

func hosts(values ...string) Condition {
	return Condition{Field: "host-header", Values: values}
}

func paths(values ...string) Condition {
	return Condition{Field: "path-pattern", Values: values}
}

func TestConditionsThatCoverOthersOrAreApart(t *testing.T) {
	type list = []Condition
	method := Condition{Field: "http-request-method", Values: []string{"GET"}}
	regex := Condition{Field: "path-pattern", Regex: []string{"^/a"}}
	for name, tc := range map[string]struct {
		wide, narrow  list
		covers, apart bool
	}{
		"all requests":                     {list{}, list{hosts("a.test")}, true, false},
		"the same":                         {list{hosts("a.test"), paths("/a")}, list{paths("/a"), hosts("a.test")}, true, false},
		"a pattern of paths":               {list{paths("/a*")}, list{paths("/a/b*")}, true, false},
		"a pattern for one character":      {list{paths("/?")}, list{paths("/a")}, true, false},
		"one character is not many":        {list{paths("/?")}, list{paths("/*")}, false, false},
		"case does not count in hosts":     {list{hosts("*.TEST")}, list{hosts("a.Test")}, true, false},
		"it counts in paths":               {list{paths("/A")}, list{paths("/a")}, false, true},
		"each of several hosts":            {list{hosts("a.test", "b.test")}, list{hosts("b.test")}, true, false},
		"a host too many":                  {list{hosts("b.test")}, list{hosts("a.test", "b.test")}, false, false},
		"other hosts":                      {list{hosts("a.test")}, list{hosts("b.test"), paths("/a")}, false, true},
		"patterns with other ends":         {list{hosts("*.a.test")}, list{hosts("*.b.test")}, false, true},
		"patterns with other starts":       {list{paths("/a/*")}, list{paths("/b/*")}, false, true},
		"patterns that may meet":           {list{hosts("a.*")}, list{hosts("*.test")}, false, false},
		"any path, of any host":            {list{hosts("a.test"), paths("/*")}, list{hosts("a.test")}, true, false},
		"a method is not known of hosts":   {list{method}, list{hosts("a.test")}, false, false},
		"the same method":                  {list{method}, list{method, hosts("a.test")}, true, false},
		"an expression is not a pattern":   {list{regex}, list{paths("/a")}, false, false},
		"one of several expressions":       {list{{Field: regex.Field, Regex: []string{"^/b", "^/a"}}}, list{regex}, true, false},
		"an expression too many":           {list{regex}, list{{Field: regex.Field, Regex: []string{"^/b", "^/a"}}}, false, false},
		"an expression of another header":  {list{{Field: "http-header", Header: "A", Regex: regex.Regex}}, list{{Field: "http-header", Header: "B", Regex: regex.Regex}}, false, false},
		"a pattern says more than a start": {list{paths("/a*c")}, list{paths("/a*")}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Covers(tc.wide, tc.narrow); got != tc.covers {
				t.Errorf("covers: %v, want %v", got, tc.covers)
			}
			if got := Apart(tc.wide, tc.narrow) || Apart(tc.narrow, tc.wide); got != tc.apart {
				t.Errorf("apart: %v, want %v", got, tc.apart)
			}
		})
	}
}

// What is said of two patterns holds for each text.
func FuzzPatterns(f *testing.F) {
	f.Add("/a*", "/a/?", "/a/b")
	f.Add("*.test", "a.*", "a.test")
	f.Add("a**?", "?*", "ab")
	f.Fuzz(func(t *testing.T, a, b, text string) {
		if len(a)+len(b)+len(text) > 30 || strings.ContainsFunc(a+b+text, func(r rune) bool { return r > 127 }) || strings.ContainsAny(text, wildcards) {
			return
		}
		inA, inB := expression(a).MatchString(text), expression(b).MatchString(text)
		if inB && !inA && fits(a, b) {
			t.Errorf("%q is said to hold whenever %q does, but not for %q", a, b, text)
		}
		if inA && inB && !mayMeet(a, b) {
			t.Errorf("%q and %q are said to be apart, but both hold for %q", a, b, text)
		}
	})
}

func expression(pattern string) *regexp.Regexp {
	quoted := regexp.QuoteMeta(pattern)
	return regexp.MustCompile("(?s)^" + strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(quoted) + "$")
}
