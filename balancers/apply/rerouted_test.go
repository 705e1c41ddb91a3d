// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"errors"
	"testing"
)

// The next pass may find the rule changed, and would delete at once what load balancers still send to.
func TestARuleWhoseChangeHasNoAnswerMayBeFollowedOrNot(t *testing.T) {
	for name, tc := range map[string]struct {
		err      error
		rerouted bool
	}{
		"no answer": {errors.New("connection reset"), true},
		"a refusal": {refusal("InvalidLoadBalancerAction"), false},
		"too many":  {refusal("Throttling"), false},
	} {
		t.Run(name, func(t *testing.T) {
			f, rule := good(), deleteRule(listenerARN, "old")
			f.errs["DeleteRule "+rule.Rule.ID] = tc.err
			if result, _ := run(t, f, do(rule)...); result.Rerouted != tc.rerouted || len(result.Failures) != 1 {
				t.Errorf("result %+v, want rerouted: %v", result, tc.rerouted)
			}
		})
	}
}
