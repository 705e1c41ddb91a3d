// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/targetgate/targetgate/targets/elbv2"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

const (
	// maxCallBackoff bounds the pause after failed calls; maxDeregisterBackoff is shorter, as a pod on its way out
	// cannot wait.
	maxCallBackoff       = 30 * time.Second
	maxDeregisterBackoff = 5 * time.Second
)

// group is the memory of one binding's target group. The mutex guards everything below it and is never held across a
// call.
type group struct {
	uid types.UID // of the binding
	arn string

	mu      sync.Mutex
	entries map[elbv2.Target]*entry
	readAt  time.Time                 // when the last successful reading was started, zero before the first
	facts   *v1beta1.TargetGroupFacts // nil before they were read
	factsAt time.Time

	toRegister   registrations // due now, as of the last pass
	toDeregister departures

	reading, inspection, registration, deregistration lane

	// written is the status as we wrote it last; only passes touch it, and there is one at a time.
	written *v1beta1.TargetGroupBindingStatus
}

// registrations are targets to register, and for which pod.
type registrations map[elbv2.Target]types.UID

// departures are targets to deregister, and since when each has to go: the moment its pod was deleted, zero when that
// is not known.
type departures map[elbv2.Target]time.Time

// departureUnknown is since when a target has to go whose pod was not deleted, or not seen to be.
var departureUnknown time.Time

// session is what the calls of one pass share.
type session struct {
	key    types.NamespacedName // of the binding
	group  *group
	client *elbv2.Client
}

// newGroup remembers nothing but the facts in the binding's status, which count as read now.
func newGroup(binding *v1beta1.TargetGroupBinding, now time.Time) *group {
	return &group{
		uid: binding.UID, arn: binding.Spec.TargetGroupARN,
		entries:        map[elbv2.Target]*entry{},
		facts:          binding.Status.TargetGroup,
		factsAt:        now,
		reading:        lane{maxBackoff: maxCallBackoff},
		inspection:     lane{maxBackoff: maxCallBackoff},
		registration:   lane{maxBackoff: maxCallBackoff},
		deregistration: lane{maxBackoff: maxDeregisterBackoff},
	}
}

// snapshot copies the entries for one pass; complete is false before the first reading.
func (g *group) snapshot() (entries map[elbv2.Target]entry, complete bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	entries = make(map[elbv2.Target]entry, len(g.entries))
	for target, e := range g.entries {
		entries[target] = *e
	}
	return entries, !g.readAt.IsZero()
}

func (g *group) entry(target elbv2.Target) *entry {
	e, ok := g.entries[target]
	if !ok {
		e = &entry{}
		g.entries[target] = e
	}
	return e
}

// settle takes from a pass's plan what needs no call: owners, and which targets nobody explains.
func (g *group) settle(p plan) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for target, uid := range p.adopt {
		if e, ok := g.entries[target]; ok && e.owner == "" {
			e.own(uid, time.Time{})
		}
	}
	for target, e := range g.entries {
		_, suspect := p.suspects[target]
		switch {
		case !suspect:
			e.suspectedAt = time.Time{}
		case e.suspectedAt.IsZero():
			e.suspectedAt = e.readAt
		}
	}
	g.toRegister, g.toDeregister = p.register, p.deregister
}

// takeRegistrations yields the targets that are due now, and marks them as under way.
func (g *group) takeRegistrations() registrations {
	g.mu.Lock()
	defer g.mu.Unlock()
	batch := registrations{}
	for target, uid := range g.toRegister {
		if len(batch) == elbv2.MaxTargetsPerCall {
			break
		}
		delete(g.toRegister, target)
		e := g.entry(target)
		done := e.presence == registered && e.owner == uid
		if done || e.registering || e.deregistering { // since the pass looked
			continue
		}
		e.registering = true
		batch[target] = uid
	}
	return batch
}

// registrationDone takes the answer for a batch.
func (g *group) registrationDone(batch registrations, now time.Time, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.registration.end(now, err)
	for target, uid := range batch {
		e := g.entry(target)
		e.registering = false
		if err != nil {
			continue
		}
		if e.presence != registered {
			e.presence = registered
			e.health = elbv2.Health{
				State:       elbv2.StateInitial,
				Reason:      elbv2.ReasonRegistrationInProgress,
				Description: elbv2.DescriptionRegistrationInProgress,
			}
		}
		e.own(uid, now)
		e.calledAt = now
	}
}

// takeDeregistrations yields the targets that are due now, and marks them as under way.
func (g *group) takeDeregistrations() departures {
	g.mu.Lock()
	defer g.mu.Unlock()
	batch := departures{}
	for target, since := range g.toDeregister {
		if len(batch) == elbv2.MaxTargetsPerCall {
			break
		}
		delete(g.toDeregister, target)
		e := g.entry(target)
		if e.deregistering || e.presence == draining { // since the pass looked
			continue
		}
		e.deregistering, e.crossed = true, e.registering
		batch[target] = since
	}
	return batch
}

// deregistrationDone takes the answer for a batch. A deregistration that crossed a registration proves nothing: the
// target counts as before and is deregistered once more when the registration has been answered.
func (g *group) deregistrationDone(batch departures, now time.Time, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.deregistration.end(now, err)
	for target := range batch {
		e := g.entry(target)
		e.deregistering = false
		if err == nil && !e.crossed {
			e.presence, e.calledAt = draining, now
			e.own("", time.Time{})
		}
	}
}

// readingDone takes what a reading showed that was started at started; a failed one shows nothing.
func (g *group) readingDone(started, now time.Time, health map[elbv2.Target]elbv2.Health, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.reading.end(now, err)
	if err != nil {
		return
	}
	g.readAt = started
	for target := range health {
		g.entry(target)
	}
	for target, e := range g.entries {
		h, shown := health[target]
		if e.outweighs(started, shown, h) {
			continue
		}
		if !shown {
			delete(g.entries, target)
			continue
		}
		e.health, e.readAt, e.presence = h, started, registered
		if h.State == elbv2.StateDraining {
			e.presence = draining
			e.own("", time.Time{})
		}
	}
}

// setOpened notes that the gate of the target's owner is open: a cache that is behind must not close it again.
func (g *group) setOpened(target elbv2.Target, owner types.UID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if e, ok := g.entries[target]; ok && e.owner == owner {
		e.opened = true
	}
}

// inspectionDone takes the facts that were read, nil after a failure.
func (g *group) inspectionDone(now time.Time, facts *v1beta1.TargetGroupFacts, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inspection.end(now, err)
	if err == nil {
		g.facts, g.factsAt = facts, now
	}
}

func (g *group) currentFacts() *v1beta1.TargetGroupFacts {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.facts
}

// working reports whether a target is on its way in or out, or should be.
func (g *group) working() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.toRegister) > 0 || len(g.toDeregister) > 0 || g.registration.busy || g.deregistration.busy
}

// failure is the error of the lane that fails, nil when none does.
func (g *group) failure() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return errors.Join(g.deregistration.err, g.registration.err, g.reading.err, g.inspection.err)
}

func (g *group) registrationError() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.registration.err
}
