// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tag has the limits of tags. Those of EC2 allow more characters, see package ec2.
package tag

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/targetgate/targetgate/e2e/emulator/refusal"
)

// As AWS documents tags of load balancers, target groups and certificates. A star is not among the characters.
const (
	Most         = 50 // of one resource
	LongestKey   = 128
	LongestValue = 256
)

var pattern = regexp.MustCompile(`^[\p{L}\p{Z}\p{N}_.:/=+\-@]*$`)

// Check refuses tags that AWS does; how many a resource may have is for the caller to check.
func Check(tags map[string]string) error {
	for key, value := range tags {
		switch {
		case key == "" || utf8.RuneCountInString(key) > LongestKey:
			return refusal.Unfit("tags.member.key", key, "have length between 1 and 128")
		case utf8.RuneCountInString(value) > LongestValue:
			return refusal.Unfit("tags.member.value", value, "have length less than or equal to 256")
		case !pattern.MatchString(key):
			return refusal.Unfit("tags.member.key", key, "satisfy regular expression pattern: "+pattern.String())
		case !pattern.MatchString(value):
			return refusal.Unfit("tags.member.value", value, "satisfy regular expression pattern: "+pattern.String())
		case strings.HasPrefix(strings.ToLower(key), "aws:"):
			return refusal.Invalid("Tag keys starting with 'aws:' are reserved for internal use")
		}
	}
	return nil
}
