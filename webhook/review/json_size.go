// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package review

import (
	"bytes"
	"encoding/json"
	"math"
)

// The values in a part of JSON are counted before it is decoded. Decoded, a value takes up to fifty times the memory of its
// text, so only the number of values limits memory and work. encoding/json and apimachinery's json have no such limit.

// AllDepths counts commas at any depth.
const AllDepths = math.MaxInt

// HoldsMore reports whether a JSON object or list has more than most members, down to a depth; 1 counts its own members only.
func HoldsMore(data []byte, most, depth int) bool {
	if len(data) < most || bytes.Count(data, []byte{','}) < most {
		return false
	}
	return commas(data, depth) >= most // every member but the first follows a comma
}

// commas counts the commas between values, not those in strings, down to depth. Its result for invalid JSON does not matter,
// because that is never decoded.
func commas(data []byte, depth int) (count int) {
	text, at := false, 0
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case c == '\\':
			i++ // an escaped character does not end a string
		case c == '"':
			text = !text
		case text:
		case c == '{' || c == '[':
			at++
		case c == '}' || c == ']':
			at--
		case c == ',' && at <= depth:
			count++
		}
	}
	return count
}

// LongestList is how many members a list of a pod may have that is decoded. So it limits the patch, which is longer than its
// cause. No node runs a pod with so many containers, and no tool writes so many labels, annotations or gates.
const LongestList = 1000

// Bounded is a JSON list or object with at most LongestList members. One with more members is not decoded, nor is one that
// occurs twice in the same object.
type Bounded[T any] struct {
	Value   T
	TooLong bool
	seen    bool
}

// UnmarshalJSON decodes the value unless it is too long.
func (b *Bounded[T]) UnmarshalJSON(data []byte) error {
	b.TooLong = b.TooLong || b.seen || HoldsMore(data, LongestList, 1)
	b.seen = true
	if b.TooLong {
		return nil
	}
	return json.Unmarshal(data, &b.Value)
}
