// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

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

// holdOff is how long the gate waits all the same: a Service that is gone may come back, and so may consent.
func (d detachment) holdOff(policy Policy) time.Duration {
	switch d.cause {
	case noBackend, notAllowed:
		return max(policy.ReplacementTimeout, detachedHoldOff)
	case unlisted:
		return unlistedHoldOff
	default:
		return detachedHoldOff
	}
}

// lasts reports whether the pod has been kept from a target for that cause for long enough for its gate to say so.
func (j *conditionPlanner) lasts(pod *corev1.Pod, why cause) bool {
	d := j.detached[pod.UID].still(why, j.now)
	j.detachedNow[pod.UID] = d
	return j.now.Sub(d.since) >= d.holdOff(j.policy)
}
