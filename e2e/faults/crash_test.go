// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package faults

import (
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/e2e/emulator/wire"
	"github.com/targetgate/targetgate/e2e/kubelet"
	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/e2e/testbed"
)

// Rule 10: kill -9 after each kind of call, when a pod leaves and another one comes.
func TestKilledAfterAnyCallLosesNothing(t *testing.T) {
	app := suite.NewApp("crashed")
	app.PreStopSeconds = suite.LongSleep
	app.ExplicitGate = true // pods come with their gate, also while nobody injects it
	bed.Deploy(t, app)
	bed.AwaitRolled(t, app)
	stop := bed.UnderLoad(t, app)
	tests := map[string]struct {
		fault  wire.Fault
		moment func(begun time.Time, comer string) error // an error until it is time to kill
	}{
		"deregistered, not answered": {
			fault:  wire.Fault{Operation: "DeregisterTargets", Drop: true},
			moment: func(begun time.Time, _ string) error { return bed.WantCall(app, "DeregisterTargets", begun) },
		},
		"deregistration refused": {
			fault:  wire.Fault{Operation: "DeregisterTargets", Code: "ServiceUnavailable"},
			moment: func(begun time.Time, _ string) error { return bed.WantCall(app, "DeregisterTargets", begun) },
		},
		"registered, not answered": {
			fault:  wire.Fault{Operation: "RegisterTargets", Drop: true},
			moment: func(begun time.Time, _ string) error { return bed.WantCall(app, "RegisterTargets", begun) },
		},
		"registered, no condition yet": {
			moment: func(begun time.Time, _ string) error { return bed.WantCall(app, "RegisterTargets", begun) },
		},
		"healthy, reading under way": {
			fault: wire.Fault{Operation: "DescribeTargetHealth", Hang: time.Hour},
			moment: func(_ time.Time, comer string) error {
				_, err := bed.Turned(app, comer, "healthy")
				return err
			},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			old, begun := suite.UIDs(bed.Pods(t, app)), time.Now()
			tc.fault.TargetGroup = app.TargetGroup
			heal := bed.AWS.Inject(tc.fault)
			defer heal()
			bed.DeletePod(t, bed.OldestPod(t, app))
			suite.Eventually(t, "the moment to kill", func() error {
				comers := bed.NewPods(t, app, old)
				if len(comers) == 0 {
					return errors.New("no pod has come")
				}
				return tc.moment(begun, comers[0].Status.PodIP)
			})
			bed.Targetgate.Kill()
			heal()
			suite.Must(t, bed.Targetgate.Restart(t.Context()))
			bed.AwaitRolled(t, app)
			bed.AwaitConverged(t, app)
		})
	}
	stop()
	bed.AssertOnlyLeaversDeregistered(t, app)
	assertGatesOpenedByHealth(t, app)
}

// assertGatesOpenedByHealth fails when a pod was Ready before its own target was healthy. It needs addresses that are
// not used twice.
func assertGatesOpenedByHealth(t *testing.T, app *testbed.App) {
	t.Helper()
	for _, moment := range bed.Kubelet.Moments() {
		if moment.Namespace != app.Name || moment.Event != kubelet.Ready {
			continue
		}
		if healthy, err := bed.Turned(app, moment.IP, "healthy"); err != nil || moment.At.Before(healthy) {
			var pod corev1.Pod
			gone := bed.Client.Get(t.Context(), client.ObjectKey{Namespace: moment.Namespace, Name: moment.Pod}, &pod)
			t.Errorf("pod %s was Ready at %s, its target healthy at %s (%v); its gates are %v, its conditions %+v (%v)",
				moment.Pod, moment.At, healthy, err, pod.Spec.ReadinessGates, pod.Status.Conditions, gone)
		}
	}
}
