// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package routing

import (
	"regexp"
	"slices"

	"github.com/targetgate/targetgate/e2e/emulator/refusal"
)

// The types of transforms.
const (
	HostRewrite = "host-header-rewrite"
	URLRewrite  = "url-rewrite"
)

// Transform puts Replace in the place of what Regex matches in a request's host, or in its path and query.
type Transform struct {
	Type, Regex, Replace string
}

// numbered is a group in what replaces a match. Go would read $1_v2 as one name.
var numbered = regexp.MustCompile(`\$(\d+)`)

// Apply is the text as the transform of that type makes it.
func Apply(transforms []Transform, kind, text string) string {
	for _, t := range transforms {
		if t.Type == kind {
			re := regexp.MustCompile(t.Regex) // it was checked
			if match := re.FindStringSubmatchIndex(text); match != nil {
				return text[:match[0]] + string(re.ExpandString(nil, numbered.ReplaceAllString(t.Replace, "$${$1}"), text, match)) + text[match[1]:]
			}
		}
	}
	return text
}

// ValidateTransforms checks all transforms of a rule.
func ValidateTransforms(transforms []Transform) error {
	for n, t := range transforms {
		if err := refusal.OneOf("type", t.Type, []string{HostRewrite, URLRewrite}); err != nil {
			return err
		}
		if slices.ContainsFunc(transforms[:n], func(other Transform) bool { return other.Type == t.Type }) {
			return refusal.Invalid("A rule can have one transform of type '%s'", t.Type)
		}
		if _, err := regexp.Compile(t.Regex); err != nil || t.Regex == "" {
			return refusal.Invalid("'%s' is not a valid regular expression", t.Regex)
		}
	}
	return nil
}
