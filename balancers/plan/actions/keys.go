// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package actions

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/targetgate/targetgate/balancers/stack"
)

// Naming gives a target group the name by which it is compared.
type Naming func(stack.Ref) string

// ID tells all target groups apart. Those that are not made yet have their resource tag.
func ID(group stack.Ref) string {
	if group.ID != "" {
		return group.ID
	}
	return "part " + group.Part
}

// Same reports whether AWS does by the action that is seen what the one that is wanted says.
func Same(wanted, seen stack.Action) bool {
	return Key(wanted, ID) == Key(seen, ID) && keepsClientsAs(wanted.Forward, seen.Forward)
}

// SameRule is Same for rules.
func SameRule(wanted, seen stack.Rule) bool {
	return RuleKey(wanted, ID) == RuleKey(seen, ID) && keepsClientsAs(wanted.Action.Forward, seen.Action.Forward)
}

// keepsClientsAs reports whether the stickiness that is seen is that which is wanted, of forwards whose keys are equal. That of a single
// target group does nothing, but the incumbent writes it again where it is wanted and differs.
func keepsClientsAs(wanted, seen *stack.Forward) bool {
	return wanted == nil || seen == nil || wanted.Sticky == seen.Sticky || wanted.Sticky+wanted.StickyOff == 0
}

// RuleKey is equal for two rules when AWS does the same by both. It is the incumbent's comparison, so that adopting its rules changes
// none.
func RuleKey(rule stack.Rule, name Naming) string {
	return ConditionsKey(rule.Conditions) + " -> " + transformsKey(rule.Transforms) + Key(rule.Action, name)
}

// AnyVersion is the rule with no version of its client secret.
func AnyVersion(rule stack.Rule) stack.Rule {
	if rule.Action.SecretVersion() != "" {
		oidc := *rule.Action.Auth.OIDC
		oidc.Version = ""
		rule.Action.Auth = &stack.Auth{OIDC: &oidc}
	}
	return rule
}

func transformsKey(transforms []stack.Transform) string {
	var list []string
	for _, t := range transforms {
		list = append(list, t.Type)
		for _, r := range t.Rewrites {
			list = append(list, r.Regex, r.Replace)
		}
	}
	return joined(list)
}

// ConditionsKey leaves the order of conditions aside, and keeps that of their values.
func ConditionsKey(conditions []stack.Condition) string {
	keys := make([]string, len(conditions))
	for i, c := range conditions {
		list := []string{c.Field, strings.ToLower(c.Header), joined(c.Values), joined(c.Regex)}
		for _, parameter := range c.Query {
			list = append(list, parameter.Key, parameter.Value)
		}
		keys[i] = joined(list)
	}
	slices.Sort(keys)
	return joined(keys)
}

// joined is equal for equal lists alone.
func joined(list []string) string {
	var key strings.Builder
	for _, text := range list {
		key.WriteString(strconv.Itoa(len(text)))
		key.WriteByte(':')
		key.WriteString(text)
	}
	return key.String()
}

// Key is equal for two actions when AWS does the same by both.
func Key(action stack.Action, name Naming) string {
	return authKey(action.Auth) + answerKey(action, name)
}

// authKey compares versions of client secrets, which are never seen.
func authKey(auth *stack.Auth) string {
	switch {
	case auth == nil:
		return ""
	case auth.Cognito != nil:
		c := auth.Cognito
		return "cognito " + joined(append([]string{c.UserPoolARN, c.ClientID, c.Domain}, sessionTexts(c.Session)...))
	case auth.OIDC != nil:
		o := auth.OIDC
		return "oidc " + joined(append([]string{o.Issuer, o.AuthorizationEndpoint, o.TokenEndpoint, o.UserInfoEndpoint, o.ClientID, o.Version},
			sessionTexts(o.Session)...))
	}
	list := []string{auth.JWT.JWKSEndpoint, auth.JWT.Issuer}
	for _, claim := range auth.JWT.Claims {
		list = append(list, claim.Format, claim.Name, joined(claim.Values))
	}
	return "jwt " + joined(list)
}

func sessionTexts(s stack.Session) []string {
	list := []string{s.Scope, s.Cookie, strconv.FormatInt(s.Timeout, 10), s.Unauthenticated}
	for _, key := range slices.Sorted(maps.Keys(s.Extra)) {
		list = append(list, key, s.Extra[key])
	}
	return list
}

func answerKey(action stack.Action, name Naming) string {
	switch {
	case action.Unknown != "":
		return "unknown " + action.Unknown
	case action.Forward != nil:
		return forwardKey(*action.Forward, name)
	case action.Redirect != nil:
		r := action.Redirect.Filled()
		return "redirect " + joined([]string{r.Protocol, r.Host, r.Port, r.Path, r.Query, r.Status})
	case action.Fixed != nil:
		return "fixed " + joined([]string{action.Fixed.Status, action.Fixed.ContentType, action.Fixed.Body})
	}
	return ""
}

// SendingKey is equal for actions that send the same requests to the same target groups, whoever may pass.
func SendingKey(action stack.Action) string {
	if action.Forward == nil {
		return answerKey(action, ID)
	}
	forward := stack.Forward{Sticky: action.Forward.Sticky, StickyOff: action.Forward.StickyOff}
	for _, w := range action.Forward.Groups {
		if SendsTo(action, w.Group) {
			forward.Groups = append(forward.Groups, w)
		}
	}
	return forwardKey(forward, ID)
}

// forwardKey leaves the order of target groups aside. The weight of a single one does not count, nor does its stickiness; nor do the
// seconds of one that is switched off.
func forwardKey(forward stack.Forward, name Naming) string {
	weights := map[string]int32{}
	for _, group := range forward.Groups {
		weights[name(group.Group)] += group.Weight
	}
	if len(weights) == 1 {
		return "forward " + joined(slices.Sorted(maps.Keys(weights)))
	}
	list := []string{strconv.Itoa(int(forward.Sticky))}
	for _, group := range slices.Sorted(maps.Keys(weights)) {
		list = append(list, group, strconv.Itoa(int(weights[group])))
	}
	return "forward " + joined(list)
}
