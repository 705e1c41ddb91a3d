// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"bytes"
	"encoding/json"
	"math"
)

// How many values a piece of JSON holds is found out before it is decoded: decoded, a value takes up to fifty times what it
// takes as text, so only their number bounds memory and work.

// allDepths has commas be counted however deep they stand.
const allDepths = math.MaxInt

// holdsMore reports whether a JSON object or list has more than most members, down to a depth: 1 is its own members only.
func holdsMore(data []byte, most, depth int) bool {
	if len(data) < most || bytes.Count(data, []byte{','}) < most {
		return false
	}
	return commas(data, depth) >= most // all but the first member come after a comma
}

// commas counts those between values, and not those in text, that stand no deeper than depth. Of what is no JSON no value is
// ever made, so that it does not matter what it makes of that.
func commas(data []byte, depth int) (count int) {
	text, at := false, 0
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case c == '\\':
			i++ // what comes after it ends no text
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

// bounded is a list or an object in JSON of which no more than longestList members are decoded: one with more is left out, and
// one that comes a second time in the same object.
type bounded[T any] struct {
	value   T
	tooLong bool
	seen    bool
}

// UnmarshalJSON decodes the value if it is not too long.
func (b *bounded[T]) UnmarshalJSON(data []byte) error {
	b.tooLong = b.tooLong || b.seen || holdsMore(data, longestList, 1)
	b.seen = true
	if b.tooLong {
		return nil
	}
	return json.Unmarshal(data, &b.value)
}
