// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/targetgate/targetgate/balancers/stack"
)

// mostLogged is how many bytes of a step stand in logs and errors: a rule may have 100 values, a security group 1,000 rules.
const mostLogged = 1024

// LogText says in one line what a change does, as logs, and others than its member, may read it: without the version of a client secret,
// and the values of headers and queries, by which load balancers may know their callers.
func LogText(change Change) string {
	text := withoutSecrets(change).Text()
	if len(text) > mostLogged {
		text = strings.ToValidUTF8(text[:mostLogged], "") + "..."
	}
	return text
}

const hidden = "(not shown)"

func withoutSecrets(change Change) Change {
	switch c := change.(type) {
	case Tag:
		if _, ok := c.Tags[stack.SecretTag]; ok {
			c.Tags = maps.Clone(c.Tags)
			c.Tags[stack.SecretTag] = hidden
		}
		return c
	case CreateRule:
		c.Rule.Conditions = withoutValues(c.Rule.Conditions)
		return c
	case ModifyRule:
		c.To.Conditions = withoutValues(c.To.Conditions)
		return c
	}
	return change
}

func withoutValues(conditions []stack.Condition) []stack.Condition {
	out := slices.Clone(conditions)
	for i, c := range out {
		if c.Header != "" || len(c.Query) > 0 {
			out[i] = stack.Condition{Field: c.Field, Header: c.Header, Values: []string{hidden}}
		}
	}
	return out
}

func inboundText(rules []stack.Inbound) string {
	texts := make([]string, len(rules))
	for i, rule := range rules {
		ports := strconv.Itoa(int(rule.From))
		if rule.To != rule.From {
			ports += "-" + strconv.Itoa(int(rule.To))
		}
		texts[i] = rule.Source + " to port " + ports
	}
	return strings.Join(texts, ", ")
}

func mapText(values map[string]string) string {
	texts := make([]string, 0, len(values))
	for _, key := range slices.Sorted(maps.Keys(values)) {
		texts = append(texts, key+"="+values[key])
	}
	return strings.Join(texts, ", ")
}

// groupText is the resource tag of a target group; of one that others have made its ARN.
func groupText(group stack.Ref) string {
	if group.Part != "" {
		return group.Part
	}
	return group.ID
}

// refText names a part so that it can be told from another that it replaces.
func refText(ref stack.Ref) string {
	switch {
	case ref.ID == "":
		return ref.Part
	case ref.Part == "":
		return ref.ID
	}
	return ref.Part + " (" + ref.ID + ")"
}

func balancerText(ref stack.Ref) string {
	if ref.ID == "" {
		return "the new load balancer"
	}
	return "load balancer " + ref.ID
}

var fieldNames = map[string]string{
	"host-header": "host", "path-pattern": "path", "http-request-method": "method", "query-string": "query",
}

// RuleText says in one line what a rule matches, and what it does.
func RuleText(rule stack.Rule) string {
	var texts []string
	for _, c := range rule.Conditions {
		name := cmp.Or(fieldNames[c.Field], c.Field)
		values := append(slices.Clone(c.Values), c.Regex...)
		for _, parameter := range c.Query {
			values = append(values, strings.TrimPrefix(parameter.Key+"="+parameter.Value, "="))
		}
		if c.Header != "" {
			name = "header " + c.Header
		}
		texts = append(texts, name+" "+strings.Join(values, " or "))
	}
	for _, t := range rule.Transforms {
		texts = append(texts, t.Type)
	}
	return strings.Join(texts, ", ") + " " + actionText(rule.Action)
}

func actionText(action stack.Action) string {
	auth := action.Auth
	switch {
	case auth == nil:
		return answerText(action)
	case auth.Cognito != nil:
		return "after a login at " + auth.Cognito.Domain + " " + answerText(action)
	case auth.OIDC != nil:
		return "after a login at " + auth.OIDC.Issuer + " " + answerText(action)
	}
	return "with a token of " + auth.JWT.Issuer + " " + answerText(action)
}

func answerText(action stack.Action) string {
	switch {
	case action.Forward != nil && len(action.Forward.Groups) == 1:
		return "to target group " + groupText(action.Forward.Groups[0].Group)
	case action.Forward != nil:
		texts := make([]string, len(action.Forward.Groups))
		for i, group := range action.Forward.Groups {
			texts[i] = groupText(group.Group) + " (weight " + strconv.Itoa(int(group.Weight)) + ")"
		}
		return "to target groups " + strings.Join(texts, ", ")
	case action.Redirect != nil:
		r := action.Redirect.Filled()
		text := fmt.Sprintf("redirect to %s://%s:%s%s", r.Protocol, r.Host, r.Port, r.Path)
		if r.Query != "" {
			text += "?" + r.Query
		}
		return text
	case action.Fixed != nil:
		return "answer " + action.Fixed.Status
	}
	return action.Unknown
}
