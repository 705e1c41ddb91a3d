// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targetgroup

import (
	"context"
	"time"

	"github.com/targetgate/targetgate/aws/awserr"
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
	Owner   string    // by that reading, the other cluster that has the group, empty for none
	Err     error     // why readings fail again and again, nil when they do not
	Denied  bool      // IAM does not let us read them
}

// IsKnown reports whether it is known what the tags say, or that we may not read them.
func (t TagReading) IsKnown() bool { return !t.ReadAt.IsZero() || t.Denied }

// tag is the reading of the tags by which the group's owner consents, and that name its owner (package consent).
type tag struct {
	retry.Slot
	last     TagReading
	deniedAt time.Time // when the last reading was denied that only had to say whose targets are; zero after any other
}

// nextAt is when the tag is due to be read: soon again where a user is asked to change it.
func (t *tag) nextAt(drift time.Duration) time.Time {
	next := time.Time{}
	switch {
	case t.last.ReadAt.IsZero() && t.deniedAt.IsZero():
	case !t.deniedAt.IsZero():
		next = t.deniedAt.Add(drift)
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

// ReadTag starts a reading of the tags if one is due: where consent is asked for, and where it has to be known whose targets are. Pods may
// wait for the first answer.
func (c *Calls) ReadTag(whose bool) time.Duration {
	if !c.Consent.Mode.Asks() && !whose || c.arn == "" {
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
	found := TagReading{ReadAt: c.Clock.Now()}
	tags, err := c.Client.Tags(ctx, urgency.Class, c.arn, consent.Keys()...)
	if err == nil {
		binder := c.Consent.Binder(c.Binding.Namespace, c.Binding.Name)
		found.Refusal, found.Owner = binder.Refusal(tags), binder.OtherCluster(tags)
	}
	c.tagDone(found, c.Clock.Now(), err, c.Consent.Mode.Asks())
}

// tagDone takes the end of a reading. One that has failed says nothing, and that we may not read the tags is no trouble where consent is
// not asked for.
func (g *Group) tagDone(found TagReading, now time.Time, err error, asks bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	t := &g.tag
	denied := awserr.IsDenied(err)
	if denied && !asks {
		t.deniedAt, err = now, nil
	}
	t.End(now, err)
	if t.last.Denied = denied; err == nil && !denied {
		t.last, t.deniedAt = found, time.Time{}
	}
}
