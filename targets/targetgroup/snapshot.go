// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targetgroup

import (
	"cmp"
	"time"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/retry"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// Snapshot is all that a pass may know of a group, at one moment.
type Snapshot struct {
	ARN         string
	Targets     Targets
	ReadAt      time.Time // when the last successful reading of the whole group was started, zero before the first
	FirstReadAt time.Time // when the first one was
	NewTill     time.Time // readings until then may show targets that an earlier binding has just deregistered
	Gone        error     // AWS's word that there is no such target group, nil when there is
	Invalid     error     // AWS's refusal of the group's ARN, nil when it is right

	Settings        *v1beta1.TargetGroupSettings // nil before they were read
	SettingsReadAt  time.Time
	SettingsFailure error // why readings of them, or of the tag, fail again and again; targets are registered all the same
	DelayDenied     error // AWS's word that we may not read the deregistration delay, nil when we may
	Tag             TagReading

	NamesRefused    bool  // AWS refuses to read the health of single targets
	ReadingHopeless bool  // readings fail again and again
	ReadingFailure  error // why readings fail, nil when they do not, or have once only

	Registration, Deregistration SenderState
	// Working says that registrations or deregistrations are under way or due.
	Working bool
	// Acted is the newest generation of the spec for which all was sent and accepted, or there was nothing to send; 0 for none.
	Acted int64
}

// Complete reports whether the group has been read.
func (s *Snapshot) Complete() bool { return !s.ReadAt.IsZero() }

// ShowsAll reports whether nothing is in the group that an earlier process has registered and no reading has shown: two readings have not,
// or there was no such process.
func (s *Snapshot) ShowsAll() bool {
	return s.Complete() && (!s.NewTill.IsZero() || s.ReadAt.Sub(s.FirstReadAt) >= elbv2.OmissionTime)
}

// Failure is the error of the most urgent kind of call that fails, nil when none does. That there is no such group explains every
// other error.
func (s *Snapshot) Failure() error {
	if s.Gone != nil {
		return s.ReadingFailure // which will say so soon
	}
	return cmp.Or(s.Deregistration.Err, s.Registration.Err, s.ReadingFailure)
}

// unshownTries is how often in a row AWS may say that there is no such target group until that is trouble: for some 7 s, as AWS may not
// show yet what was made a moment ago.
const unshownTries = 5

// lasting is the error of the last call when it is one of several, nil while it is no trouble yet.
func lasting(s *retry.Slot) error {
	if elbv2.IsTargetGroupNotFound(s.Err) && s.Failures < unshownTries {
		return nil
	}
	return s.Lasting()
}

// Snapshot copies what is known.
func (g *Group) Snapshot() Snapshot {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := Snapshot{
		ARN: g.arn, Targets: make(Targets, len(g.seen.targets)),
		ReadAt: g.seen.readAt, FirstReadAt: g.seen.firstReadAt, NewTill: g.seen.newTill, Gone: g.seen.gone, Invalid: g.seen.invalid,
		Settings: g.settings.last, SettingsReadAt: g.settings.readAt, DelayDenied: g.settings.delayDenied,
		SettingsFailure: cmp.Or(lasting(&g.settings.Slot), lasting(&g.tag.Slot)), Tag: g.tag.last,
		NamesRefused: g.health.namesRefused, ReadingHopeless: g.health.Hopeless(), ReadingFailure: lasting(&g.health.Slot),
		Registration: g.registration.state(), Deregistration: g.deregistration.state(),
		Working: g.registration.working() || g.deregistration.working(),
		Acted:   min(g.registration.acted, g.deregistration.acted),
	}
	s.Tag.Err = lasting(&g.tag.Slot)
	for id, t := range g.seen.targets {
		s.Targets[id] = *t
	}
	return s
}
