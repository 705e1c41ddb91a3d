// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package claims

import (
	"time"

	"github.com/targetgate/targetgate/targets/contest"
	"github.com/targetgate/targetgate/targets/events"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// lostFinalizer tells of a finalizer that somebody else has removed.
var lostFinalizer = events.Warning(contest.Reason, "PutBack", "Somebody else than targetgate has removed the binding's finalizer, "+
	"such as a tool that replaces objects (Argo CD with Replace=true, kubectl replace). It is put back; while that goes on, after 30 s at "+
	"most each time. Have the tool apply the manifest instead: a binding that is deleted without the finalizer may leave its targets "+
	"registered")

// Lacks reports whether the binding is to have our finalizer and has it not, or still has what is removed with it.
func (c *Claims) Lacks(binding *v1beta1.TargetGroupBinding) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return binding.DeletionTimestamp.IsZero() && c.lacksFinalizer(binding)
}

// see takes in whether the binding has our finalizer, or somebody else has removed it.
func (w *Writer) see(c *Claims, binding *v1beta1.TargetGroupBinding) {
	if c.see(binding, w.clock.Now()) {
		w.reporter.Event(binding, lostFinalizer)
	}
}

func (c *Claims) see(binding *v1beta1.TargetGroupBinding, now time.Time) (tell bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.mode.IsClaimed(binding):
		c.claimed = true
		return false
	case !c.claimed || c.slot.Busy || !c.lacksFinalizer(binding):
		return false
	}
	c.claimed = false
	pause, isNew := c.contest.Lost(now)
	c.slot.RetryAt = now.Add(pause)
	if c.mode.Holds(binding) { // it has what is removed with it
		return false
	}
	contest.Count(contest.Finalizer)
	return isNew
}

func (c *Claims) noteClaimed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.claimed = true
}
