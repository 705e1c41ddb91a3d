// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"maps"
	"regexp"
	"strings"
	"time"
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

// tagged finds the tags of what has an ARN here: a load balancer, listener, rule or target group.
func (m *Machine) tagged(arn string) (map[string]string, error) {
	if tags, ok := m.tags.latest(arn); ok {
		return tags, nil
	}
	switch {
	case strings.Contains(arn, ":loadbalancer/"):
		return nil, loadBalancerNotFound()
	case strings.Contains(arn, ":listener/"):
		return nil, listenerNotFound()
	case strings.Contains(arn, ":listener-rule/"):
		return nil, ruleNotFound()
	case strings.Contains(arn, ":targetgroup/"):
		return nil, groupNotFound()
	}
	return nil, Invalid("'%s' is not a valid ARN", arn)
}

func (m *Machine) putTags(arn string, tags map[string]string, now time.Time) {
	copied := map[string]string{}
	maps.Copy(copied, tags)
	m.tags.put(arn, version[map[string]string]{since: now, value: copied}, m.oldestTags(now))
}

// oldestTags is the earliest time that a reader of tags may be shown at now.
func (m *Machine) oldestTags(now time.Time) time.Time {
	return now.Add(-m.Scaled(m.opts.Delays.Tags.Max))
}

// dropTags ends what has tags.
func (m *Machine) dropTags(arn string) { delete(m.tags, arn) }

// AddTags sets tags of a load balancer, listener, rule or target group.
func (m *Machine) AddTags(arn string, tags map[string]string) error {
	if err := CheckTags(tags); err != nil {
		return err
	}
	now := m.enter()
	defer m.leave()
	present, err := m.tagged(arn)
	if err != nil {
		return err
	}
	added := maps.Clone(present)
	maps.Copy(added, tags)
	if len(added) > mostTags {
		return Refuse("TooManyTags", "The maximum number of tags has been reached on resource '%s'", arn)
	}
	m.putTags(arn, added, now)
	return nil
}

// RemoveTags removes tags; one that is not there is no error.
func (m *Machine) RemoveTags(arn string, keys ...string) error {
	now := m.enter()
	defer m.leave()
	present, err := m.tagged(arn)
	if err != nil {
		return err
	}
	left := maps.Clone(present)
	for _, key := range keys {
		delete(left, key)
	}
	m.putTags(arn, left, now)
	return nil
}

// Tags are those of a load balancer, listener, rule or target group, as they are now.
func (m *Machine) Tags(arn string) (map[string]string, error) {
	m.enter()
	defer m.leave()
	tags, err := m.tagged(arn)
	return maps.Clone(tags), err
}

// DescribeTags are the tags as they were some time ago (Delays.Tags): of what was not there then, none.
func (m *Machine) DescribeTags(arns ...string) ([]map[string]string, error) {
	now := m.enter()
	defer m.leave()
	at := now.Add(-m.draw(m.opts.Delays.Tags))
	var all []map[string]string
	for _, arn := range arns {
		if _, err := m.tagged(arn); err != nil {
			return nil, err
		}
		tags, _ := m.tags[arn].at(at)
		all = append(all, maps.Clone(tags))
	}
	return all, nil
}
