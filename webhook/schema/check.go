// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"fmt"
	"maps"
	"math"
	"net"
	"slices"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Faults are what a CRD refuses of a spec.
type Faults struct {
	// Made are refused now. Of an update, they are in what it changes: a value is the same if it is equal, and all of a list is new if
	// anything in it changes.
	Made field.ErrorList
	// All would be refused of a new object.
	All field.ErrorList
}

// Check returns the faults of a spec, given as JSON. Before is the former spec, empty if the object is new. A spec that is no JSON is an
// error. Its cost is linear in the number of values, which the caller limits.
func (s *Schema) Check(spec, before []byte) (Faults, error) {
	now, was := any(nil), any(nil)
	if len(spec) > 0 {
		if err := json.Unmarshal(spec, &now); err != nil {
			return Faults{}, err
		}
	}
	if len(before) > 0 {
		if err := json.Unmarshal(before, &was); err != nil {
			return Faults{}, err
		}
	}
	if now == nil { // no spec is one without fields
		now = map[string]any{}
	}
	var c check
	c.value(s.spec, field.NewPath("spec"), now, was)
	return c.faults, nil
}

// check collects faults.
type check struct {
	faults Faults
	same   bool // the value was there before
}

func (c *check) add(fault *field.Error) {
	c.faults.All = append(c.faults.All, fault)
	if !c.same {
		c.faults.Made = append(c.faults.Made, fault)
	}
}

// value checks a value that was once before, or nil.
func (c *check) value(n *node, path *field.Path, now, before any) {
	if !c.same && before != nil && equal(now, before) {
		c.same = true
		defer func() { c.same = false }()
	}
	if !n.fits(now) {
		c.add(field.Invalid(path, field.OmitValueType{}, fmt.Sprintf("must be %s, not %s", n.kind(), kindOf(now))))
		return
	}
	switch now := now.(type) {
	case string:
		c.text(n, path, now)
	case int64:
		c.number(n, path, now)
	case []any:
		c.list(n, path, now)
	case map[string]any:
		was, _ := before.(map[string]any)
		c.object(n, path, now, was)
	}
}

func (c *check) object(n *node, path *field.Path, now, before map[string]any) {
	for _, name := range n.Required {
		if now[name] == nil {
			c.add(field.Required(path.Child(name), "must be set"))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		value := now[name]
		switch property := n.Properties[name]; {
		case value == nil: // API servers take null for a field that is not set
		case property != nil:
			c.value(property, path.Child(name), value, before[name])
		case n.Values != nil:
			c.value(n.Values, path.Key(name), value, before[name])
		}
	}
}

func (c *check) list(n *node, path *field.Path, now []any) {
	if n.MaxItems != nil && len(now) > *n.MaxItems {
		c.add(field.TooMany(path, len(now), *n.MaxItems))
	}
	if len(now) < n.MinItems {
		c.add(field.Invalid(path, field.OmitValueType{}, fmt.Sprintf("must have at least %d items", n.MinItems)))
	}
	for i, item := range now {
		c.value(n.Items, path.Index(i), item, nil)
	}
}

func (c *check) number(n *node, path *field.Path, now int64) {
	if n.Format == "int32" && (now < math.MinInt32 || now > math.MaxInt32) {
		c.add(field.Invalid(path, now, "must fit into 32 bits"))
	}
}

func (c *check) text(n *node, path *field.Path, now string) {
	length := utf8.RuneCountInString(now)
	if n.MaxLength != nil && length > *n.MaxLength {
		c.add(field.TooLong(path, nil, *n.MaxLength))
		return
	}
	if length < n.MinLength {
		c.add(field.Invalid(path, now, fmt.Sprintf("must have at least %d characters", n.MinLength)))
	}
	if len(n.Enum) > 0 && !slices.Contains(n.Enum, now) {
		c.add(field.NotSupported(path, now, n.Enum))
	}
	if n.pattern != nil && !n.pattern.MatchString(now) {
		c.add(field.Invalid(path, now, "must match "+n.Pattern))
	}
	if _, _, err := net.ParseCIDR(now); n.Format == "cidr" && err != nil {
		c.add(field.Invalid(path, now, "must be a CIDR block, such as 192.168.1.0/24 or 2001:db8::/64"))
	}
}

// equal compares two values of JSON. Unlike package reflect, it keeps no list of where it has been.
func equal(a, b any) bool {
	switch a := a.(type) {
	case []any:
		b, same := b.([]any)
		return same && slices.EqualFunc(a, b, equal)
	case map[string]any:
		b, same := b.(map[string]any)
		return same && maps.EqualFunc(a, b, equal)
	default:
		switch b.(type) {
		case []any, map[string]any:
			return false
		}
		return a == b
	}
}

// fits reports whether the value is of the schema's type.
func (n *node) fits(value any) bool {
	if number, whole := value.(float64); whole && number == math.Trunc(number) {
		value = int64(0)
	}
	switch value.(type) {
	case string:
		return n.Type == "string" || n.IntOrString
	case int64:
		return n.Type == "integer" || n.IntOrString
	case bool:
		return n.Type == "boolean"
	case []any:
		return n.Type == "array"
	case map[string]any:
		return n.Type == "object"
	default:
		return false
	}
}

// kind names the type in the words of a manifest's author.
func (n *node) kind() string {
	if n.IntOrString {
		return "an integer or a string"
	}
	return map[string]string{
		"string": "a string", "boolean": "a boolean", "array": "a list", "object": "an object", "integer": "an integer",
	}[n.Type]
}

func kindOf(value any) string {
	switch value.(type) {
	case string:
		return "string"
	case bool:
		return "bool"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	case nil:
		return "null"
	default:
		return "number"
	}
}
