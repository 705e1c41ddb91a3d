// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import "time"

// EventKind says what an Event is about.
type EventKind string

// The kinds of events.
const (
	// Changed is a new health; From and To hold the old one and the new one.
	Changed EventKind = "changed"
	// RoutingStarted and RoutingStopped say from when on a target gets new requests or connections, and no more.
	RoutingStarted EventKind = "routing-started"
	RoutingStopped EventKind = "routing-stopped"
)

// Event is one line of the journal.
type Event struct {
	Time   time.Time
	Kind   EventKind
	Group  string
	Target Target
	From   Health
	To     Health
	// Cut asks the data plane to end what is still in flight to the target.
	Cut bool
}

// Journal returns the events from position since on, oldest first.
func (m *Machine) Journal(since int) []Event {
	m.enter()
	m.leave()
	return m.journal.Since(since)
}

func (m *Machine) show(g *group, t *target, to Health, at time.Time) {
	m.change(g, t, to, at, false)
}

// change sets what is shown of a target and writes it down, if it differs.
func (m *Machine) change(g *group, t *target, to Health, at time.Time, cut bool) {
	if t.health == to {
		return
	}
	from := t.health
	t.health = to
	m.journal.Append(Event{Time: at, Kind: Changed, Group: g.ARN, Target: t.Target, From: from, To: to, Cut: cut})
}
