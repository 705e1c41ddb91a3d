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

// sender cuts targets, each with a value, into calls. AWS takes all targets of a call or none, so a call that was refused is cut in
// halves until the rejected target stands alone. It is isolated then, with a retry of its own, and the others go on.
type sender[V any] struct {
	retry.Slot
	queued  queuedCall
	pending map[elbv2.Target]V // due now, as of the last pass
	waiting bool               // others would be due if they were claimed
	order   func(a, b V) int   // which go first when one call cannot take all, nil for any

	limits     map[elbv2.Target]int       // most targets in a call with this one; those not listed go MaxTargetsPerCall at a time
	isolated   map[elbv2.Target]*rejected // refused alone
	maxBatch   int                        // most targets in a call, since a group was full; 0 is no bound
	rejections int                        // calls refused since the last one that AWS took

	planned int64 // the generation of the spec that the last pass planned for, 0 when its plan says nothing of that
	sentFor int64 // what planned was when the call under way was made
	acted   int64 // the newest generation for which there was nothing to send, or a call was accepted
}

// rejected is a target that AWS refused by itself.
type rejected struct {
	retry.Slot
	refusal string
}

// maxRejections is how many calls refused in a row say that something is wrong with the group and not with single targets: the
// sender backs off then, as cutting on and on would use up the budget of all groups.
const maxRejections = 16

func newSender[V any](maxBackoff time.Duration, order func(a, b V) int) sender[V] {
	return sender[V]{Slot: slot(maxBackoff), order: order, limits: map[elbv2.Target]int{}, isolated: map[elbv2.Target]*rejected{}}
}

// plan takes what a pass wants sent for a generation of the spec, and says when more of it will be due; 0 when all is, or nothing more.
// When there is nothing to send, past failures are forgotten, and so is what AWS has refused of targets that are no longer wanted and
// not under way.
func (s *sender[V]) plan(
	wanted map[elbv2.Target]V, generation int64, underWay func(elbv2.Target) bool, now time.Time,
) (wait time.Duration) {
	for id := range s.limits {
		if _, still := wanted[id]; !still && !underWay(id) {
			s.forget(id)
		}
	}
	s.planned = generation
	if len(wanted) == 0 && !s.Busy {
		s.Clear()
		s.acted = max(s.acted, generation)
	}
	s.pending = make(map[elbv2.Target]V, len(wanted))
	for id, value := range wanted {
		if t, alone := s.isolated[id]; alone && now.Before(t.RetryAt) {
			wait = retry.Soonest(wait, t.RetryAt.Sub(now))
			continue
		}
		s.pending[id] = value
	}
	return wait
}

// send starts a call if one is due and may start, and says when it may otherwise. A call that still waits for its token gives way to one
// of another urgency.
func (s *sender[V]) send(
	c *Calls, urgency budget.Urgency, call func(context.Context, budget.Urgency), now time.Time,
) (retryIn time.Duration) {
	due := len(s.pending) > 0
	if s.Busy && due {
		s.queued.giveWay(urgency)
	}
	retryIn, began := s.Start(due, now)
	if began {
		s.queued = c.start(urgency, call)
	}
	return retryIn
}

// working reports whether a target is under way or due.
func (s *sender[V]) working() bool { return s.Busy || s.waiting || len(s.pending) > 0 }

// take moves the targets of one call out of pending: those that begin still finds due, since the pass looked. Targets
// that a refused call held go apart from all others.
func (s *sender[V]) take(begin func(elbv2.Target, V) bool) map[elbv2.Target]V {
	s.sentFor = s.planned
	limit := 0
	for id := range s.pending {
		limit = max(limit, s.limit(id))
	}
	size := limit
	if s.maxBatch > 0 {
		size = min(size, s.maxBatch)
	}
	batch := map[elbv2.Target]V{}
	for _, id := range s.inOrder() {
		if len(batch) == size {
			break
		}
		if s.limit(id) != limit {
			continue
		}
		value := s.pending[id]
		delete(s.pending, id)
		if begin(id, value) {
			batch[id] = value
		}
	}
	return batch
}

