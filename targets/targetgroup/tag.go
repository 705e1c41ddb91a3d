// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targetgroup

import (
	"context"
	"time"

	"github.com/targetgate/targetgate/aws/budget"
	"github.com/targetgate/targetgate/targets/consent"
	"github.com/targetgate/targetgate/targets/retry"
)

// RecheckPause is the pause between checks of what a user is asked to change: a tag that refuses a binding, a binding that is not
// managed.
const RecheckPause = 30 * time.Second

// TagReading is what the group's tags say of its binding.
type TagReading struct {
	ReadAt  time.Time // when the last successful reading was started, zero before the first
	Refusal string    // by that reading, empty when the binding may have the group
	Err     error     // why readings fail again and again, nil when they do not
}

// tag is the tag by which the group's owner consents (package consent).
type tag struct {
	retry.Slot
	last TagReading
}

// nextAt is when the tag is due to be read: soon again where a user is asked to change it.
func (t *tag) nextAt(drift time.Duration) time.Time {
	next := time.Time{}
	switch {
	case t.last.ReadAt.IsZero():
	case t.last.Refusal != "":
		next = t.last.ReadAt.Add(min(RecheckPause, drift))
	default:
		next = t.last.ReadAt.Add(drift)
	}
	if next.Before(t.RetryAt) {
		return t.RetryAt
	}
	return next
}

// ReadTag starts a reading of the tag if one is due. Pods may wait for the first answer.
func (c *Calls) ReadTag() time.Duration {
	if !c.Consent.Mode.Asks() || c.arn == "" {
		return 0
	}
	now := c.Clock.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &c.tag
	if t.Busy {
		return 0
	}
	if wait := t.nextAt(c.DriftInterval).Sub(now); wait > 0 {
		return wait
	}
	urgency := budget.ClassOther.Now()
	if t.last.ReadAt.IsZero() && t.Failures+t.Throttled == 0 {
		urgency.Class = budget.ClassWaitingHealth
	}
	t.Busy = true
	c.start(urgency, c.readTag)
	return 0
}

func (c *Calls) readTag(ctx context.Context, urgency budget.Urgency) {
	started, refusal := c.Clock.Now(), ""
	tags, err := c.Client.Tags(ctx, urgency.Class, c.arn, consent.Keys()...)
	if err == nil {
		refusal = c.Consent.Binder(c.Binding.Namespace, c.Binding.Name).Refusal(tags)
	}
	c.tagDone(started, c.Clock.Now(), refusal, err)
}

// tagDone takes the end of a reading that was started at started. One that has failed says nothing.
func (g *Group) tagDone(started, now time.Time, refusal string, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.tag.End(now, err)
	if err == nil {
		g.tag.last.ReadAt, g.tag.last.Refusal = started, refusal
	}
}
