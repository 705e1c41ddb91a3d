// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targetgroup

import (
	"iter"
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/retry"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// Group is the target group of one binding. Safe for concurrent use.
type Group struct {
	uid types.UID // of the binding
	arn string

	mu       sync.Mutex // guards what is below
	retired  bool       // nothing more is sent, for good
	seen     seen
	health   health
	settings settings
	tag      tag

	registration   sender[types.UID]
	deregistration departures

	zones zones
}

// seen is what readings have shown, and our own calls since.
type seen struct {
	targets     map[elbv2.Target]*Target
	readAt      time.Time      // when the last successful reading of the whole group was started, zero before the first
	firstReadAt time.Time      // when the first one was
	newTill     time.Time      // readings until then may show targets that an earlier binding has just deregistered
	gone        error          // AWS's word that there is no such target group, nil once a reading has found it
	invalid     error          // AWS's refusal of the group's ARN at the last reading, nil once one has found it
	lost        []elbv2.Target // someone else has deregistered them; until TakeLost
}

// New returns a group of which nothing is known but what the binding's status says of its settings, which counts as read now.
func New(binding *v1beta1.TargetGroupBinding, subnets *Subnets, now time.Time) *Group {
	g := &Group{
		uid: binding.UID, arn: binding.Spec.TargetGroupARN,
		seen:           seen{targets: map[elbv2.Target]*Target{}},
		health:         health{Slot: slot(retry.MaxUrgentBackoff)},
		settings:       settings{Slot: slot(retry.MaxBackoff)},
		tag:            tag{Slot: slot(retry.MaxBackoff)},
		registration:   newSender[types.UID](retry.MaxBackoff, nil),
		deregistration: departures{sender: newSender(retry.MaxUrgentBackoff, sooner)},
		zones:          zones{vpc: binding.Spec.VpcID, subnets: subnets},
	}
	if settings := binding.Status.TargetGroup; settings != nil {
		g.settings.take(settings, now)
	}
	if !binding.IsHeld() {
		g.seen.newTill = now.Add(elbv2.SettleTime)
	}
	return g
}

func slot(maxBackoff time.Duration) retry.Slot {
	return retry.Slot{MaxBackoff: maxBackoff, Category: retry.AWS}
}

// Is reports whether it is the group of that binding, as it is now, and was not retired for good: what a retired group knows is out of
// date.
func (g *Group) Is(binding *v1beta1.TargetGroupBinding) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.uid == binding.UID && g.arn == binding.Spec.TargetGroupARN && (!g.retired || g.seen.underWay())
}

// ARN is the target group's.
func (g *Group) ARN() string { return g.arn }

// Owned are the targets that are or may be in the group and have an owner: pods and nodes of this cluster.
func (g *Group) Owned() map[elbv2.Target]bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	out := map[elbv2.Target]bool{}
	for id, t := range g.seen.targets {
		if t.Owner != "" {
			out[id] = true
		}
	}
	return out
}

// Retire has nothing more sent, for good, and reports whether a call is still under way. One that still waits for its token
// will find nothing to send.
func (g *Group) Retire() (underWay bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.retired = true
	return g.seen.underWay()
}

// TakeLost yields the targets that the readings since the last call have found lost.
func (g *Group) TakeLost() []elbv2.Target {
	g.mu.Lock()
	defer g.mu.Unlock()
	lost := g.seen.lost
	g.seen.lost = nil
	return lost
}

// TakeLate yields the targets that were deregistered after their deadlines since the last call.
func (g *Group) TakeLate() []elbv2.Target {
	g.mu.Lock()
	defer g.mu.Unlock()
	late := g.deregistration.late
	g.deregistration.late = nil
	return late
}

// underWay reports whether a registration or deregistration has been sent and not answered.
func (s *seen) underWay() bool {
	for _, t := range s.targets {
		if t.UnderWay() {
			return true
		}
	}
	return false
}

// target is what is known of the target, nothing at first.
func (s *seen) target(id elbv2.Target) *Target {
	t, ok := s.targets[id]
	if !ok {
		t = &Target{}
		s.targets[id] = t
	}
	return t
}

// Expect takes the targets that an earlier process may have registered, by what it has written down: whether they are in the group is not
// known until it has been read.
func (g *Group) Expect(recorded iter.Seq[elbv2.Target], now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for id := range recorded {
		if t := g.seen.target(id); !t.isThere() {
			t.FailedAt = now
		}
	}
}

// vanish takes AWS's word, from whichever call, that there is no such target group: nothing of ours is in it, and nothing can
// be sent to it until a reading finds it.
func (s *seen) vanish(err error) {
	if !elbv2.IsTargetGroupNotFound(err) {
		return
	}
	s.gone, s.readAt, s.firstReadAt = err, time.Time{}, time.Time{}
	maps.DeleteFunc(s.targets, func(_ elbv2.Target, t *Target) bool { return !t.UnderWay() })
}
