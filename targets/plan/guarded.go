// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"time"

	"github.com/targetgate/targetgate/targets/targetgroup"
)

// pollDraining is the pause between readings while a node guard waits until a target has drained, as long as it cannot have, by what we
// know: an earlier process, or someone else, may have deregistered it before us, and the delay may have been shortened since.
const pollDraining = 30 * time.Second

// drainPause is the pause between readings of the whole group while a node guard waits until one of its targets has drained: pollDraining,
// and PollUnsettled once it should have. It is DriftInterval when none waits.
func (in ReadingInput) drainPause() time.Duration {
	pause := in.DriftInterval
	for id, t := range in.Group.Targets {
		if in.Guarded[id.ID] && t.Presence == targetgroup.Draining {
			left := max(in.drainedAt(t).Sub(in.Group.ReadAt), PollUnsettled)
			pause = min(pause, left, pollDraining)
		}
	}
	return pause
}

// drainedAt is when AWS forgets a target that drains since our call: the deregistration delay after it. It is the zero time when either
// is not known.
func (in ReadingInput) drainedAt(t targetgroup.Target) time.Time {
	settings := in.Group.Settings
	if t.CalledAt.IsZero() || settings == nil || settings.DeregistrationDelaySeconds == nil {
		return time.Time{}
	}
	return t.CalledAt.Add(time.Duration(*settings.DeregistrationDelaySeconds) * time.Second)
}
