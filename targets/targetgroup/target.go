// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targetgroup

import (
	"iter"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/targetgate/targetgate/aws/awserr"
	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/endpoints"
)

// Brief is how long the first health checks, or a change that comes and goes with every pod of a rollout, must last before it is
// written to an object: each write is read by everybody who watches.
const Brief = 5 * time.Second

// Target is what is known of one target.
type Target struct {
	Presence Presence
	Health   elbv2.Health
	Since    time.Time // when the state was first shown, or the registration was answered
	WordedAt time.Time // when the reason for the state was first shown
	ReadAt   time.Time // when the reading that Health is from was started
	CalledAt time.Time // when our last call for the target was answered

	Owner     types.UID // the pod the target was registered for, empty when not known
	OwnedAt   time.Time // when that registration was answered: earlier readings say nothing of the owner
	AdoptedAt time.Time // when the owner was found registered, if that was before our time
	TrustFrom time.Time // until then a healthy state may be an earlier pod's

	Registering   bool      // a registration is under way
	Deregistering bool      // a deregistration is under way
	Crossed       bool      // the last deregistration was sent while a registration was under way: it proves nothing
	AskedOut      bool      // a deregistration was not answered: if the target goes, that was us
	FailedAt      time.Time // since when it is not known whether the target is in the group (see MayBeIn), zero once it is
	Refusal       string    // why the last registration failed, empty after a success
	Tried         types.UID // the pod of a registration that failed, when the target was not in the group before

	UnexplainedAt time.Time // the ReadAt with which a pass first found no pod that explains the target

	Shared bool // a pass found several pods that live at the address

	Unwanted      endpoints.State // why the target should go although it is still in the group: NotReady or Unselected
	UnwantedSince time.Time       // when a pass first found that

	// Served: it has taken its part for its owner, since ServedFrom and until ServedUntil: zero where that was before our time, or lasts.
	Served                  bool
	ServedFrom, ServedUntil time.Time

	Zone string // the Availability Zone to name to deregister: what AWS shows, or before that what the registration named
}

// Presence is whether the load balancer sends to a target, or would if it were healthy.
type Presence int

// The zero value is a target that is not in the group.
const (
	Absent Presence = iota
	Registered
	Draining
)

// own says for which pod the target is registered, since when.
func (t *Target) own(uid types.UID, since time.Time) {
	t.Owner, t.OwnedAt, t.AdoptedAt, t.TrustFrom, t.UnexplainedAt = uid, since, time.Time{}, time.Time{}, time.Time{}
	t.Served, t.ServedFrom, t.ServedUntil = false, time.Time{}, time.Time{}
}

// inherit says from when a healthy state can be believed of a target that an earlier pod may have had: of one that was
// registered when the load balancer, by its health check settings, has detected that it is another now; of one that
// drained when the readings show that it did.
func (t *Target) inherit(now time.Time, detection time.Duration) {
	switch t.Presence {
	case Registered:
		t.TrustFrom = now.Add(detection)
	case Draining:
		t.TrustFrom = t.CalledAt.Add(elbv2.SettleTime)
	}
}

// answered notes that AWS has accepted a call for the target: what it did is known.
func (t *Target) answered(now time.Time, p Presence) {
	t.Presence, t.CalledAt, t.FailedAt, t.Refusal, t.Tried, t.AskedOut = p, now, time.Time{}, "", "", false
}

// failed notes that AWS has not accepted a registration, or has not said so. If a reading shows the target all the same, it is
// there for that pod, unless it was there before.
func (t *Target) failed(now time.Time, uid types.UID, refusal string) {
	t.FailedAt, t.Refusal = now, refusal
	if t.Presence == Absent && t.Owner == "" {
		t.Tried = uid
	}
}

// notDeregistered notes that AWS has not accepted a deregistration, or has not said so. Whether the target is in the group is open then if
// it was, or where it was not known, if a reading came meanwhile: what that has shown of the target did not count.
func (t *Target) notDeregistered(now time.Time, err error, groupRead bool) {
	t.Crossed = false // nothing is known to have been sent
	t.AskedOut = !awserr.HadNoEffect(err)
	if t.IsIn() && t.AskedOut || !t.IsIn() && t.Presence == Absent && groupRead {
		t.FailedAt = now
	}
}

// explain notes whether a pod explains the target.
func (t *Target) explain(explained bool) {
	switch {
	case explained:
		t.UnexplainedAt = time.Time{}
	case t.UnexplainedAt.IsZero():
		t.UnexplainedAt = t.ReadAt
	}
}

// unwant notes why the target should go; Undetermined is that it should not.
func (t *Target) unwant(why endpoints.State, now time.Time) {
	if t.Unwanted != why {
		t.Unwanted, t.UnwantedSince = why, now
	}
}

// serve notes whether the target takes its part. One that does so again has done so all the time.
func (t *Target) serve(yes bool, now time.Time) {
	switch {
	case !yes && t.Served && t.ServedUntil.IsZero():
		t.ServedUntil = now
	case !yes:
	case !t.Served && !t.OwnedAt.IsZero():
		t.Served, t.ServedFrom = true, now
	default:
		t.Served, t.ServedUntil = true, time.Time{}
	}
}

// WaitsSince is when the owner was registered, or was first seen by us if that was before our time.
func (t Target) WaitsSince() time.Time {
	if t.OwnedAt.IsZero() {
		return t.AdoptedAt
	}
	return t.OwnedAt
}

// IsIn reports whether the target is in the group as far as we know: readings may leave it out although it is there.
func (t Target) IsIn() bool { return t.Presence == Registered || t.IsMissing() }

