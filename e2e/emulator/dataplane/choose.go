// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"sync"

	"github.com/targetgate/targetgate/e2e/emulator/state"
)

// turns count what was chosen so far, by what it was chosen for.
type turns struct {
	mu     sync.Mutex
	counts map[string]uint64
}

// next is 0 at first, and then one more each time.
func (t *turns) next(key string) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counts == nil {
		t.counts = map[string]uint64{}
	}
	turn := t.counts[key]
	t.counts[key]++
	return turn
}

// choose picks one of the groups that a rule forwards to by their weights, "" when all weights are 0. A group without targets is
// chosen like any other.
func (d *door) choose(rule state.ListenerRule) string {
	if rule.Action.Forward == nil {
		return ""
	}
	groups := rule.Action.Forward.Groups
	if len(groups) == 1 { // its weight does not count
		return groups[0].Group
	}
	total := uint64(0)
	for _, g := range groups {
		total += uint64(g.Weight)
	}
	if total == 0 {
		return ""
	}
	place := d.turns.next(rule.ARN) % total * stride(total) % total
	for _, g := range groups {
		if place < uint64(g.Weight) {
			return g.Group
		}
		place -= uint64(g.Weight)
	}
	return "" // not reached
}

// stride mixes the groups: steps of it visit each of total places once before any twice.
func stride(total uint64) uint64 {
	step := max(1, total*618/1000)
	for divisor(step, total) != 1 {
		step++
	}
	return step
}

// divisor is the greatest common one.
func divisor(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
