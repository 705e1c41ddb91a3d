// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package reading

import (
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/ingress/input"
	"github.com/targetgate/targetgate/balancers/stack"
)

// What AWS takes as the values of conditions.
const (
	longestValue = 128
	allowedHost  = "1 to 128 letters, digits and ._-*? with a dot among them"
	allowedPath  = `1 to 128 letters, digits and _-.$/~"'@:+*?&;=%,()!\`
)

var (
	hostValue  = regexp.MustCompile(`^[A-Za-z0-9.*?_-]{1,128}$`)
	pathValue  = regexp.MustCompile(`^[A-Za-z0-9_.$/~"'@:+*?&;=%,()!\\-]{1,128}$`)
	method     = regexp.MustCompile(`^[A-Z_-]{1,40}$`)
	headerName = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,40}$")
)

// checkPatterns is the first value of conditions that AWS does not take.
func checkPatterns(conditions []stack.Condition) error {
	for _, c := range conditions {
		if c.Field == annotation.HTTPHeader && (!headerName.MatchString(c.Header) || strings.EqualFold(c.Header, "host")) {
			return fmt.Errorf("httpHeaderName %.50q: must be 1 to 40 characters of a header's name, and host-header for the host", c.Header)
		}
		for _, value := range c.Values {
			if want := wantOf(c.Field, value); want != "" {
				return fmt.Errorf("%s %.50q: must be %s", c.Field, value, want)
			}
		}
		if err := checkOthers(c); err != nil {
			return err
		}
	}
	return nil
}

// checkOthers is the first regular expression or parameter that AWS does not take.
func checkOthers(c stack.Condition) error {
	for _, expression := range c.Regex {
		if !isText(expression) || isBroken(expression) {
			return fmt.Errorf("%s: %.50q is no regular expression of 1 to %d characters", c.Field, expression, longestValue)
		}
	}
	for _, p := range c.Query {
		if !isText(p.Value) || p.Key != "" && !isText(p.Key) {
			return fmt.Errorf("%s %.50q: must have a value, and at most %d characters", c.Field, p.Key+"="+p.Value, longestValue)
		}
	}
	return nil
}

// wantOf is what would be right in the place of the value, "" if it is right.
func wantOf(field, value string) string {
	right, want := isText(value), fmt.Sprintf("1 to %d characters", longestValue)
	switch field {
	case annotation.HostHeader:
		right, want = hostValue.MatchString(value) && strings.Contains(value, "."), allowedHost
	case annotation.PathPattern:
		right, want = pathValue.MatchString(value), allowedPath
	case annotation.RequestMethod:
		right, want = method.MatchString(value), "1 to 40 of A-Z, - and _"
	case annotation.SourceIP:
		_, err := netip.ParsePrefix(value)
		right, want = err == nil, "a CIDR such as 10.0.0.0/8 or 2001:db8::/32"
	}
	if right {
		return ""
	}
	return want
}

func isText(value string) bool { return value != "" && utf8.RuneCountInString(value) <= longestValue }

// isBroken reports whether an expression is none in any dialect: AWS does not say which is its own.
func isBroken(expression string) bool {
	var broken *syntax.Error
	_, err := syntax.Parse(expression, syntax.Perl)
	return errors.As(err, &broken) && slices.Contains([]syntax.ErrorCode{
		syntax.ErrMissingParen, syntax.ErrUnexpectedParen, syntax.ErrMissingBracket, syntax.ErrMissingRepeatArgument,
		syntax.ErrTrailingBackslash,
	}, broken.Code)
}

// checkCounts finds what a rule may have once, or some times, and has more often.
func checkCounts(o *input.Options, conditions []stack.Condition) error {
	values, wildcards, once := 0, 0, map[string]bool{}
	for _, c := range conditions {
		if once[c.Field] && (c.Field == annotation.RequestMethod || c.Field == annotation.SourceIP) {
			return errors.New("the rule has two conditions of " + c.Field + ": set one, with the values of both")
		}
		once[c.Field] = true
		values += len(c.Values) + len(c.Regex) + len(c.Query)
		wildcards += wildcardsOf(c)
	}
	switch {
	case values > o.Limits.ConditionValues:
		return tooManyValues(values, o)
	case wildcards > o.Limits.ConditionWildcards:
		return fmt.Errorf("the rule has %d wildcards in its conditions: AWS allows %d", wildcards, o.Limits.ConditionWildcards)
	}
	return nil
}

// countValues counts the values of an annotation's conditions.
func countValues(conditions []annotation.Condition) (n int) {
	for _, c := range conditions {
		n += c.Len()
	}
	return n
}

func tooManyValues(values int, o *input.Options) error {
	return fmt.Errorf("the rule has %d values in its conditions: AWS allows %d", values, o.Limits.ConditionValues)
}

func wildcardsOf(c stack.Condition) (n int) {
	if c.Field == annotation.RequestMethod || c.Field == annotation.SourceIP {
		return 0
	}
	texts := slices.Clone(c.Values)
	for _, p := range c.Query {
		texts = append(texts, p.Key, p.Value)
	}
	for _, text := range texts {
		n += strings.Count(text, "*") + strings.Count(text, "?")
	}
	return n
}

// LeadsToItself reports whether the rule redirects to what it matches.
func LeadsToItself(rule stack.Rule, protocol annotation.Protocol, port int32) bool {
	to := rule.Action.Redirect
	if to == nil {
		return false
	}
	regex := func(c stack.Condition) bool { return c.Field == annotation.PathPattern && len(c.Regex) > 0 }
	if slices.ContainsFunc(rule.Conditions, regex) || to.Query != annotation.SameQuery {
		return false
	}
	return slices.Contains(append(ValuesOf(rule.Conditions, annotation.HostHeader), annotation.SameHost), to.Host) &&
		slices.Contains(append(ValuesOf(rule.Conditions, annotation.PathPattern), annotation.SamePath), to.Path) &&
		slices.Contains([]string{annotation.SamePort, strconv.Itoa(int(port))}, to.Port) &&
		slices.Contains([]string{annotation.SameProtocol, string(protocol)}, to.Protocol)
}

// ValuesOf are the values that a condition on the field wants, nil without one.
func ValuesOf(conditions []stack.Condition, field string) []string {
	for _, condition := range conditions {
		if condition.Field == field {
			return slices.Clip(condition.Values)
		}
	}
	return nil
}
