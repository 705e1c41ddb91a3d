// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"maps"
	"regexp"
	"strings"
	"unicode/utf8"
)

// As AWS documents tags of load balancers and target groups. A star is not among the characters.
const (
	mostTags     = 50
	longestKey   = 128
	longestValue = 256
)

var tagPattern = regexp.MustCompile(`^[\p{L}\p{Z}\p{N}_.:/=+\-@]*$`)

// CheckTags refuses tags that AWS does.
func CheckTags(tags map[string]string) error {
	for key, value := range tags {
		switch {
		case key == "" || utf8.RuneCountInString(key) > longestKey:
			return Unfit("tags.member.key", key, "have length between 1 and 128")
		case utf8.RuneCountInString(value) > longestValue:
			return Unfit("tags.member.value", value, "have length less than or equal to 256")
		case !tagPattern.MatchString(key):
			return Unfit("tags.member.key", key, "satisfy regular expression pattern: "+tagPattern.String())
		case !tagPattern.MatchString(value):
			return Unfit("tags.member.value", value, "satisfy regular expression pattern: "+tagPattern.String())
		case strings.HasPrefix(strings.ToLower(key), "aws:"):
			return Invalid("Tag keys starting with 'aws:' are reserved for internal use")
		}
	}
	return nil
}

// AddTags sets tags of a target group.
func (m *Machine) AddTags(arn string, tags map[string]string) error {
	if err := CheckTags(tags); err != nil {
		return err
	}
	m.enter()
	defer m.leave()
	g, err := m.group(arn)
	if err != nil {
		return err
	}
	added := maps.Clone(g.tags)
	maps.Copy(added, tags)
	if len(added) > mostTags {
		return Refuse("TooManyTags", "The maximum number of tags has been reached on resource '%s'", arn)
	}
	g.tags = added
	return nil
}

// RemoveTags removes tags of a target group; one that is not there is no error.
func (m *Machine) RemoveTags(arn string, keys ...string) error {
	m.enter()
	defer m.leave()
	g, err := m.group(arn)
	if err != nil {
		return err
	}
	for _, key := range keys {
		delete(g.tags, key)
	}
	return nil
}

// Tags are those of a target group.
func (m *Machine) Tags(arn string) (map[string]string, error) {
	m.enter()
	defer m.leave()
	g, err := m.group(arn)
	if err != nil {
		return nil, err
	}
	return maps.Clone(g.tags), nil
}
