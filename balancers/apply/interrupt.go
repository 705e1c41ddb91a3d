// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"time"

	"github.com/targetgate/targetgate/balancers/steps"
)

// isToEnd reports whether the rest is left to the next pass.
func (d *doing) isToEnd() bool {
	tried := len(d.result.Done) + len(d.result.Failures) + len(d.result.Later)
	d.ending = d.ending || tried > 0 && d.pass.Interrupted != nil && d.pass.Interrupted(d.changed)
	return d.ending
}

// interrupt leaves the step to the next pass.
func (d *doing) interrupt(step steps.Step) {
	d.result.LeftOut, d.result.Interrupted = append(d.result.LeftOut, step), true
	if d.changed {
		d.again(time.Millisecond)
	} else {
		d.again(idlePause)
	}
}

// leaveRest leaves these of the steps to the next pass, as a failure has ended this one. Nobody waits for late ones.
func (d *doing) leaveRest(rest steps.Plan, these func(steps.Step) bool) {
	for _, step := range rest {
		if these(step) && !step.Late {
			d.result.LeftOut = append(d.result.LeftOut, step)
		}
	}
}
