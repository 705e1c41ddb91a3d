// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/targetgate/targetgate/targets/elbv2"
)

// settleTime is how long our own accepted call outweighs a reading that does not show its effect: AWS answers 200
// before anything has happened.
const settleTime = 10 * time.Second

// entry is what is known of one target.
type entry struct {
	presence presence
	health   elbv2.Health
	readAt   time.Time // when the reading that health is from was started
	calledAt time.Time // when our last call for the target was answered

	owner   types.UID // the pod the target was registered for, empty when not known
	ownedAt time.Time // when that registration was answered: earlier readings say nothing of the owner

	registering   bool // a registration is under way
	deregistering bool // a deregistration is under way
	crossed       bool // the last deregistration was sent while a registration was under way: it proves nothing
	opened        bool // the owner's gate has been opened by us

	suspectedAt time.Time // the readAt with which a pass first found no pod that explains the target
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
	e.opened = e.opened && e.owner == uid
	e.owner, e.ownedAt, e.suspectedAt = uid, since, time.Time{}
}

// healthOf is what a reading taken after the registration for that pod says; the zero value when there is none.
func (e entry) healthOf(uid types.UID) elbv2.Health {
	if e.presence != registered || e.owner != uid || e.readAt.Before(e.ownedAt) {
		return elbv2.Health{}
	}
	return e.health
}

// outweighs reports whether our own calls say more about the target than a reading started at started does: calls
// that are under way or were answered since, and for settleTime calls whose effect the reading does not show.
func (e *entry) outweighs(started time.Time, shown bool, h elbv2.Health) bool {
	if e.registering || e.deregistering || e.calledAt.After(started) {
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
