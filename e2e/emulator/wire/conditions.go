// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import "github.com/targetgate/targetgate/e2e/emulator/state"

type parameterXML struct {
	Key   string `xml:",omitempty"`
	Value string
}

type valuesXML struct {
	HTTPHeaderName string           `xml:"HttpHeaderName,omitempty"`
	Values         *members[string] `xml:",omitempty"`
	RegexValues    *members[string] `xml:",omitempty"`
}

type queryXML struct {
	Values members[parameterXML]
}

type conditionXML struct {
	Field                   string
	Values                  members[string]
	HostHeaderConfig        *valuesXML `xml:",omitempty"`
	PathPatternConfig       *valuesXML `xml:",omitempty"`
	HTTPHeaderConfig        *valuesXML `xml:"HttpHeaderConfig,omitempty"`
	HTTPRequestMethodConfig *valuesXML `xml:"HttpRequestMethodConfig,omitempty"`
	SourceIPConfig          *valuesXML `xml:"SourceIpConfig,omitempty"`
	QueryStringConfig       *queryXML  `xml:",omitempty"`
}

// conditionsAnswer shows hosts and paths in both places that the API has for them.
func conditionsAnswer(conditions []state.Condition) members[conditionXML] {
	var answer members[conditionXML]
	for _, c := range conditions {
		shown, config := conditionXML{Field: c.Field}, &valuesXML{HTTPHeaderName: c.Header}
		if len(c.Values) > 0 {
			config.Values = &members[string]{c.Values}
		}
		if len(c.Regex) > 0 {
			config.RegexValues = &members[string]{c.Regex}
		}
		switch c.Field {
		case state.HostHeader:
			shown.Values.Members, shown.HostHeaderConfig = c.Values, config
		case state.PathPattern:
			shown.Values.Members, shown.PathPatternConfig = c.Values, config
		case state.HTTPHeader:
			shown.HTTPHeaderConfig = config
		case state.HTTPMethod:
			shown.HTTPRequestMethodConfig = config
		case state.SourceIP:
			shown.SourceIPConfig = config
		case state.QueryString:
			shown.QueryStringConfig = queryAnswerOf(c.Query)
		}
		answer.Members = append(answer.Members, shown)
	}
	return answer
}

func queryAnswerOf(query []state.Parameter) *queryXML {
	var answer queryXML
	for _, p := range query {
		answer.Values.Members = append(answer.Values.Members, parameterXML(p))
	}
	return &answer
}

// configs are the elements that have the values of a field.
var configs = map[string]string{
	state.HostHeader: "HostHeaderConfig", state.PathPattern: "PathPatternConfig", state.HTTPHeader: "HttpHeaderConfig",
	state.HTTPMethod: "HttpRequestMethodConfig", state.SourceIP: "SourceIpConfig", state.QueryString: "QueryStringConfig",
}

// conditions reads the conditions of CreateRule and ModifyRule. Values stand in the field's element; those of hosts and paths may stand in
// Values instead.
func (q *request) conditions() ([]state.Condition, error) {
	var conditions []state.Condition
	for _, entry := range q.list("Conditions.member") {
		c := state.Condition{Field: entry.text("Field"), Values: entry.texts("Values.member")}
		config := entry.at(configs[c.Field])
		if len(c.Values) > 0 && (config != nil || c.Field != state.HostHeader && c.Field != state.PathPattern) {
			return nil, state.Invalid("Values of a '%s' condition must be given once, in its configuration", c.Field)
		}
		if c.Field == state.QueryString {
			for _, p := range config.list("Values.member") {
				c.Query = append(c.Query, state.Parameter{Key: p.text("Key"), Value: p.text("Value")})
			}
		} else if config != nil {
			c.Values = config.texts("Values.member")
			c.Regex, c.Header = config.texts("RegexValues.member"), config.text("HttpHeaderName")
		}
		conditions = append(conditions, c)
	}
	return conditions, nil
}
