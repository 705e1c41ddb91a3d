// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package beside

import (
	"time"

	"github.com/targetgate/targetgate/targets/ownership"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// QuietTime is how long the incumbent must leave a binding of ours alone before we work on it again.
const QuietTime = time.Minute

const rivalWorks = "aws-load-balancer-controller works on this binding, too: its finalizer or its checkpoint annotation has changed. " +
	"targetgate registers and deregisters nothing until a minute after that controller has stopped. Check that the chart's " +
	"ValidatingAdmissionPolicy and ValidatingAdmissionPolicyBinding exist, and that beside.incumbentUser is " +
	"the user name of aws-load-balancer-controller"

// Rival is what passes have seen of the incumbent's work on a binding that is ours. The zero value has seen none. Passes of
// a binding come one after the other, so it needs no lock.
type Rival struct {
	known      bool
	checkpoint [2]string // the annotations at the last pass
	finalizer  bool      // the incumbent's stood beside ours then
	alarmTill  time.Time
}

// look compares the binding with the last pass, and says for how long nothing is to be done for it, and whether that is for alarm. A pass
// that the incumbent began before the binding was ours may end until settlesAt.
func (v *Rival) look(binding *v1beta1.TargetGroupBinding, settlesAt, now time.Time) (wait time.Duration, alarm bool) {
	before := *v
	v.known, v.finalizer = true, ownership.HasBoth(binding)
	v.checkpoint = [2]string{
		binding.Annotations[v1beta1.CheckpointAnnotation], binding.Annotations[v1beta1.CheckpointTimestampAnnotation],
	}
	if v.finalizer && !before.finalizer || before.known && v.checkpoint != before.checkpoint && !now.Before(settlesAt) {
		v.alarmTill = now.Add(QuietTime)
	}
	if wait := v.alarmTill.Sub(now); wait > 0 {
		return wait, true
	}
	return settlesAt.Sub(now), false
}