// inOrder are the pending targets.
func (s *sender[V]) inOrder() []elbv2.Target {
	ids := slices.Collect(maps.Keys(s.pending))
	if s.order != nil {
		slices.SortFunc(ids, func(a, b elbv2.Target) int { return s.order(s.pending[a], s.pending[b]) })
	}
	return ids
}

func (s *sender[V]) limit(id elbv2.Target) int {
	if limit, ok := s.limits[id]; ok {
		return limit
	}
	return elbv2.MaxTargetsPerCall
}

// accepted takes AWS's acceptance of a call: what was held against its targets is forgotten.
func (s *sender[V]) accepted(batch map[elbv2.Target]V) {
	s.acted = max(s.acted, s.sentFor)
	if len(batch) == 0 {
		return
	}
	for id := range batch {
		s.forget(id)
	}
	s.rejections = 0
	if s.maxBatch *= 2; s.maxBatch > elbv2.MaxTargetsPerCall {
		s.maxBatch = 0
	}
}

func (s *sender[V]) forget(id elbv2.Target) {
	delete(s.limits, id)
	delete(s.isolated, id)
}

// refused takes AWS's refusal of a call. It returns an error when that is no matter of single targets: the sender has to back off.
func (s *sender[V]) refused(batch map[elbv2.Target]V, now time.Time, err error) error {
	switch {
	case elbv2.IsGroupFull(err) && len(batch) > 1:
		s.maxBatch = len(batch) / 2
		return nil
	case !elbv2.IsRejected(err):
		return err
	}
	again := false
	for id := range batch {
		s.limits[id] = (len(batch) + 1) / 2
		if len(batch) == 1 {
			again = s.isolate(id, now, err)
		}
	}
	if again { // known to be bad, with a back-off of its own
		return nil
	}
	if s.rejections++; s.rejections >= maxRejections {
		return err
	}
	return nil
}

// isolate notes that AWS has refused the target by itself, and reports whether it had before.
func (s *sender[V]) isolate(id elbv2.Target, now time.Time, err error) (again bool) {
	t, again := s.isolated[id]
	if !again {
		t = &rejected{Slot: slot(retry.MaxBackoff)}
		s.isolated[id] = t
	}
	t.End(now, err)
	t.refusal = awserr.Message(err)
	return again
}

// hopelessAlone reports whether AWS has refused that target by itself again and again.
func (s *sender[V]) hopelessAlone(id elbv2.Target) bool {
	t, alone := s.isolated[id]
	return alone && t.Hopeless()
}

// hopelessFor reports whether AWS has refused that target, or all of them, again and again.
func (s *sender[V]) hopelessFor(id elbv2.Target) bool { return s.Hopeless() || s.hopelessAlone(id) }

// SenderState is how registrations, or deregistrations, have fared.
type SenderState struct {
	Err      error                   // of the last call, nil after a success
	Refusals map[elbv2.Target]string // of the targets that AWS refuses one by one, its words
	Hopeless map[elbv2.Target]bool   // of these, those that it has refused again and again
}

func (s *sender[V]) state() SenderState {
	out := SenderState{Err: s.Err}
	for id, t := range s.isolated {
		if out.Refusals == nil {
			out.Refusals, out.Hopeless = map[elbv2.Target]string{}, map[elbv2.Target]bool{}
		}
		out.Refusals[id], out.Hopeless[id] = t.refusal, t.Hopeless()
	}
	return out
}

// Words are the refusals, each with its target, in the order of targets.
func (s SenderState) Words() []string {
	var out []string
	for id, refusal := range s.Refusals {
		out = append(out, id.String()+": "+refusal)
	}
	slices.Sort(out)
	return out
}
