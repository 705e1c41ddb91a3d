// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targetgroup

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/targetgate/targetgate/aws/awserr"
	"github.com/targetgate/targetgate/aws/budget"
	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/retry"
)

// Reading is when to read the health of targets next, what that is charged to, and of which: nil is the whole group.
type Reading struct {
	At      time.Time
	Class   budget.Class
	Targets []elbv2.Target
}

// health is how the health of targets is read.
type health struct {
	retry.Slot
	queued       queuedCall
	next         []elbv2.Target // those to ask for; nil is the whole group
	namesRefused bool           // AWS has refused a reading of single targets
}

// Read starts the reading if it is due.
func (c *Calls) Read(next Reading) time.Duration {
	now := c.Clock.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	h, urgency := &c.health, next.Class.Now()
	if !h.Busy || h.next != nil { // a reading of the whole group stays one
		h.next = next.Targets
	}
	if h.Busy {
		h.queued.giveWay(urgency) // no pod waited for it, and one waits now
		return 0
	}
	due := next.At
	if due.Before(h.RetryAt) {
		due = h.RetryAt
	}
	if now.Before(due) {
		return due.Sub(now)
	}
	h.Busy = true
	h.queued = c.start(urgency, c.read)
	return 0
}

func (c *Calls) read(ctx context.Context, urgency budget.Urgency) {
	var asked []elbv2.Target
	var started time.Time
	shown, err := c.Client.Health(ctx, urgency.Class, c.arn, func() []elbv2.Target {
		asked, started = c.asked(), c.Clock.Now()
		return asked
	})
	if c.gaveWay(ctx) {
		c.readCancelled()
	} else {
		c.readDone(asked, started, c.Clock.Now(), shown, err)
	}
}

// asked are the targets to ask for now that the budget has granted the call, nil for the whole group.
func (g *Group) asked() []elbv2.Target {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.health.queued = queuedCall{}
	return g.health.next
}

// readCancelled takes the end of a reading that was never sent.
func (g *Group) readCancelled() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.health.queued = queuedCall{}
	g.health.Cancel()
}

// readDone takes what a reading showed that was started at started: of the targets it asked for, or of the whole group when that
// is nil. A failed one shows nothing.
func (g *Group) readDone(asked []elbv2.Target, started, now time.Time, shown map[elbv2.Target]elbv2.Health, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.health.End(now, err)
	g.health.queued = queuedCall{}
	if err != nil {
		g.health.namesRefused = g.health.namesRefused || asked != nil && awserr.IsInvalid(err)
		if asked == nil && elbv2.IsRejected(err) {
			g.seen.invalid = err
		}
		g.seen.vanish(err)
		return
	}
	g.seen.gone, g.seen.invalid = nil, nil
	for id := range shown {
		g.seen.target(id)
	}
	if asked == nil {
		g.seen.readAt = started
		if g.seen.firstReadAt.IsZero() {
			g.seen.firstReadAt = started
		}
		asked = slices.Collect(maps.Keys(g.seen.targets))
	}
	for _, id := range asked {
		h, isShown := shown[id]
		g.readTarget(id, started, h, isShown)
	}
}

// readTarget takes what a reading showed of one target.
func (g *Group) readTarget(id elbv2.Target, started time.Time, h elbv2.Health, shown bool) {
	s := &g.seen
	t, known := s.targets[id]
	if !known || t.outweighs(started, shown, h) {
		return
	}
	if t.isLost(shown, h) {
		s.lost = append(s.lost, id)
	}
	switch {
	case shown:
		t.read(started, h)
	case t.Owner != "" && !g.deregistration.hopelessFor(id): // readings have left targets out that were there
		t.miss(started)
	case t.mayStillBeIn(started):
	default:
		delete(s.targets, id)
	}
}
