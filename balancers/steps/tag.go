// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"maps"
	"slices"
	"strings"

	"github.com/targetgate/targetgate/balancers/stack"
)

// Tag adds tags of any part of AWS, and replaces their values.
type Tag struct {
	Of   stack.Ref
	Tags map[string]string
}

func (c Tag) Text() string { return "tag " + refText(c.Of) + " with " + mapText(c.Tags) }
func (Tag) Effect() Effect { return Sets }

func (c Tag) On(seen *stack.Stack, _ Made) {
	if tags := seen.TagsOf(c.Of.ID); tags != nil {
		now := map[string]string{}
		maps.Copy(now, *tags)
		maps.Copy(now, c.Tags)
		*tags = now
	}
}

// Untag removes tags of any part of AWS.
type Untag struct {
	Of   stack.Ref
	Keys []string
}

func (c Untag) Text() string {
	return "remove tags " + strings.Join(c.Keys, ", ") + " from " + refText(c.Of)
}
func (Untag) Effect() Effect { return Sets }

func (c Untag) On(seen *stack.Stack, _ Made) {
	if tags := seen.TagsOf(c.Of.ID); tags != nil {
		*tags = maps.Clone(*tags)
		maps.DeleteFunc(*tags, func(key, _ string) bool { return slices.Contains(c.Keys, key) })
	}
}
