// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"slices"
	"strings"
	"time"

	"github.com/targetgate/targetgate/aws/awserr"
	"github.com/targetgate/targetgate/aws/elbv2"
)

// batches cuts what a lane has to send into calls. AWS takes all targets of a call or none, so a call that was refused
// is cut in halves until the offender stands alone. It is set aside then, with a retry of its own, and the others go on.
type batches struct {
	limits map[elbv2.Target]int       // most targets in a call with this one; those not listed go MaxTargetsPerCall at a time
	aside  map[elbv2.Target]*offender // refused alone
	room   int                        // most targets in a call, since a group was full; 0 is no bound
	row    int                        // calls refused since the last one that AWS took
}

// longRow is how many calls refused in a row say that something is wrong with the group and not with single targets: the
// lane backs off then, as cutting on and on would use up the budget of all groups.
const longRow = 16

// offender is a target that AWS refused by itself.
type offender struct {
	lane
	refusal string
}

func newBatches() batches {
	return batches{limits: map[elbv2.Target]int{}, aside: map[elbv2.Target]*offender{}}
}

// waits reports whether the target is set aside for now, and until when.
func (b *batches) waits(target elbv2.Target, now time.Time) (time.Duration, bool) {
	o, aside := b.aside[target]
	if !aside || o.ready(now) {
		return 0, false
	}
	return o.retryAt.Sub(now), true
}

// hopelessAlone reports whether AWS has refused that target by itself again and again.
func (b *batches) hopelessAlone(target elbv2.Target) bool {
	o, aside := b.aside[target]
	return aside && o.hopeless()
}

// due splits pending into what may be sent now and the time until more may be.
func due[V any](b *batches, pending map[elbv2.Target]V, now time.Time) (sendable map[elbv2.Target]V, wait time.Duration) {
	sendable = make(map[elbv2.Target]V, len(pending))
	for target, value := range pending {
		if d, waits := b.waits(target, now); waits {
			wait = soonest(wait, d)
			continue
		}
		sendable[target] = value
	}
	return sendable, wait
}

// take moves the targets of one call out of pending: those that begin still finds due, since the pass looked. Targets
// that a refused call held go apart from all others.
func take[V any](b *batches, pending map[elbv2.Target]V, begin func(elbv2.Target, V) bool) map[elbv2.Target]V {
	limit := 0
	for target := range pending {
		limit = max(limit, b.limit(target))
	}
	size := limit
	if b.room > 0 {
		size = min(size, b.room)
	}
	batch := map[elbv2.Target]V{}
	for target, value := range pending {
		if len(batch) == size {
			break
		}
		if b.limit(target) != limit {
			continue
		}
		delete(pending, target)
		if begin(target, value) {
			batch[target] = value
		}
	}
	return batch
}

func (b *batches) limit(target elbv2.Target) int {
	if limit, ok := b.limits[target]; ok {
		return limit
	}
	return elbv2.MaxTargetsPerCall
}

// refused takes AWS's refusal of a call. It returns an error when that is no matter of single targets: the lane has to
// back off.
func refused[V any](b *batches, batch map[elbv2.Target]V, now time.Time, err error) error {
	switch {
	case elbv2.IsGroupFull(err) && len(batch) > 1:
		b.room = len(batch) / 2
		return nil
	case !elbv2.IsRejected(err):
		return err
	}
	again := false
	for target := range batch {
		b.limits[target] = (len(batch) + 1) / 2
		if len(batch) == 1 {
			_, again = b.aside[target]
			b.setAside(target, now, err)
		}
	}
	if again { // known to be bad, with a back-off of its own
		return nil
	}
	if b.row++; b.row >= longRow {
		return err
	}
	return nil
}

func (b *batches) setAside(target elbv2.Target, now time.Time, err error) {
	o, known := b.aside[target]
	if !known {
		o = &offender{lane: lane{maxBackoff: maxCallBackoff}}
		b.aside[target] = o
	}
	o.end(now, err)
	o.refusal = awserr.Message(err)
}

// accepted forgets what was held against the targets of a call.
func accepted[V any](b *batches, batch map[elbv2.Target]V) {
	if len(batch) == 0 {
		return
	}
	for target := range batch {
		b.forget(target)
	}
	b.row = 0
	if b.room *= 2; b.room > elbv2.MaxTargetsPerCall {
		b.room = 0
	}
}

func (b *batches) forget(target elbv2.Target) {
	delete(b.limits, target)
	delete(b.aside, target)
}

// keep forgets the targets that nobody wants to send any more and that are not under way.
func keep[V any](b *batches, pending map[elbv2.Target]V, underWay func(*entry) bool, entries map[elbv2.Target]*entry) {
	for target := range b.limits {
		_, wanted := pending[target]
		if e, known := entries[target]; !wanted && (!known || !underWay(e)) {
			b.forget(target)
		}
	}
}

// refusals are the targets that are set aside, with AWS's words, sorted.
func (b *batches) refusals() []string {
	var out []string
	for target, o := range b.aside {
		out = append(out, target.String()+": "+o.refusal)
	}
	slices.SortFunc(out, strings.Compare)
	return out
}
