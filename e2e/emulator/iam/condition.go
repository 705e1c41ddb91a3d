// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package iam

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// condition is one key of one operator; all conditions of a statement must hold.
type condition struct {
	operator string
	key      string // in lower case, but for the key of a tag
	values   []string
}

func conditions(document map[string]map[string]list[string]) ([]condition, error) {
	var all []condition
	for operator, keys := range document {
		for key, values := range keys {
			c := condition{operator, canonicalKey(key), values}
			if err := c.validate(); err != nil {
				return nil, fmt.Errorf("condition %s of %s: %w", operator, key, err)
			}
			all = append(all, c)
		}
	}
	return all, nil
}

func (c condition) validate() error {
	if len(c.values) == 0 {
		return errors.New("it has no value")
	}
	switch c.operator {
	case "StringEquals", "StringLike", forAll + "StringEquals":
	case "Null":
		if len(c.values) != 1 || c.values[0] != "true" && c.values[0] != "false" {
			return fmt.Errorf("value is %q, want true or false", c.values)
		}
	default:
		return errors.New("the operator is not one of StringEquals, StringLike, ForAllValues:StringEquals and Null")
	}
	if slices.ContainsFunc(c.values, func(v string) bool { return strings.Contains(v, "${") }) {
		return errors.New("variables are not understood")
	}
	return nil
}

// canonicalKey lowers the case of a condition key, which does not matter, but for the key of a tag.
func canonicalKey(key string) string {
	name, tag, tagged := strings.Cut(key, "/")
	if tagged {
		return strings.ToLower(name) + "/" + tag
	}
	return strings.ToLower(name)
}

// forAll begins operators that hold when each of a key's values fits, also of none. A call has at most one here.
const forAll = "ForAllValues:"

// holds reports whether a condition holds for a call. Without the key, only Null and forAll may hold.
func (c condition) holds(context map[string]string) bool {
	value, there := context[c.key]
	switch c.operator {
	case "Null":
		return there == (c.values[0] == "false")
	case "StringLike":
		return there && slices.ContainsFunc(c.values, func(like string) bool { return Like(like, value) })
	}
	return !there && strings.HasPrefix(c.operator, forAll) || there && slices.Contains(c.values, value)
}
