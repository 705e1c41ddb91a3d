// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/targetgate/targetgate/e2e/emulator/region"
)

// echo is the old picture of a target, which DescribeTargetHealth goes on showing for a while after a call that changed it.
type echo struct {
	until  time.Time
	line   TargetHealth
	listed bool // the target was there at all
}

// linger keeps the picture of a target that readers have now, before a call changes it. What lingers already lingers on.
func (m *Machine) linger(g *group, key Key, now time.Time) {
	g.fade(now)
	length := m.region.Draw(m.visible(g))
	if length <= 0 {
		return
	}
	line, listed := g.shown(key)
	g.echoes[key] = echo{until: now.Add(length), line: line, listed: listed}
}

// visible is how far what is shown of a group lags behind.
func (m *Machine) visible(g *group) region.Range {
	if g.visible != nil {
		return *g.visible
	}
	return m.timing(g).Visible
}

// SetVisible replaces Timing.Visible for one group, from the next call on.
func (m *Machine) SetVisible(groupARN string, visible region.Range) error {
	m.enter()
	defer m.leave()
	g, err := m.group(groupARN)
	if err != nil {
		return err
	}
	g.visible = &visible
	return nil
}

// fade drops the pictures whose time is over.
func (g *group) fade(now time.Time) {
	maps.DeleteFunc(g.echoes, func(_ Key, e echo) bool { return !now.Before(e.until) })
}

// shown is what DescribeTargetHealth says of a target; false is one that it does not list.
func (g *group) shown(key Key) (TargetHealth, bool) {
	if e, ok := g.echoes[key]; ok {
		return e.line, e.listed
	}
	if t, ok := g.targets[key]; ok && !t.hidden {
		return g.line(t), true
	}
	return TargetHealth{}, false
}

// list is everything that DescribeTargetHealth shows: in order of registration, and at the end what has gone already.
func (g *group) list() []TargetHealth {
	var keys []Key
	for _, t := range g.members {
		keys = append(keys, t.Key)
	}
	left := slices.SortedFunc(maps.Keys(g.echoes), func(a, b Key) int { return strings.Compare(a.String(), b.String()) })
	for _, key := range left {
		if g.targets[key] == nil {
			keys = append(keys, key)
		}
	}
	var lines []TargetHealth
	for _, key := range keys {
		if line, listed := g.shown(key); listed {
			lines = append(lines, line)
		}
	}
	return lines
}
