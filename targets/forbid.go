// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/targetgate/targetgate/targets/conditions"
	"github.com/targetgate/targetgate/targets/events"
	"github.com/targetgate/targetgate/targets/targetgroup"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// forbid leaves a binding alone whose role its namespace may not have assumed: AWS is not asked, and its targets stay as they are.
// The gates of its pods wait as for a Service that is gone, as the list may change back, and open then. When the binding is
// deleted it goes at once.
func (r *Registrar) forbid(s session, binding *v1beta1.TargetGroupBinding, why string) ctrl.Result {
	s.group.Retire()
	var next requeue
	if !binding.DeletionTimestamp.IsZero() {
		next.in(r.openDeleted(s, binding))
		left := events.Warning(v1beta1.ReasonRoleNotAllowed, "Deregister", "No target is deregistered with the binding: %s", why)
		next.in(r.claims.release(s, binding, &left))
		return next.result()
	}
	now := r.Clock.Now()
	updates, detached := conditions.Forbidden(r.gatedPods(s.key), s.gates.Gate(), why, s.detached, r.Policy, now)
	s.detached = detached
	next.in(r.gates.Write(s.gates, updates))
	next.in(targetgroup.RecheckPause)
	next.in(detached.Next(r.Policy, now))
	next.in(r.statuses.write(s, binding, statusInput{
		generation: binding.Generation, group: s.group.Snapshot(), claimFailure: s.claims.failure(), forbidden: why,
	}))
	return next.result()
}
