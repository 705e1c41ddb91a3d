// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func TestSpacedPutsBreatherBetweenPasses(t *testing.T) {
	const plannedWait = time.Minute
	clk, passes := testclock.NewFakeClock(time.Now()), 0
	s := newSpaced(reconcile.Func(func(context.Context, ctrl.Request) (ctrl.Result, error) {
		passes++
		return ctrl.Result{RequeueAfter: plannedWait}, nil
	}), clk)
	steps := []struct {
		after      time.Duration
		name       string
		wantWait   time.Duration
		wantPasses int
	}{
		{0, "web", plannedWait, 1},
		{0, "web", breather, 1},
		{breather / 4, "web", breather * 3 / 4, 1},
		{0, "other", plannedWait, 2},
		{breather * 3 / 4, "web", plannedWait, 3},
		{0, "other", breather / 4, 3},
		{0, "web", breather, 3},
		{time.Hour, "web", plannedWait, 4},
	}
	for i, step := range steps {
		clk.Step(step.after)
		result, err := s.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: step.name}})
		if err != nil || result.RequeueAfter != step.wantWait || passes != step.wantPasses {
			t.Errorf("step %d: look again in %s (%v) after %d passes, want %s and %d",
				i, result.RequeueAfter, err, passes, step.wantWait, step.wantPasses)
		}
	}
	if n := len(s.begun); n != 1 {
		t.Errorf("%d passes are remembered after an hour, want that of web", n)
	}
}
