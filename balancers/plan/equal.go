// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/targetgate/targetgate/balancers/stack"
)

// naming gives a target group the name by which it is compared.
type naming func(stack.Ref) string

// byID tells all target groups apart. Those that are not made yet have their resource tag.
func byID(group stack.Ref) string {
	if group.ID != "" {
		return group.ID
	}
	return "part " + group.Part
}

// ruleKey is equal for two rules when AWS does the same by both. It is the incumbent's comparison, so that adopting its rules changes
// none.
func ruleKey(rule stack.Rule, name naming) string {
	return conditionsKey(rule.Conditions) + " -> " + actionKey(rule.Action, name)
}

// conditionsKey leaves the order of conditions aside, and keeps that of their values.
func conditionsKey(conditions []stack.Condition) string {
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

func actionKey(action stack.Action, name naming) string {
	switch {
	case action.Unknown != "":
		return "unknown " + action.Unknown
	case action.Forward != nil:
		return forwardKey(*action.Forward, name)
	case action.Redirect != nil:
		r := filled(*action.Redirect)
		return "redirect " + joined([]string{r.Protocol, r.Host, r.Port, r.Path, r.Query, r.Status})
	case action.Fixed != nil:
		return "fixed " + joined([]string{action.Fixed.Status, action.Fixed.ContentType, action.Fixed.Body})
	}
	return ""
}

// forwardKey leaves the order of target groups aside. The weight of a single one does not count, nor does its stickiness.
func forwardKey(forward stack.Forward, name naming) string {
	weights := map[string]int32{}
	for _, group := range forward.Groups {
		weights[name(group.Group)] += group.Weight
	}
	if len(weights) == 1 {
		return "forward " + joined(keys(weights))
	}
	list := []string{strconv.Itoa(int(forward.Sticky))}
	for _, group := range keys(weights) {
		list = append(list, group, strconv.Itoa(int(weights[group])))
	}
	return "forward " + joined(list)
}

// filled has the placeholders that AWS puts in where a redirect says nothing.
func filled(r stack.Redirect) stack.Redirect {
	return stack.Redirect{
		Protocol: cmp.Or(r.Protocol, "#{protocol}"), Host: cmp.Or(r.Host, "#{host}"), Port: cmp.Or(r.Port, "#{port}"),
		Path: cmp.Or(r.Path, "/#{path}"), Query: cmp.Or(r.Query, "#{query}"), Status: r.Status,
	}
}

// keys of a map, in order.
func keys[V any](of map[string]V) []string {
	list := make([]string, 0, len(of))
	for key := range of {
		list = append(list, key)
	}
	slices.Sort(list)
	return list
}
