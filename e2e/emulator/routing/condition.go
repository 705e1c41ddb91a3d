// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package routing

import (
	"cmp"
	"net/netip"
	"regexp"
	"strings"

	"github.com/targetgate/targetgate/e2e/emulator/refusal"
)

// Fields of conditions.
const (
	HostHeader  = "host-header"
	PathPattern = "path-pattern"
	HTTPHeader  = "http-header"
	HTTPMethod  = "http-request-method"
	QueryString = "query-string"
	SourceIP    = "source-ip"
)

// Condition holds of requests of which one of the values fits.
type Condition struct {
	Field  string
	Header string // name, of http-header alone
	Values []string
	// Regex are values of host-header, path-pattern and http-header as regular expressions, in place of Values.
	Regex []string
	Query []Parameter // the values of query-string
}

// Parameter is one of a query. Without a key it fits by its value alone.
type Parameter struct{ Key, Value string }

// evaluations is how many values a condition has.
func (c Condition) evaluations() int { return len(c.Values) + len(c.Regex) + len(c.Query) }

// wildcards is how many * and ? its values have.
func (c Condition) wildcards() int {
	if c.Field == HTTPMethod || c.Field == SourceIP {
		return 0
	}
	count := 0
	texts := append([]string{}, c.Values...)
	for _, p := range c.Query {
		texts = append(texts, p.Key, p.Value)
	}
	for _, text := range texts {
		count += strings.Count(text, "*") + strings.Count(text, "?")
	}
	return count
}

// Single conditions may be there once in a rule.
var single = map[string]bool{HostHeader: true, PathPattern: true, HTTPMethod: true, SourceIP: true}

// ValidateConditions checks all conditions of a rule.
func ValidateConditions(conditions []Condition, mostValues, mostWildcards int) error {
	if len(conditions) == 0 {
		return refusal.Invalid("A condition must be specified")
	}
	seen, values, wildcards := map[string]bool{}, 0, 0
	for _, c := range conditions {
		if single[c.Field] && seen[c.Field] {
			return refusal.Invalid("A rule can only have one '%s' condition", c.Field)
		}
		seen[c.Field] = true
		if err := c.validate(); err != nil {
			return err
		}
		values += c.evaluations()
		wildcards += c.wildcards()
	}
	switch {
	case values > mostValues:
		return refusal.Invalid("A rule can only have '%d' condition values", mostValues)
	case wildcards > mostWildcards:
		return refusal.Invalid("A rule can only have '%d' condition wildcards", mostWildcards)
	}
	return nil
}

var (
	// As the API reference has it: a host name must have a "." (HostHeaderConditionConfig), header names have 40 characters of RFC 7230
	// (HttpHeaderConditionConfig).
	headerName  = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,40}$")
	hostValue   = regexp.MustCompile(`^[A-Za-z0-9.*?_-]{1,128}$`)
	pathValue   = regexp.MustCompile(`^[A-Za-z0-9_.$/~"'@:+*?&;=%,()!\\-]{1,128}$`)
	methodValue = regexp.MustCompile(`^[A-Z_-]{1,40}$`)
)

const longestCondition = 128

func (c Condition) validate() error {
	if c.evaluations() == 0 {
		return refusal.Invalid("A condition value must be specified for '%s'", c.Field)
	}
	fits := map[string]func(string) bool{
		HostHeader:  func(v string) bool { return hostValue.MatchString(v) && strings.Contains(v, ".") },
		PathPattern: pathValue.MatchString,
		HTTPMethod:  methodValue.MatchString,
		HTTPHeader:  func(v string) bool { return v != "" && len(v) <= longestCondition },
		QueryString: func(string) bool { return false }, // has parameters
		SourceIP:    func(v string) bool { _, err := netip.ParsePrefix(v); return err == nil },
	}[c.Field]
	if fits == nil {
		return refusal.Invalid("Condition field '%s' must be one of '[path-pattern, host-header, http-header, http-request-method, "+
			"query-string, source-ip]'", c.Field)
	}
	for _, value := range c.Values {
		if !fits(value) {
			return refusal.Invalid("The value '%s' is not valid for a '%s' condition", value, c.Field)
		}
	}
	return cmp.Or(c.validateRegex(), c.validateQuery(), c.validateHeader())
}

func (c Condition) validateRegex() error {
	if len(c.Regex) > 0 && c.Field != HostHeader && c.Field != PathPattern && c.Field != HTTPHeader {
		return refusal.Invalid("Regular expressions cannot be used in a '%s' condition", c.Field)
	}
	for _, text := range c.Regex {
		if _, err := regexp.Compile(text); err != nil || text == "" || len(text) > longestCondition {
			return refusal.Invalid("The regular expression '%s' is not valid", text)
		}
	}
	return nil
}

func (c Condition) validateQuery() error {
	if len(c.Query) > 0 && c.Field != QueryString {
		return refusal.Invalid("Parameters cannot be used in a '%s' condition", c.Field)
	}
	for _, p := range c.Query {
		if p.Value == "" || len(p.Key) > longestCondition || len(p.Value) > longestCondition {
			return refusal.Invalid("The query parameter '%s=%s' is not valid", p.Key, p.Value)
		}
	}
	return nil
}

func (c Condition) validateHeader() error {
	if (c.Field == HTTPHeader) != (c.Header != "") {
		return refusal.Invalid("A header name must be specified for 'http-header' conditions, and for no others")
	}
	if c.Header != "" && !headerName.MatchString(c.Header) {
		return refusal.Invalid("The header name '%s' is not valid", c.Header)
	}
	if strings.EqualFold(c.Header, "host") {
		return refusal.Invalid("The header 'Host' cannot be used in an 'http-header' condition: use 'host-header'")
	}
	return nil
}
