// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/targetgate/targetgate/aws/budget"
	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/endpoints"
	"github.com/targetgate/targetgate/targets/retry"
	"github.com/targetgate/targetgate/targets/targetgroup"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

const (
	// pollWaiting is the pause between readings of a target that may turn healthy at any moment while a pod waits for it.
	// Readings are one attempt each: the next one comes soon enough.
	pollWaiting = time.Second
	// pollShort is that pause while registrations and deregistrations are short. Gates that open together let a Deployment
	// take pods away together, which then leave and are replaced in one call each.
	pollShort = 1600 * time.Millisecond
	// pollSlowest is what that pause grows to with a target that is never healthy.
	pollSlowest = 10 * time.Second
	// pollGrowth is how much longer than the pause a target has been waited for by then: it is found late by so small a
	// share of its time.
	pollGrowth = 60
	// PollUnsettled is the pause when nothing can turn healthy yet, and when no pod waits but the group is not settled: a
	// target is initial, or a reading has to confirm that nothing explains it.
	PollUnsettled = 5 * time.Second

	// pollTwoWay is the pause when the gates of pods that become unhealthy are closed again.
	pollTwoWay = 15 * time.Second
	// pollUnhealthy is the first pause after a target turned unhealthy for which no pod waits: once it is healthy again, the status has to
	// say so.
	pollUnhealthy = 15 * time.Second
	// pollUnreadyKept is the pause while unready targets stay because too few others are healthy: they go once others are again.
	pollUnreadyKept = 15 * time.Second
)

// ReadingInput is what it takes to say when to read a group next.
type ReadingInput struct {
	Group         targetgroup.Snapshot
	Awaited       targetgroup.Targets // see Awaited
	Policy        Policy
	UnreadyKept   bool
	BudgetIsShort bool // of registrations and deregistrations
	DriftInterval time.Duration
	Guarded       map[string]bool // instances of leaving nodes whose guards wait until their targets have drained
}

// NextReading is of the whole group when that is not settled or drift is due, and of the awaited targets when one of them is due.
func NextReading(in ReadingInput) targetgroup.Reading {
	urgent := budget.ClassWaitingHealth
	if in.Group.ReadingHopeless {
		urgent = budget.ClassOther
	}
	if !in.Group.Complete() {
		return targetgroup.Reading{Class: urgent}
	}
	whole := targetgroup.Reading{At: in.Group.ReadAt.Add(in.wholePause()), Class: budget.ClassOther}
	if len(in.Awaited) == 0 {
		return whole
	}
	next := targetgroup.Reading{Class: urgent, At: in.awaitedAt()}
	few := len(in.Awaited) <= elbv2.MaxNames && len(in.Awaited) < len(in.Group.Targets)
	if few && !in.Group.NamesRefused && whole.At.After(next.At) {
		next.Targets = slices.Collect(maps.Keys(in.Awaited))
	}
	return next
}

// awaitedAt is when the first of the awaited targets is due.
func (in ReadingInput) awaitedAt() (first time.Time) {
	pause := pollWaiting
	if in.BudgetIsShort {
		pause = pollShort
	}
	for _, t := range in.Awaited {
		if due := dueAt(t, in.Group.Settings, pause); first.IsZero() || due.Before(first) {
			first = due
		}
	}
	return first
}

// wholePause is the pause between readings of the whole group. That for drift is shortened by up to a fifth at random, so
// that many groups do not read in step. It is short while a reading may show targets that are gone already.
func (in ReadingInput) wholePause() time.Duration {
	pause := retry.Jitter(in.DriftInterval)
	if !in.settled() || in.Group.ReadAt.Before(in.Group.NewTill) {
		pause = min(pause, PollUnsettled)
	}
	if in.Policy.TwoWay {
		pause = min(pause, pollTwoWay)
	}
	if in.UnreadyKept {
		pause = min(pause, pollUnreadyKept)
	}
	return min(pause, in.unhealthyPause(), in.drainPause())
}

// unhealthyPause is the pause while a target is unhealthy for which no pod waits: pollUnhealthy, and as long as the target has been
// unhealthy once that is longer. It is DriftInterval when there is none.
func (in ReadingInput) unhealthyPause() time.Duration {
	pause := in.DriftInterval
	for id, t := range in.Group.Targets {
		if _, awaited := in.Awaited[id]; !awaited && t.Presence == targetgroup.Registered && t.Health.State == elbv2.StateUnhealthy {
			pause = min(pause, max(pollUnhealthy, t.ReadAt.Sub(t.Since)))
		}
	}
	return pause
}

// settled reports whether no reading is needed to decide about a target that no pod waits for.
func (in ReadingInput) settled() bool {
	for id, t := range in.Group.Targets {
		_, awaited := in.Awaited[id]
		initial := t.Presence == targetgroup.Registered && t.Health.State == elbv2.StateInitial && !awaited
		undecided := t.Unwanted != endpoints.Undetermined && t.ReadAt.Before(t.UnwantedSince)
		if initial || undecided || !t.UnexplainedAt.IsZero() || !t.FailedAt.IsZero() {
			return false
		}
	}
	return true
}

// dueAt is when to read a target again that a pod waits for, not sooner than after that pause.
func dueAt(t targetgroup.Target, settings *v1beta1.TargetGroupSettings, pause time.Duration) time.Time {
	read := retry.Later(t.ReadAt, t.OwnedAt)
	earliest := earliestHealthy(t, settings)
	if next := read.Add(pause); next.Before(earliest) {
		return sooner(earliest, read.Add(PollUnsettled))
	}
	waited := read.Sub(retry.Later(earliest, t.Since))
	return read.Add(min(max(waited/pollGrowth, pause), pollSlowest))
}

// Awaited are the registered targets whose health is waited for: by a pod at its gate that was not opened just now, or by targets that are
// to be replaced since replacedAt.
func Awaited(listed map[elbv2.Target]endpoints.Endpoint, group targetgroup.Targets, gate corev1.PodConditionType,
	replacedAt time.Time, opened map[types.UID]bool,
) targetgroup.Targets {
	out := targetgroup.Targets{}
	for target, ep := range listed {
		t := group[target]
		if ep.State == endpoints.Terminating || t.Presence != targetgroup.Registered || t.Owner != ep.UID {
			continue
		}
		atGate := ep.AtGate(gate) && !opened[ep.UID]
		replacing := !replacedAt.IsZero() && decidesReplacement(ep) && !t.HealthySince(ep.UID, replacedAt)
		if atGate || replacing {
			out[target] = t
		}
	}
	return out
}

// decidesReplacement reports whether targets that are to be replaced may have to wait for the health of this one: it is to replace them, or
// it is a node that is to be replaced itself, and waits for a healthy one only while it is healthy.
func decidesReplacement(ep endpoints.Endpoint) bool {
	return ep.State == endpoints.Desired || ep.State == endpoints.Unselected && ep.Pod == nil
}

func sooner(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
