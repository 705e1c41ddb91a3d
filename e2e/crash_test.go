// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/targetgate/targetgate/e2e/emulator/wire"
	"github.com/targetgate/targetgate/e2e/testbed"
)

// Rule 10: kill -9 after each kind of call, when a pod leaves and another one comes.
func TestKilledAfterAnyCallLosesNothing(t *testing.T) {
	app := newApp("crashed")
	// 6 s here: as long as targetgate needs to come back. Pods come with their gate, also while nobody injects it.
	app.PreStopSeconds, app.ExplicitGate = 60, true
	deploy(t, app)
	awaitRolled(t, app)
	stop := underLoad(t, app)
	tests := map[string]struct {
		fault  wire.Fault
		moment func(begun time.Time, comer string) error // an error until it is time to kill
	}{
		"deregistered, not answered": {
			fault:  wire.Fault{Operation: "DeregisterTargets", Drop: true},
			moment: func(begun time.Time, _ string) error { return calledSince(app, "DeregisterTargets", begun) },
		},
		"deregistration refused": {
			fault:  wire.Fault{Operation: "DeregisterTargets", Code: "ServiceUnavailable"},
			moment: func(begun time.Time, _ string) error { return calledSince(app, "DeregisterTargets", begun) },
		},
		"registered, not answered": {
			fault:  wire.Fault{Operation: "RegisterTargets", Drop: true},
			moment: func(begun time.Time, _ string) error { return calledSince(app, "RegisterTargets", begun) },
		},
		"registered, no condition yet": {
			moment: func(begun time.Time, _ string) error { return calledSince(app, "RegisterTargets", begun) },
		},
		"healthy, reading under way": {
			fault: wire.Fault{Operation: "DescribeTargetHealth", Hang: time.Hour},
			moment: func(_ time.Time, comer string) error {
				_, err := turned(app, comer, "healthy")
				return err
			},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			old, begun := uids(pods(t, app)), time.Now()
			tc.fault.TargetGroup = app.TargetGroup
			heal := bed.AWS.Inject(tc.fault)
			defer heal()
			deletePod(t, oldestPod(t, app))
			eventually(t, "the moment to kill", func() error {
				comers := newPods(t, app, old)
				if len(comers) == 0 {
					return errors.New("no pod has come")
				}
				return tc.moment(begun, comers[0].Status.PodIP)
			})
			bed.Targetgate.Kill()
			heal()
			must(t, bed.Targetgate.Restart(t.Context()))
			awaitRolled(t, app)
			awaitConverged(t, app)
		})
	}
	stop()
	assertOnlyLeaversDeregistered(t, app)
	assertGatesOpenedByHealth(t, app)
}

func calledSince(app *testbed.App, operation string, since time.Time) error {
	if len(callsSince(app, operation, since)) == 0 {
		return fmt.Errorf("no %s yet", operation)
	}
	return nil
}
