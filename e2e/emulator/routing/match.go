// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package routing

import (
	"net/netip"
	"regexp"
	"slices"
	"strings"
)

// Request is what conditions may ask about.
type Request struct {
	Method string
	// Host is without its port, Path as it was sent, Query without its question mark.
	Host, Path, Query string
	Header            map[string][]string
	Source            netip.Addr
}

// Holds reports whether a condition holds of a request: one of its values fits.
func (c Condition) Holds(r Request) bool {
	switch c.Field {
	case HostHeader:
		return c.fits(strings.ToLower(r.Host), true)
	case PathPattern:
		return c.fits(r.Path, false)
	case HTTPMethod:
		return slices.Contains(c.Values, r.Method)
	case HTTPHeader:
		return c.holdsHeader(r)
	case QueryString:
		return slices.ContainsFunc(c.Query, func(p Parameter) bool { return p.in(r.Query) })
	}
	return slices.ContainsFunc(c.Values, func(v string) bool {
		prefix, err := netip.ParsePrefix(v)
		return err == nil && prefix.Contains(r.Source.Unmap())
	})
}

// fits reports whether a text fits one of the patterns or regular expressions; fold has the patterns' case not matter.
func (c Condition) fits(text string, fold bool) bool {
	return slices.ContainsFunc(c.Values, func(pattern string) bool { return likeFold(pattern, text, fold) }) ||
		slices.ContainsFunc(c.Regex, func(pattern string) bool {
			re, err := regexp.Compile(pattern)
			return err == nil && re.MatchString(text)
		})
}

func (c Condition) holdsHeader(r Request) bool {
	for name, values := range r.Header {
		if strings.EqualFold(name, c.Header) && slices.ContainsFunc(values, func(v string) bool { return c.fits(v, true) }) {
			return true
		}
	}
	return false
}

// in reports whether a query has the parameter. It is compared as it was sent, without regard to case.
func (p Parameter) in(query string) bool {
	for pair := range strings.SplitSeq(query, "&") {
		key, value, _ := strings.Cut(pair, "=")
		if likeFold(p.Value, value, true) && (p.Key == "" || likeFold(p.Key, key, true)) {
			return true
		}
	}
	return false
}

func likeFold(pattern, text string, fold bool) bool {
	if fold {
		pattern, text = strings.ToLower(pattern), strings.ToLower(text)
	}
	return like(pattern, text)
}

// like matches a whole text with a pattern in which * stands for any run of characters and ? for any one. It goes back to the last
// star alone, so its time is at most the product of both lengths.
func like(pattern, text string) bool {
	p, t := 0, 0
	star, resume := -1, 0
	for t < len(text) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, resume = p, t
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == text[t]):
			p++
			t++
		case star >= 0:
			resume++
			p, t = star+1, resume
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}
