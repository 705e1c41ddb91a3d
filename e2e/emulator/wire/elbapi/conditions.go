// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package elbapi

import (
	"github.com/targetgate/targetgate/e2e/emulator/refusal"
	"github.com/targetgate/targetgate/e2e/emulator/routing"
	"github.com/targetgate/targetgate/e2e/emulator/wire/call"
)

type parameterXML struct {
	Key   string `xml:",omitempty"`
	Value string
}

type valuesXML struct {
	HTTPHeaderName string                `xml:"HttpHeaderName,omitempty"`
	Values         *call.Members[string] `xml:",omitempty"`
	RegexValues    *call.Members[string] `xml:",omitempty"`
}

type queryXML struct {
	Values call.Members[parameterXML]
}

type conditionXML struct {
	Field                   string
	Values                  call.Members[string]
	HostHeaderConfig        *valuesXML `xml:",omitempty"`
	PathPatternConfig       *valuesXML `xml:",omitempty"`
	HTTPHeaderConfig        *valuesXML `xml:"HttpHeaderConfig,omitempty"`
	HTTPRequestMethodConfig *valuesXML `xml:"HttpRequestMethodConfig,omitempty"`
	SourceIPConfig          *valuesXML `xml:"SourceIpConfig,omitempty"`
	QueryStringConfig       *queryXML  `xml:",omitempty"`
}

// conditionsAnswer shows hosts and paths in both places that the API has for them.
func conditionsAnswer(conditions []routing.Condition) call.Members[conditionXML] {
	var answer call.Members[conditionXML]
	for _, c := range conditions {
		shown, config := conditionXML{Field: c.Field}, &valuesXML{HTTPHeaderName: c.Header}
		if len(c.Values) > 0 {
			config.Values = &call.Members[string]{Members: c.Values}
		}
		if len(c.Regex) > 0 {
			config.RegexValues = &call.Members[string]{Members: c.Regex}
		}
		switch c.Field {
		case routing.HostHeader:
			shown.Values.Members, shown.HostHeaderConfig = c.Values, config
		case routing.PathPattern:
			shown.Values.Members, shown.PathPatternConfig = c.Values, config
		case routing.HTTPHeader:
			shown.HTTPHeaderConfig = config
		case routing.HTTPMethod:
			shown.HTTPRequestMethodConfig = config
		case routing.SourceIP:
			shown.SourceIPConfig = config
		case routing.QueryString:
			shown.QueryStringConfig = queryAnswerOf(c.Query)
		}
		answer.Members = append(answer.Members, shown)
	}
	return answer
}

func queryAnswerOf(query []routing.Parameter) *queryXML {
	var answer queryXML
	for _, p := range query {
		answer.Values.Members = append(answer.Values.Members, parameterXML(p))
	}
	return &answer
}

// configs are the elements that have the values of a field.
var configs = map[string]string{
	routing.HostHeader: "HostHeaderConfig", routing.PathPattern: "PathPatternConfig", routing.HTTPHeader: "HttpHeaderConfig",
	routing.HTTPMethod: "HttpRequestMethodConfig", routing.SourceIP: "SourceIpConfig", routing.QueryString: "QueryStringConfig",
}

// conditions reads the conditions of CreateRule and ModifyRule. Values stand in the field's element; those of hosts and paths may stand in
// Values instead.
func conditions(q *call.Request) ([]routing.Condition, error) {
	var conditions []routing.Condition
	for _, entry := range q.List("Conditions.member") {
		c := routing.Condition{Field: entry.Text("Field"), Values: entry.Texts("Values.member")}
		config := entry.At(configs[c.Field])
		if len(c.Values) > 0 && (config != nil || c.Field != routing.HostHeader && c.Field != routing.PathPattern) {
			return nil, refusal.Invalid("Values of a '%s' condition must be given once, in its configuration", c.Field)
		}
		if c.Field == routing.QueryString {
			for _, p := range config.List("Values.member") {
				c.Query = append(c.Query, routing.Parameter{Key: p.Text("Key"), Value: p.Text("Value")})
			}
		} else if config != nil {
			c.Values = config.Texts("Values.member")
			c.Regex, c.Header = config.Texts("RegexValues.member"), config.Text("HttpHeaderName")
		}
		conditions = append(conditions, c)
	}
	return conditions, nil
}
