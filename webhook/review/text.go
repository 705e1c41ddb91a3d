// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package review

import "unicode/utf8"

// CutTo shortens a text to at most so many bytes, at a character boundary.
func CutTo(text string, most int) string {
	if len(text) <= most {
		return text
	}
	end := most - len("…")
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}
