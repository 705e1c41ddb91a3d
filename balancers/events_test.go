// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package balancers

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/targetgate/targetgate/balancers/apply"
	"github.com/targetgate/targetgate/balancers/plan"
	"github.com/targetgate/targetgate/balancers/stack"
)

// A pass does few late steps, and each member would be told after each of many passes.
func TestSuccessIsToldWhenAllStepsHadTheirTurn(t *testing.T) {
	done, other := plan.Step{Change: plan.Nothing{}}, plan.Step{Change: plan.DeleteTargetGroup{}}
	for name, tc := range map[string]struct {
		steps  plan.Plan
		result apply.Result
		want   []string
	}{
		"some steps are left for the next pass": {plan.Plan{done, done}, apply.Result{Done: plan.Plan{done}}, nil},
		"one waits":                             {plan.Plan{done, other}, apply.Result{Done: plan.Plan{done}, Waits: []plan.Wait{{}}}, nil},
		"one is left out":                       {plan.Plan{done, other}, apply.Result{Done: plan.Plan{done}, LeftOut: []plan.Step{other}}, nil},
		"nothing was to be done":                {nil, apply.Result{}, nil},
		"nothing could be done":                 {plan.Plan{other}, apply.Result{Later: []apply.Failure{{Step: other}}}, nil},
		"all is done":                           {plan.Plan{done, done}, apply.Result{Done: plan.Plan{done, done}}, []string{"a Normal SuccessfullyReconciled: Successfully reconciled"}},
		"something lingers": {
			plan.Plan{done, other}, apply.Result{Done: plan.Plan{done}, Later: []apply.Failure{{Step: other}}},
			[]string{"a Normal SuccessfullyReconciled: Successfully reconciled"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, webService(), served(ingressOf("a", edge), oldHost, edge))
			b.see(edge, balancer("old", true, 80))
			b.Planner = PlannerFunc(func(stack.Stack, stack.Stack) (plan.Plan, []plan.Overflow) { return tc.steps, nil })
			b.apply = func(apply.Pass) apply.Result { return tc.result }
			b.mustPass(edge)
			if diff := cmp.Diff(tc.want, b.events); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}
