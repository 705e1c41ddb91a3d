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

// Keeper counts for how long stacks have had no object. It remembers that in memory alone: a restart begins anew, and so does a time in
// which too many have none. Nothing is written to AWS for it, where the stacks may be another cluster's. Not safe for concurrent use.
type Keeper struct {
	// Grace is for how long a stack must have had none, without a break, before it is collected; 0 has none collected.
	Grace time.Duration

	orphans map[stack.ID]*orphan
	tooMany bool
}

type orphan struct {
	since time.Time
	told  bool
}

// Look is what a look at all stacks has found.
type Look struct {
	// Collect is the one that may be collected now, nil for none: one at a time, the first one by name of those that have waited longest.
	Collect *stack.ID
	// Tell are those to tell of, each once while it has no object, with the time at which it is collected; zero for never.
	Tell map[stack.ID]time.Time
	// TooMany says that too many have none, and Begins that this was not so before.
	TooMany, Begins bool
}

// Look takes in which stacks have no object, of so many in all, and which of them are not to be collected at all.
func (k *Keeper) Look(without []stack.ID, kept map[stack.ID]bool, all int, now time.Time) Look {
	if isTooMany(len(without), all) {
		begins := !k.tooMany
		k.tooMany, k.orphans = true, nil
		return Look{TooMany: true, Begins: begins}
	}
	k.tooMany = false
	before := k.orphans
	k.orphans = make(map[stack.ID]*orphan, len(without))
	found := Look{Tell: map[stack.ID]time.Time{}}
	for _, id := range without {
		o := before[id]
		if o == nil {
			o = &orphan{since: now}
		}
		k.orphans[id] = o
		k.lookAt(id, o, kept[id] || k.Grace == 0, now, &found)
	}
	return found
}

func (k *Keeper) lookAt(id stack.ID, o *orphan, kept bool, now time.Time, found *Look) {
	due := o.since.Add(k.Grace)
	if kept {
		due = time.Time{}
	}
	if !o.told && !now.Before(due.Add(-Notice)) {
		o.told, found.Tell[id] = true, due
	}
	if kept || now.Before(due) {
		return
	}
	if first := found.Collect; first == nil || k.isBefore(id, *first) {
		found.Collect = &id
	}
}

func (k *Keeper) isBefore(id, other stack.ID) bool {
	a, b := k.orphans[id].since, k.orphans[other].since
	return a.Before(b) || a.Equal(b) && id.Name < other.Name
}

func isTooMany(without, all int) bool { return without > Most || without*share > all }
