// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package annotation

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/targetgate/targetgate/balancers/stack"
)

const mostTags = stack.MostTags

// parseMap parses key=value pairs between commas. A backslash takes the next character literally, so that keys and values may have
// commas. The same key twice: the last one counts.
func parseMap(value string) (map[string]string, error) {
	if err := atMost(strings.Count(value, ","), mostCommas, "commas"); err != nil {
		return nil, err
	}
	pairs := map[string]string{}
	for more := strings.TrimSpace(value) != ""; more; {
		var pair string
		pair, value, more = cutUnescaped(value, ',')
		key, word, found := cutUnescaped(pair, '=')
		if key, word = unescape(key), unescape(word); !found {
			return nil, fmt.Errorf("%.50q has no equals sign: must be key=value pairs with commas between them; write \\, for a comma in a value",
				key)
		}
		if key == "" {
			return nil, fmt.Errorf("the key before %.50q is empty", word)
		}
		pairs[key] = word
	}
	return pairs, nil
}

// mapOf parses so many pairs at most.
func mapOf(most int, what string) func(string) (map[string]string, error) {
	return func(value string) (map[string]string, error) {
		pairs, err := parseMap(value)
		if many := atMost(len(pairs), most, what); many != nil {
			return nil, many
		}
		return pairs, err
	}
}

// cutUnescaped cuts the text around the first separator without a backslash before it.
func cutUnescaped(text string, separator byte) (before, after string, found bool) {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case separator:
			return text[:i], text[i+1:], true
		}
	}
	return text, "", false
}

// unescape takes backslashes away, but for those that stand behind another, and blanks around the text.
func unescape(text string) string {
	if !strings.Contains(text, `\`) && utf8.ValidString(text) { // as nearly all
		return strings.TrimSpace(text)
	}
	var out strings.Builder
	escaped := false
	for _, r := range text {
		if escaped = r == '\\' && !escaped; !escaped {
			out.WriteRune(r)
		}
	}
	return strings.TrimSpace(out.String())
}

// mostCommas is how many commas JSON, and lists of key=value, may have, also in their texts: decoded, a value takes up to fifty times the
// memory of its text. The longest text that AWS takes has 1024 characters, and no list has a hundred values.
const mostCommas = 2000

// ParseJSON parses JSON as Go decodes it: the case of field names does not count, and unknown fields are ignored.
func ParseJSON[T any](value string) (out T, err error) {
	if n := strings.Count(value, ","); n > mostCommas {
		return out, fmt.Errorf("has %d commas: must be at most %d, which is more than a load balancer takes", n, mostCommas)
	}
	if err := json.Unmarshal([]byte(value), &out); err != nil {
		return out, fmt.Errorf("is not the JSON that is wanted: %w", err)
	}
	return out, nil
}