// IsMissing reports whether readings do not show the target although it was registered, and AWS has accepted no deregistration since.
func (t Target) IsMissing() bool { return t.Presence == Absent && t.Owner != "" }

// MayBeIn reports whether the target is in the group, or may be: a call for it has failed, one reading has left it out, or an earlier
// process has written it down.
func (t Target) MayBeIn() bool {
	return t.IsIn() || !t.FailedAt.IsZero()
}

// isThere reports whether the target is in the group, drains, or may be in it now or soon. AWS may have refused to register any other.
func (t Target) isThere() bool { return t.MayBeIn() || t.Presence == Draining || t.UnderWay() }

// isOut reports whether the target drains, and no registration is under way or was not answered that may have brought it back.
func (t Target) isOut() bool { return t.Presence == Draining && !t.Registering && !t.MayBeIn() }

// UnderWay reports whether a call for the target is under way.
func (t Target) UnderWay() bool { return t.Registering || t.Deregistering }

// Leavable reports whether a deregistration may be sent now: none is under way, and none has been sent since the registration
// that is.
func (t Target) Leavable() bool {
	return !t.Deregistering && (!t.Registering || !t.Crossed)
}

// HealthOf is what a reading taken after the registration for that pod says; the zero value when there is none, or when
// it may be an earlier pod's.
func (t Target) HealthOf(uid types.UID) elbv2.Health {
	if t.Presence != Registered || t.Owner != uid || t.ReadAt.Before(t.OwnedAt) {
		return elbv2.Health{}
	}
	if t.Health.State == elbv2.StateHealthy && t.ReadAt.Before(t.TrustFrom) {
		return elbv2.Health{}
	}
	return t.Health
}

// HealthySince reports whether a reading since then found the target healthy, for that pod.
func (t Target) HealthySince(uid types.UID, since time.Time) bool {
	return t.HealthOf(uid).State == elbv2.StateHealthy && !t.ReadAt.Before(since)
}

// BriefFor is how much longer to suppress progress messages to a pod that has had one: most first health checks pass within
// moments. It is 0 once they run.
func (t Target) BriefFor(now time.Time) time.Duration {
	if t.Health.State != elbv2.StateInitial {
		return 0
	}
	return max(0, Brief-now.Sub(t.WordedAt))
}

// read takes what a reading shows of the target. Once anything but healthy was shown, healthy is the owner's own.
func (t *Target) read(started time.Time, h elbv2.Health) {
	if t.Health.State != h.State || t.Presence != Registered {
		t.Since = started
	}
	if t.Health.Reason != h.Reason {
		t.WordedAt = started
	}
	t.Health, t.ReadAt, t.Presence, t.FailedAt = h, started, Registered, time.Time{}
	if h.Zone != "" {
		t.Zone = h.Zone
	}
	if h.State != elbv2.StateHealthy {
		t.TrustFrom = time.Time{}
	}
	if h.State == elbv2.StateDraining {
		t.Presence = Draining
		t.own("", time.Time{})
	}
}

// isLost reports whether a reading shows that someone else has deregistered the target.
func (t *Target) isLost(shown bool, h elbv2.Health) bool {
	return t.Presence == Registered && t.Owner != "" && !t.AskedOut && (!shown || h.State == elbv2.StateDraining)
}

// miss takes a reading that does not show the target although it was registered for a pod: it is deregistered with that all the same.
func (t *Target) miss(started time.Time) {
	t.Presence, t.Health, t.ReadAt, t.FailedAt = Absent, elbv2.Health{}, started, time.Time{}
}

// mayStillBeIn takes a reading that does not show the target, and reports whether it may be in the group all the same: until another one
// does not, elbv2.OmissionTime later.
func (t *Target) mayStillBeIn(started time.Time) bool {
	switch {
	case !t.MayBeIn():
		return false
	case t.FailedAt.IsZero() || t.ReadAt.Before(t.FailedAt):
		t.miss(started)
		t.FailedAt = started
		return true
	default:
		return started.Sub(t.FailedAt) < elbv2.OmissionTime
	}
}

// outweighs reports whether our own calls say more about the target than a reading started at started does: calls that are under
// way or were answered since, and for elbv2.SettleTime calls whose effect the reading does not show.
func (t *Target) outweighs(started time.Time, shown bool, h elbv2.Health) bool {
	if t.UnderWay() || t.CalledAt.After(started) || t.FailedAt.After(started) {
		return true
	}
	seen := Absent
	if shown && h.State == elbv2.StateDraining {
		seen = Draining
	} else if shown {
		seen = Registered
	}
	settling := started.Sub(t.CalledAt) < elbv2.SettleTime && !t.CalledAt.IsZero()
	return settling && (seen == Registered) != (t.Presence == Registered)
}

// Targets is what is known of the targets of a group. It is an endpoints.Group.
type Targets map[elbv2.Target]Target

// Len implements endpoints.Group.
func (t Targets) Len() int { return len(t) }

// Targets implements endpoints.Group.
func (t Targets) Targets() iter.Seq[elbv2.Target] {
	return func(yield func(elbv2.Target) bool) {
		for id, target := range t {
			if target.isThere() && !yield(id) {
				return
			}
		}
	}
}

// Draining implements endpoints.Group.
func (t Targets) Draining(target elbv2.Target) bool { return t[target].Presence == Draining }

// Owner implements endpoints.Group.
func (t Targets) Owner(target elbv2.Target) types.UID { return t[target].Owner }
