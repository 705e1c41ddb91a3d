// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"iter"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/endpoints"
)

// settleTime is how long our own accepted call outweighs a reading that does not show its effect: AWS answers 200
// before anything has happened.
const settleTime = 10 * time.Second

// entry is what is known of one target.
type entry struct {
	presence presence
	health   elbv2.Health
	since    time.Time // when the state was first shown, or the registration was answered
	wordedAt time.Time // when the reason for the state was first shown
	readAt   time.Time // when the reading that health is from was started
	calledAt time.Time // when our last call for the target was answered

	owner     types.UID // the pod the target was registered for, empty when not known
	ownedAt   time.Time // when that registration was answered: earlier readings say nothing of the owner
	adoptedAt time.Time // when the owner was found registered, if that was before our time
	trustFrom time.Time // until then healthy may be what an earlier pod has left behind

	registering   bool      // a registration is under way
	deregistering bool      // a deregistration is under way
	crossed       bool      // the last deregistration was sent while a registration was under way: it proves nothing
	askedOut      bool      // a deregistration was not answered: if the target goes, that was us
	failedAt      time.Time // when a call failed that may have had its effect all the same; zero once that is known
	refusal       string    // why the last registration failed, empty after a success
	tried         types.UID // the pod of a registration that failed, when the target was not in the group before

	suspectedAt time.Time // the readAt with which a pass first found no pod that explains the target

	shared bool // a pass found several pods that live at the address

	lingering      endpoints.State // unready or replaced, when a pass found that; kept otherwise
	lingeringSince time.Time       // since when it has been that

	zone string // the Availability Zone to name to deregister: what AWS shows, or before that what the registration named
}

// presence is whether the load balancer sends to a target, or would if it were healthy.
type presence int

const (
	absent presence = iota
	registered
	draining
)

// own says for which pod the target is registered, since when.
func (e *entry) own(uid types.UID, since time.Time) {
	e.owner, e.ownedAt, e.adoptedAt, e.trustFrom, e.suspectedAt = uid, since, time.Time{}, time.Time{}, time.Time{}
}

// inherit says from when on healthy can be believed of a target that an earlier pod may have had: of one that was
// registered when the load balancer, by its health check settings, had notice that it is another now; of one that
// drained when the readings show that it did.
func (e *entry) inherit(now time.Time, notice time.Duration) {
	switch e.presence {
	case registered:
		e.trustFrom = now.Add(notice)
	case draining:
		e.trustFrom = e.calledAt.Add(settleTime)
	}
}

// answered notes that AWS has accepted a call for the target: what it did is known.
func (e *entry) answered(now time.Time, p presence) {
	e.presence, e.calledAt, e.failedAt, e.refusal, e.tried, e.askedOut = p, now, time.Time{}, "", "", false
}

// failed notes that AWS has not accepted a registration, or not said so. If a reading shows the target all the same,
// it is there for that pod, unless it was there before.
func (e *entry) failed(now time.Time, uid types.UID, refusal string) {
	e.failedAt, e.refusal = now, refusal
	if e.presence == absent {
		e.tried = uid
	}
}

// suspect notes whether nobody explains the target.
func (e *entry) suspect(yes bool) {
	switch {
	case !yes:
		e.suspectedAt = time.Time{}
	case e.suspectedAt.IsZero():
		e.suspectedAt = e.readAt
	}
}

// linger notes that the target is in the group although unready or replaced, or with kept that it is neither.
func (e *entry) linger(s endpoints.State, now time.Time) {
	if e.lingering != s {
		e.lingering, e.lingeringSince = s, now
	}
}

// waitsSince is when the owner was registered, or was first seen by us if that was before our time.
func (e entry) waitsSince() time.Time {
	if e.ownedAt.IsZero() {
		return e.adoptedAt
	}
	return e.ownedAt
}

// mayBeIn reports whether the target is in the group, or may be after a call that failed.
func (e entry) mayBeIn() bool {
	return e.presence == registered || !e.failedAt.IsZero()
}

// settled reports whether the target is in the group, and no call for it is under way.
func (e entry) settled() bool {
	return e.presence == registered && !e.registering && !e.deregistering
}

// leavable reports whether a deregistration may be sent now: none is under way, and none has been sent since the
// registration that is.
func (e entry) leavable() bool {
	return !e.deregistering && (!e.registering || !e.crossed)
}

// healthOf is what a reading taken after the registration for that pod says; the zero value when there is none, or when
// it may be an earlier pod's.
func (e entry) healthOf(uid types.UID) elbv2.Health {
	if e.presence != registered || e.owner != uid || e.readAt.Before(e.ownedAt) {
		return elbv2.Health{}
	}
	if e.health.State == elbv2.StateHealthy && e.readAt.Before(e.trustFrom) {
		return elbv2.Health{}
	}
	return e.health
}

// brief is how much longer the first checks are not worth a remark to a pod that has had one already: most pass within
// moments, and each remark is a write that everybody who watches pods reads. 0 when they are.
func (e entry) brief(now time.Time) time.Duration {
	if e.health.State != elbv2.StateInitial {
		return 0
	}
	return max(0, passing-now.Sub(e.wordedAt))
}

// read takes what a reading shows of the target. Once anything but healthy was shown, healthy is the owner's own.
func (e *entry) read(started time.Time, h elbv2.Health) {
	if e.health.State != h.State || e.presence != registered {
		e.since = started
	}
	if e.health.Reason != h.Reason {
		e.wordedAt = started
	}
	e.health, e.readAt, e.presence, e.failedAt = h, started, registered, time.Time{}
	if h.Zone != "" {
		e.zone = h.Zone
	}
	if h.State != elbv2.StateHealthy {
		e.trustFrom = time.Time{}
	}
	if h.State == elbv2.StateDraining {
		e.presence = draining
		e.own("", time.Time{})
	}
}

// outweighs reports whether our own calls say more about the target than a reading started at started does: calls
// that are under way or were answered since, and for settleTime calls whose effect the reading does not show.
func (e *entry) outweighs(started time.Time, shown bool, h elbv2.Health) bool {
	if e.registering || e.deregistering || e.calledAt.After(started) || e.failedAt.After(started) {
		return true
	}
	seen := absent
	if shown && h.State == elbv2.StateDraining {
		seen = draining
	} else if shown {
		seen = registered
	}
	settling := started.Sub(e.calledAt) < settleTime && !e.calledAt.IsZero()
	return settling && (seen == registered) != (e.presence == registered)
}

// trackedTargets is a Group of endpoints.
type trackedTargets map[elbv2.Target]entry

// Len implements Group.
func (t trackedTargets) Len() int { return len(t) }

// Targets implements Group.
func (t trackedTargets) Targets() iter.Seq[elbv2.Target] { return maps.Keys(t) }

// Draining implements Group.
func (t trackedTargets) Draining(target elbv2.Target) bool { return t[target].presence == draining }

// Owner implements Group.
func (t trackedTargets) Owner(target elbv2.Target) types.UID { return t[target].owner }
