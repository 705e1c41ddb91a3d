// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"maps"
	"strings"
	"time"

	"github.com/targetgate/targetgate/e2e/emulator/refusal"
	"github.com/targetgate/targetgate/e2e/emulator/tag"
)

// tagged finds the tags of what has an ARN here: a load balancer, listener, rule or target group.
func (m *Machine) tagged(arn string) (map[string]string, error) {
	if tags, ok := m.tags.Latest(arn); ok {
		return tags, nil
	}
	return nil, notFound(arn)
}

// notFound is the error for an ARN that nothing has.
func notFound(arn string) error {
	switch {
	case strings.Contains(arn, ":loadbalancer/"):
		return loadBalancerNotFound()
	case strings.Contains(arn, ":listener/"):
		return listenerNotFound()
	case strings.Contains(arn, ":listener-rule/"):
		return ruleNotFound()
	case strings.Contains(arn, ":targetgroup/"):
		return groupNotFound()
	}
	return refusal.Invalid("'%s' is not a valid ARN", arn)
}

// begin has what is new have its tags, and be found by API calls after a while (Delays.Shown).
func (m *Machine) begin(arn string, tags map[string]string, now time.Time) {
	m.putTags(arn, tags, now)
	if delay := m.region.Draw(m.opts.Delays.Shown); delay > 0 {
		m.hidden[arn] = now.Add(delay)
	}
}

// Find is the error for an ARN of something so new that API calls do not find it yet.
func (m *Machine) Find(arn string) error {
	if m.opts.Delays.Shown.Max == 0 {
		return nil
	}
	now := m.enter()
	defer m.leave()
	if now.Before(m.hidden[arn]) {
		return notFound(arn)
	}
	return nil
}

func (m *Machine) putTags(arn string, tags map[string]string, now time.Time) {
	copied := map[string]string{}
	maps.Copy(copied, tags)
	m.tags.Put(arn, copied, now, m.oldestTags(now))
}

// oldestTags is the earliest time that a reader of tags may be shown at now.
func (m *Machine) oldestTags(now time.Time) time.Time {
	return now.Add(-m.region.Scaled(m.opts.Delays.Tags.Max))
}

// dropTags ends what has tags.
func (m *Machine) dropTags(arn string) {
	delete(m.tags, arn)
	delete(m.hidden, arn)
}

// AddTags sets tags of a load balancer, listener, rule or target group.
func (m *Machine) AddTags(arn string, tags map[string]string) error {
	if err := tag.Check(tags); err != nil {
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
	if len(added) > tag.Most {
		return refusal.New("TooManyTags", "The maximum number of tags has been reached on resource '%s'", arn)
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
	at := now.Add(-m.region.Draw(m.opts.Delays.Tags))
	var all []map[string]string
	for _, arn := range arns {
		if _, err := m.tagged(arn); err != nil {
			return nil, err
		}
		tags, _ := m.tags.Seen(arn, at)
		all = append(all, maps.Clone(tags))
	}
	return all, nil
}
