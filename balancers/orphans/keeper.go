// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package orphans

import (
	"time"

	"github.com/targetgate/targetgate/balancers/stack"
)

// DefaultGrace is the default of --orphan-grace.
const DefaultGrace = 24 * time.Hour

// Notice is how long before it is collected a stack is told of; one with less grace is told of at once.
const Notice = 24 * time.Hour

// Most is how many stacks of a cluster may have no object, and share which part of all, one in so many. Where more have none, it is not the
// stacks that are wrong: the API server has lost its data, or the cluster's name is that of another one.
const (
	Most  = 5
	share = 10
)

// Keeper counts for how long stacks have had no object. A restart goes on counting from what is recorded of each; a time in which too many
// have none has all counted anew. Not safe for concurrent use.
type Keeper struct {
	// Grace is for how long a stack must have had none, without a break, before it is collected; 0 has none collected.
	Grace time.Duration
	// Pause is for how long this process must have seen it, if a former one has counted: an event tells of it before.
	Pause time.Duration

	orphans         map[stack.ID]*counted
	looked, tooMany bool
}

// Orphan is a stack without an object.
type Orphan struct {
	ID stack.ID
	// Recorded is since when, as an earlier look has had it recorded; zero for not known. Kept says that it is not to be collected at all.
	Recorded time.Time
	Kept     bool
}

type counted struct {
	since, from time.Time // from is when it may be collected at the earliest, whatever the grace
	told        bool
}

// Look is what a look at all stacks has found.
type Look struct {
	// Collect is the one that may be collected now, nil for none: one at a time, the first one by name of those that have waited longest.
	Collect *stack.ID
	// Tell are those to tell of, each once while it has no object, with the time at which it is collected; zero for never.
	Tell map[stack.ID]time.Time
	// Record is since when those have had none that may be collected, to the second.
	Record map[stack.ID]time.Time
	// TooMany says that too many have none, and Begins that this was not so before.
	TooMany, Begins bool
}

// Look takes in which stacks have no object, of so many in all. What is recorded counts only if this is the first look: later ones know
// better, and see where one had an object meanwhile.
func (k *Keeper) Look(without []Orphan, all int, now time.Time) Look {
	isFirst, before := !k.looked, k.orphans
	k.looked = true
	if IsTooMany(len(without), all) {
		begins := !k.tooMany
		k.tooMany, k.orphans = true, nil
		return Look{TooMany: true, Begins: begins}
	}
	k.tooMany = false
	k.orphans = make(map[stack.ID]*counted, len(without))
	found := Look{Tell: map[stack.ID]time.Time{}, Record: map[stack.ID]time.Time{}}
	for _, o := range without {
		c := before[o.ID]
		if c == nil {
			c = &counted{since: now.Truncate(time.Second)}
			if isFirst && !o.Recorded.IsZero() && o.Recorded.Before(now) {
				c.since, c.from = o.Recorded, now.Add(k.Pause)
			}
		}
		k.orphans[o.ID] = c
		k.lookAt(o, c, now, &found)
	}
	return found
}

func (k *Keeper) lookAt(o Orphan, c *counted, now time.Time, found *Look) {
	kept := o.Kept || k.Grace == 0
	var due time.Time
	if !kept {
		found.Record[o.ID] = c.since
		if due = c.since.Add(k.Grace); due.Before(c.from) {
			due = c.from
		}
	}
	if !c.told && !now.Before(due.Add(-Notice)) {
		c.told, found.Tell[o.ID] = true, due
	}
	if kept || now.Before(due) {
		return
	}
	if first := found.Collect; first == nil || k.isBefore(o.ID, *first) {
		found.Collect = &o.ID
	}
}

func (k *Keeper) isBefore(id, other stack.ID) bool {
	a, b := k.orphans[id].since, k.orphans[other].since
	return a.Before(b) || a.Equal(b) && id.Name < other.Name
}

// IsTooMany reports whether too many stacks have no object, of so many in all.
func IsTooMany(without, all int) bool { return without > Most || without*share > all }
