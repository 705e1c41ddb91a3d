// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package departures

import (
	"slices"
	"time"
)

// Due is a departure that has to come in time.
type Due struct {
	Group           string
	Known, Deadline time.Time // from when on it can be asked for, and by when it must have been answered
}

// Late is how many of the departures are late when the calls that AWS answered are used as well as they can be. Whoever makes this
// schedule knows all calls and departures in advance: at each call, of the departures that are known and not late yet, the group goes
// whose deadline is first, with all of its departures that are known. Registrations get what is left.
func Late(departures []Due, answered []time.Time) (late int) {
	waiting, calls := slices.Clone(departures), slices.SortedFunc(slices.Values(answered), time.Time.Compare)
	for _, call := range calls {
		waiting = slices.DeleteFunc(waiting, func(d Due) bool {
			missed := d.Deadline.Before(call)
			if missed {
				late++
			}
			return missed
		})
		group, some := firstDue(waiting, call)
		if some {
			waiting = slices.DeleteFunc(waiting, func(d Due) bool { return d.Group == group && !d.Known.After(call) })
		}
	}
	return late + len(waiting)
}

// firstDue is the group of the first deadline among the departures that are known at that time.
func firstDue(waiting []Due, now time.Time) (group string, some bool) {
	var first time.Time
	for _, d := range waiting {
		if !d.Known.After(now) && (!some || d.Deadline.Before(first)) {
			group, first, some = d.Group, d.Deadline, true
		}
	}
	return group, some
}
