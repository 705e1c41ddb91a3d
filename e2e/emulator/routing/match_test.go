// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package routing

import (
	"net/netip"
	"testing"
)

func TestConditions(t *testing.T) {
	request := Request{
		Method: "GET", Host: "Shop.Example.com", Path: "/Cart/items", Query: "color=Red&empty&n=1",
		Header: map[string][]string{"X-Env": {"canary", "Blue"}}, Source: netip.MustParseAddr("10.1.2.3"),
	}
	cases := map[string]struct {
		condition Condition
		want      bool
	}{
		"a host in other case":                     {Condition{Field: HostHeader, Values: []string{"SHOP.example.COM"}}, true},
		"a host by star":                           {Condition{Field: HostHeader, Values: []string{"*.example.com"}}, true},
		"a star stands for dots, too":              {Condition{Field: HostHeader, Values: []string{"s*m"}}, true},
		"a question mark is one character":         {Condition{Field: HostHeader, Values: []string{"sho?.example.com"}}, true},
		"a question mark is not none":              {Condition{Field: HostHeader, Values: []string{"shop?.example.com"}}, false},
		"a part of a host does not match":          {Condition{Field: HostHeader, Values: []string{"example.com"}}, false},
		"one of two hosts":                         {Condition{Field: HostHeader, Values: []string{"a.com", "shop.example.com"}}, true},
		"a host by regular expression":             {Condition{Field: HostHeader, Regex: []string{"^shop[.]"}}, true},
		"a path":                                   {Condition{Field: PathPattern, Values: []string{"/Cart/*"}}, true},
		"a path in other case":                     {Condition{Field: PathPattern, Values: []string{"/cart/*"}}, false},
		"a star stands for slashes, too":           {Condition{Field: PathPattern, Values: []string{"/C*s"}}, true},
		"a path has no query":                      {Condition{Field: PathPattern, Values: []string{"/Cart/items?color*"}}, false},
		"a prefix needs a star":                    {Condition{Field: PathPattern, Values: []string{"/Cart"}}, false},
		"a method":                                 {Condition{Field: HTTPMethod, Values: []string{"PUT", "GET"}}, true},
		"a method has no stars":                    {Condition{Field: HTTPMethod, Values: []string{"G*"}}, false},
		"a header whose name has other case":       {Condition{Field: HTTPHeader, Header: "x-env", Values: []string{"canary"}}, true},
		"the second value of a header in any case": {Condition{Field: HTTPHeader, Header: "X-Env", Values: []string{"bl?e"}}, true},
		"a header that is not there":               {Condition{Field: HTTPHeader, Header: "X-None", Values: []string{"*"}}, false},
		"a parameter in any case":                  {Condition{Field: QueryString, Query: []Parameter{{"COLOR", "red"}}}, true},
		"a parameter by its value alone":           {Condition{Field: QueryString, Query: []Parameter{{"", "1"}}}, true},
		"a parameter with another value":           {Condition{Field: QueryString, Query: []Parameter{{"color", "blue"}}}, false},
		"one of two parameters":                    {Condition{Field: QueryString, Query: []Parameter{{"no", "no"}, {"n", "?"}}}, true},
		"an address in one of two ranges":          {Condition{Field: SourceIP, Values: []string{"192.0.2.0/24", "10.1.0.0/16"}}, true},
		"an address outside":                       {Condition{Field: SourceIP, Values: []string{"10.2.0.0/16"}}, false},
		"an address of the other family":           {Condition{Field: SourceIP, Values: []string{"::/0"}}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.condition.Holds(request); got != tc.want {
				t.Errorf("holds is %v, want %v", got, tc.want)
			}
		})
	}
}

// reference is like in the simplest way.
func reference(pattern, text string) bool {
	switch {
	case pattern == "":
		return text == ""
	case pattern[0] == '*':
		return reference(pattern[1:], text) || text != "" && reference(pattern, text[1:])
	}
	return text != "" && (pattern[0] == '?' || pattern[0] == text[0]) && reference(pattern[1:], text[1:])
}

func FuzzLike(f *testing.F) {
	for _, seed := range [][2]string{{"", ""}, {"*", ""}, {"a*b?c", "aXXbYc"}, {"*ab*ab", "abab"}, {"?", ""}, {"a**", "a"}, {"*a?", "aab"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if len(pattern) > 12 || len(text) > 16 {
			t.Skip("the reference is slow")
		}
		if got, want := like(pattern, text), reference(pattern, text); got != want {
			t.Errorf("like(%q, %q) is %v, want %v", pattern, text, got, want)
		}
	})
}
