// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"time"

	"github.com/targetgate/targetgate/aws/budget"
)

// sender is a lane that sends targets in batches.
type sender struct {
	lane
	batches
	queued queued // the call that waits for its token

	planned int64 // the generation of the spec that the last pass planned for, 0 when its plan says nothing of that
	sentFor int64 // what planned was when the call under way was made
	acted   int64 // the newest generation for which there was nothing to send, or a call was answered well
}

func newSender(maxBackoff time.Duration) sender {
	return sender{lane: lane{maxBackoff: maxBackoff}, batches: newBatches()}
}

// queued is a call that waits for its token; the zero value is none.
type queued struct {
	class  budget.Class
	cancel context.CancelFunc
}

// giveWay cancels the call if it waits in a less urgent class than the one that is asked for.
func (q queued) giveWay(class budget.Class) {
	if class < q.class {
		q.cancel()
	}
}

// plan takes how much there is to send for a generation of the spec. When it is nothing, past failures are forgotten.
func (s *sender) plan(pending int, generation int64) {
	s.planned = generation
	if pending == 0 && !s.busy {
		s.clear()
		s.acted = max(s.acted, generation)
	}
}

// answeredWell notes that AWS has taken the call that was under way.
func (s *sender) answeredWell() { s.acted = max(s.acted, s.sentFor) }

// send begins a call if one is due and may start, and says when it may otherwise. A call that still waits for its token gives way
// to a more urgent one. The caller holds the group's lock.
func (r *Registrar) send(s *sender, class budget.Class, due bool, call func(context.Context, budget.Class)) (retryIn time.Duration) {
	if s.busy && due {
		s.queued.giveWay(class)
	}
	ctx, cancel := context.WithCancel(r.lanes)
	retryIn, began := start(&s.lane, due, r.Clock.Now(), func() {
		defer cancel()
		call(ctx, class)
	})
	if !began {
		cancel()
		return retryIn
	}
	s.queued = queued{class: class, cancel: cancel}
	return 0
}

// registrationClass is ClassRegister unless AWS has refused each of the registrations that are due again and again. The caller
// holds the lock.
func (g *group) registrationClass() budget.Class {
	for target := range g.toRegister {
		if !g.registration.hopeless() && !g.registration.hopelessAlone(target) {
			return budget.ClassRegister
		}
	}
	return budget.ClassOther
}

// departureClass is ClassDeregister unless AWS has refused each of the deregistrations that are due again and again. One that
// has not been tried yet is always urgent. The caller holds the lock.
func (g *group) departureClass() budget.Class {
	for target := range g.toDeregister {
		_, tried := g.unanswered[target]
		if !g.deregistration.hopelessAlone(target) && (!tried || !g.deregistration.hopeless()) {
			return budget.ClassDeregister
		}
	}
	return budget.ClassOther
}
