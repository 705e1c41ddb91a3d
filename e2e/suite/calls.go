// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/targetgate/targetgate/e2e/emulator/wire"
	"github.com/targetgate/targetgate/e2e/kubelet"
	"github.com/targetgate/targetgate/e2e/testbed"
)

// WantCall is an error when the operation was not called for the app's target group after since.
func (bed *Bed) WantCall(app *testbed.App, operation string, since time.Time) error {
	if len(bed.CallsSince(app, operation, since)) == 0 {
		return fmt.Errorf("no %s yet", operation)
	}
	return nil
}

// Calls are the answered AWS calls of an operation for the app's target group.
func (bed *Bed) Calls(app *testbed.App, operation string) []wire.Call {
	var out []wire.Call
	for _, call := range bed.AWS.Calls(0) {
		if call.Operation == operation && call.TargetGroup == app.TargetGroup {
			out = append(out, call)
		}
	}
	return out
}

// CallsSince are those that were received after since.
func (bed *Bed) CallsSince(app *testbed.App, operation string, since time.Time) []wire.Call {
	return slices.DeleteFunc(bed.Calls(app, operation), func(c wire.Call) bool { return !c.Received.After(since) })
}

// CallFor is the first call of the operation that names the pod's target and was received after since.
func (bed *Bed) CallFor(app *testbed.App, operation, ip string, since time.Time) (wire.Call, error) {
	for _, call := range bed.Calls(app, operation) {
		if call.Received.After(since) && slices.Contains(call.Targets, TargetOf(ip)) {
			return call, nil
		}
	}
	return wire.Call{}, fmt.Errorf("no %s for %s", operation, ip)
}

// AssertOnlyLeaversDeregistered fails when a target was deregistered whose pod nobody had deleted and that was ready.
func (bed *Bed) AssertOnlyLeaversDeregistered(t *testing.T, app *testbed.App) {
	t.Helper()
	lives := map[string][]kubelet.Moment{}
	for _, moment := range bed.Kubelet.Moments() {
		if moment.Namespace == app.Name {
			lives[moment.IP] = append(lives[moment.IP], moment)
		}
	}
	for _, call := range bed.Calls(app, "DeregisterTargets") {
		for _, target := range call.Targets {
			if life := lives[target.ID]; !mayLeave(life, call.Received) {
				t.Errorf("live target %s was deregistered at %s; its pod: %v", target, call.Received, life)
			}
		}
	}
}

// mayLeave reports whether the pod of these moments was deleted at some time, or had been unready for several seconds: on a
// machine with too little CPU for its probes a pod may be, and then rule 6 lets it go.
func mayLeave(life []kubelet.Moment, at time.Time) bool {
	unready := false
	for _, moment := range life {
		switch moment.Event {
		case kubelet.DeletionSeen, kubelet.Gone:
			return true
		case kubelet.ContainersNotReady:
			unready = unready || moment.At.Before(at.Add(-5*time.Second))
		case kubelet.ContainersReady:
			unready = unready && moment.At.After(at.Add(-5*time.Second))
		}
	}
	return unready
}

// AssertUntouched fails when a target was registered or deregistered since.
func (bed *Bed) AssertUntouched(t *testing.T, app *testbed.App, since time.Time) {
	t.Helper()
	for _, operation := range []string{"RegisterTargets", "DeregisterTargets"} {
		for _, call := range bed.CallsSince(app, operation, since) {
			t.Errorf("%s of %v at %s, want none", operation, call.Targets, call.Received)
		}
	}
}
