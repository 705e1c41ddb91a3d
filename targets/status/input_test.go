// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"testing"

	"github.com/targetgate/targetgate/targets/fixture"
	"github.com/targetgate/targetgate/targets/plan"
	"github.com/targetgate/targetgate/targets/targetgroup"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// The answer of AWS may come between the plan and the status: what the plan did not know yet it has not done.
func TestReadyIsJudgedByWhatThePlanKnew(t *testing.T) {
	read := targetgroup.Snapshot{ARN: fixture.ARN, ReadAt: fixture.Noon}
	for name, in := range map[string]Input{
		"the group was read since":   {Generation: 1, Group: read},
		"the consent was read since": {Generation: 1, Group: read, Complete: true, Hold: plan.Hold{Withheld: true}},
	} {
		if c := in.ready(); c.Reason != v1beta1.ReasonReading {
			t.Errorf("%s: Ready is %s %s, want %s", name, c.Status, c.Reason, v1beta1.ReasonReading)
		}
	}
}
