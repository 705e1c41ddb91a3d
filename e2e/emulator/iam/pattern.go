// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package iam

import (
	"regexp"
	"strings"
)

// pattern is text in which * stands for any text and ? for any character.
type pattern struct {
	text string
	re   *regexp.Regexp
}

func newPattern(text string, anyCase bool) pattern {
	flags := "(?s)"
	if anyCase {
		flags = "(?is)"
	}
	quoted := strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(regexp.QuoteMeta(text))
	return pattern{text, regexp.MustCompile(flags + "^" + quoted + "$")}
}

// Like reports whether text fits a pattern with * and ?, as for the condition StringLike.
func Like(like, text string) bool { return newPattern(like, false).re.MatchString(text) }
