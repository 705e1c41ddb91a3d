// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package annotation

import (
	"errors"
	"fmt"
	"slices"
)

// Condition is what must hold of a request, as an annotation says it. It has the config of its Field if that is known.
type Condition struct {
	Field                   string
	HostHeaderConfig        *Texts
	PathPatternConfig       *Texts
	HTTPHeaderConfig        *Header
	HTTPRequestMethodConfig *Values
	QueryStringConfig       *Query
	SourceIPConfig          *Values
}

// Values are texts of which one must fit.
type Values struct {
	Values []string
}

// Texts are patterns with * and ?, or else regular expressions, of which one must fit.
type Texts struct {
	Values, RegexValues []string
}

// Header is a request header of which one text must fit.
type Header struct {
	HTTPHeaderName string
	Texts
}

// Query is parameters of which one must be there. A parameter without a key fits by its value alone.
type Query struct {
	Values []Parameter
}

// Parameter is one of a query.
type Parameter struct {
	Key   *string
	Value string
}

func parseConditions(value string) ([]Condition, error) {
	conditions, err := ParseJSON[[]Condition](value)
	if err != nil {
		return nil, err
	}
	for i, condition := range conditions {
		if err := condition.check(); err != nil {
			return nil, fmt.Errorf("[%d], field %.30q: %w", i, condition.Field, err)
		}
	}
	return conditions, nil
}

func (c Condition) check() error {
	switch c.Field {
	case HostHeader:
		return c.HostHeaderConfig.check("hostHeaderConfig")
	case PathPattern:
		return c.PathPatternConfig.check("pathPatternConfig")
	case HTTPHeader:
		return c.HTTPHeaderConfig.check()
	case RequestMethod:
		return c.HTTPRequestMethodConfig.check("httpRequestMethodConfig")
	case QueryString:
		return c.QueryStringConfig.check()
	case SourceIP:
		return c.SourceIPConfig.check("sourceIpConfig")
	}
	return nil
}

// ConditionFields are those that are known.
func ConditionFields() []string {
	return []string{HostHeader, PathPattern, HTTPHeader, RequestMethod, QueryString, SourceIP}
}

// IsKnown reports whether the Field is known. A condition on another is ignored.
func (c Condition) IsKnown() bool { return slices.Contains(ConditionFields(), c.Field) }

// Len is how many values a condition on a known field has.
func (c Condition) Len() int {
	switch c.Field {
	case HostHeader:
		return c.HostHeaderConfig.len()
	case PathPattern:
		return c.PathPatternConfig.len()
	case HTTPHeader:
		return c.HTTPHeaderConfig.len()
	case RequestMethod:
		return len(c.HTTPRequestMethodConfig.Values)
	case QueryString:
		return len(c.QueryStringConfig.Values)
	default: // SourceIP
		return len(c.SourceIPConfig.Values)
	}
}

func (t *Texts) len() int { return len(t.Values) + len(t.RegexValues) }

func (h *Header) check() error {
	if h == nil {
		return errors.New("set httpHeaderConfig")
	}
	return h.Texts.check("httpHeaderConfig")
}

func (q *Query) check() error {
	if q == nil || len(q.Values) == 0 {
		return errors.New("set queryStringConfig with values")
	}
	return nil
}

func (t *Texts) check(name string) error {
	if t == nil || (len(t.Values) == 0) == (len(t.RegexValues) == 0) {
		return fmt.Errorf("set %s with either values or regexValues", name)
	}
	return nil
}

func (v *Values) check(name string) error {
	if v == nil || len(v.Values) == 0 {
		return fmt.Errorf("set %s with values", name)
	}
	return nil
}

// The fields of conditions that fields of Ingresses ask for, too.
const (
	HostHeader  = "host-header"
	PathPattern = "path-pattern"
)

// The fields of conditions that only annotations have.
const (
	HTTPHeader  = "http-header"
	QueryString = "query-string"
)

// The fields of conditions that only annotations have, and at most once.
const (
	RequestMethod = "http-request-method"
	SourceIP      = "source-ip"
)
