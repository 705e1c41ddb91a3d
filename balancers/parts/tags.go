// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package parts

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/targetgate/targetgate/balancers/fault"
	"github.com/targetgate/targetgate/balancers/stack"
)

// AllowedTags are those of the tags that users may set. Each other one is told, as a warning: the incumbent makes what is asked for all the
// same, with its own value of the tag in the place of the user's.
func AllowedTags(fault fault.Fault, tags map[string]string, tell func(fault.Fault)) map[string]string {
	allowed := make(map[string]string, len(tags))
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		if prefix := stack.ReservedBy(key); prefix != "" {
			fault.Reason = fmt.Sprintf("the tag %.150q is left out, as %s is how keys of controllers begin: remove it", key, prefix)
			tell(fault)
			continue
		}
		allowed[key] = tags[key]
	}
	return allowed
}

// TagsOf are all tags of a part of a stack. Users' tags count the less the earlier they come; what finds the part again counts most.
func (o *Options) TagsOf(id stack.ID, part string, users ...map[string]string) map[string]string {
	tags := o.Tags(users...)
	maps.Copy(tags, stack.Tags(id.Cluster, id.Kind, id.Name, part))
	return tags
}

// Tags are those of users with the default ones.
func (o *Options) Tags(users ...map[string]string) map[string]string {
	layers := append(slices.Clone(users), o.DefaultTags)
	if o.DefaultTagsLast {
		layers = append([]map[string]string{o.DefaultTags}, users...)
	}
	tags := map[string]string{}
	for _, layer := range layers {
		maps.Copy(tags, layer)
	}
	return tags
}

// CheckTags is the fault with the Reason filled in when users may not set one of the tags, of those that are allowed.
func (o *Options) CheckTags(fault fault.Fault, tags map[string]string) error {
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		switch {
		case slices.Contains(o.ExternalTags, key):
			fault.Reason = fmt.Sprintf("the tag %s is left to others by --external-managed-tags: leave it out", key)
			return fault
		case !isTagText(key, 1, stack.LongestTagKey) || strings.HasPrefix(strings.ToLower(key), "aws:"):
			fault.Reason = fmt.Sprintf("the key %.50q: must be 1 to 128 %s, and not aws: at the beginning", key, tagCharacters)
			return fault
		case !isTagText(tags[key], 0, stack.LongestTagValue):
			fault.Reason = fmt.Sprintf("the value %.50q of the tag %s: must be at most 256 %s", tags[key], key, tagCharacters)
			return fault
		}
	}
	return nil
}

// What tags of load balancers are made of.
const tagCharacters = "letters, digits, blanks and _.:/=+-@"

var tagText = regexp.MustCompile(`^[\p{L}\p{Z}\p{N}_.:/=+\-@]*$`)

// isTagText reports whether it has so many characters that tags are made of. A regular expression that counts them takes megabytes.
func isTagText(text string, least, most int) bool {
	count := utf8.RuneCountInString(text)
	return least <= count && count <= most && tagText.MatchString(text)
}
