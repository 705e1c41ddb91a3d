// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package account

import (
	"maps"
	"slices"

	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

// Note takes in a change that was made, with the IDs of all its references, and what it has made.
func (v *View) Note(id stack.ID, change steps.Change, done steps.Made) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.tick++
	e := v.entries[id]
	if e == nil {
		e = &entry{seen: stack.Stack{ID: id}, detailed: true, looked: v.Clock.Now()}
		if id.Name != "" { // else it is of no stack, as the security group that all share
			v.entries = put(v.entries, id, e)
		}
	}
	e.changed = v.tick
	v.noteParts(change, done.ID)
	e.seen.SecurityGroups = append(e.seen.SecurityGroups, v.shared...)
	change.On(&e.seen, done)
	e.seen.Bindings = nil // these are read from the API server
	isShared := func(g stack.SecurityGroup) bool { return g.Shared }
	v.shared = slices.DeleteFunc(slices.Clone(e.seen.SecurityGroups), func(g stack.SecurityGroup) bool { return !g.Shared })
	e.seen.SecurityGroups = slices.DeleteFunc(e.seen.SecurityGroups, isShared)
	if e.detailed { // else its listeners are not known
		for _, s := range e.seen.All() {
			s.Attach()
		}
	}
}

// noteParts takes note of what was made and deleted: AWS may not show it yet, and may show it still. Sweeps list what has its tags from the
// start. The caller holds the lock.
func (v *View) noteParts(change steps.Change, id string) {
	if part, tags := steps.Created(change); part != "" {
		v.made = put(v.made, id, made{tags: maps.Clone(tags), at: v.Clock.Now()})
		if tags != nil {
			v.tags = put(v.tags, id, maps.Clone(tags))
		}
	}
	if old := steps.Deleted(change); old != "" {
		v.gone = put(v.gone, old, v.Clock.Now())
		delete(v.made, old)
	}
}

// put sets a key of a map that may be nil.
func put[K comparable, V any](to map[K]V, key K, value V) map[K]V {
	if to == nil {
		to = map[K]V{}
	}
	to[key] = value
	return to
}
