// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package conditions

import (
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/endpoints"
	"github.com/targetgate/targetgate/targets/events"
	"github.com/targetgate/targetgate/targets/plan"
	"github.com/targetgate/targetgate/targets/retry"
	"github.com/targetgate/targetgate/targets/targetgroup"
)

// CacheLag is longer than one cache is ever behind another.
const CacheLag = 15 * time.Second

const (
	// detachedHoldOff is how long a pod must be seen to be no endpoint of its Service before its gate says so, or is opened for that.
	detachedHoldOff = CacheLag
	// unlistedHoldOff is the same where its EndpointSlice may only be late.
	unlistedHoldOff = time.Minute
)

// Detached are the pods at their gates that cannot have a target.
type Detached map[types.UID]detachment

// detachment is since when a pod at its gate cannot have a target, and why.
type detachment struct {
	since time.Time
	cause cause
}

type cause int

const (
	notSelected cause = iota // by the Service
	noBackend                // the Service or its port does not exist
	unlistable               // the Service selects the pod, but cannot have an endpoint for it
	unlisted                 // the Service selects the pod, and no EndpointSlice lists it yet
	notAllowed               // the target group's owner has not consented, or the role is not allowed
)

// still is the detachment if it has that cause, or else one that begins now.
func (d detachment) still(why cause, now time.Time) detachment {
	if d.since.IsZero() || d.cause != why {
		return detachment{now, why}
	}
	return d
}

// left is how much longer the gate waits all the same: a Service that is gone may come back, and so may consent. It is 0 or less when
// the gate waits no more.
func (d detachment) left(policy plan.Policy, now time.Time) time.Duration {
	holdOff := detachedHoldOff
	switch d.cause {
	case noBackend, notAllowed:
		holdOff = max(policy.ReplacementTimeout, detachedHoldOff)
	case unlisted:
		holdOff = unlistedHoldOff
	}
	return holdOff - now.Sub(d.since)
}

// NotAllowed are the pods that are detached for lack of consent or of a role.
func (d Detached) NotAllowed() Detached {
	out := maps.Clone(d)
	maps.DeleteFunc(out, func(_ types.UID, d detachment) bool { return d.cause != notAllowed })
	return out
}

// Next is how long it is until the next detached pod's gate waits no more, 0 when none waits.
func (d Detached) Next(policy plan.Policy, now time.Time) (wait time.Duration) {
	for _, one := range d {
		if left := one.left(policy, now); left > 0 {
			wait = retry.Soonest(wait, left)
		}
	}
	return wait
}

// NextRelease is when to look again because a gate may be opened by then or told more, 0 when there is none. It leaves out gates that
// were closed again: their targets are read every few seconds anyway.
func NextRelease(detached Detached, awaited targetgroup.Targets, policy plan.Policy, now time.Time) time.Duration {
	wait := detached.Next(policy, now)
	for _, t := range awaited {
		wait = retry.Soonest(wait, t.BriefFor(now))
		if left := policy.ReadinessTimeout - now.Sub(t.WaitsSince()); left > 0 {
			wait = retry.Soonest(wait, left)
		}
	}
	return wait
}

// Forbidden is for a binding whose role its namespace may not have assumed. Gates that have waited long enough open; the others say what
// they wait for.
func Forbidden(in Input, why string) (updates []Update, after Detached) {
	after = Detached{}
	for _, pod := range in.Gated {
		if endpoints.IsTerminating(pod) {
			continue
		}
		if lost, ok := in.Lost[pod.UID]; ok {
			updates = append(updates, Update{Pod: pod, Health: lost, PutBack: true})
			continue
		}
		if readiness.IsOpen(pod, in.Gate) || in.Opened[pod.UID] {
			continue
		}
		d := in.Detached[pod.UID].still(notAllowed, in.Now)
		after[pod.UID] = d
		health := readiness.Released(readiness.ReasonRoleNotAllowed, events.Cut(why))
		if d.left(in.Policy, in.Now) > 0 {
			health = readiness.RegistrationFailed(events.Cut(why))
		}
		updates = append(updates, Update{Pod: pod, Health: health})
	}
	return updates, after
}

// OpenAll opens the gate of every pod that does not terminate. What open gates said that somebody else has changed (lost) they say again.
func OpenAll(pods []*corev1.Pod, why readiness.Health, lost map[types.UID]readiness.Health) []Update {
	var out []Update
	for _, pod := range pods {
		if !endpoints.IsTerminating(pod) {
			u := Update{Pod: pod, Health: why}
			if was := lost[pod.UID]; was.Status == corev1.ConditionTrue {
				u.Health, u.PutBack = was, true
			}
			out = append(out, u)
		}
	}
	return out
}
