// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"fmt"
	"slices"
	"testing"

	"github.com/targetgate/targetgate/e2e/load"
	"github.com/targetgate/targetgate/e2e/testbed"
)

// UnderLoad sends requests to the app until stop, which fails the test when one of them failed.
func (bed *Bed) UnderLoad(t *testing.T, app *testbed.App) (stop func()) {
	t.Helper()
	return bed.UnderLoadOf(t, app, 100)
}

// UnderLoadOf is UnderLoad with so many requests a second.
func (bed *Bed) UnderLoadOf(t *testing.T, app *testbed.App, rate float64) (stop func()) {
	t.Helper()
	lost := bed.Load(t, app, rate)
	return func() {
		t.Helper()
		if text := lost(); text != "" {
			t.Error(text)
		}
	}
}

// Load sends so many requests a second to the app, until lost is called. It returns which were not answered by a pod, "" for none.
func (bed *Bed) Load(t *testing.T, app *testbed.App, rate float64) (lost func() string) {
	t.Helper()
	l, err := load.Start(t.Context(), load.Options{URL: app.URL, Rate: rate})
	Must(t, err)
	return func() string {
		result := l.Stop()
		if result.Failed == 0 && result.Requests > 0 {
			return ""
		}
		return fmt.Sprintf("%d of %d requests to %s failed: %v%s", result.Failed, result.Requests, app.Name, result.ByStatus, bed.postMortem(app))
	}
}

// InOneOfThree tries again what the rest of a busy machine may have spoilt: what targetgate does wrong spoils all three.
func InOneOfThree(t *testing.T, what string, try func() bool) {
	t.Helper()
	for range 3 {
		if try() {
			return
		}
	}
	t.Errorf("waited three times in vain for %s", what)
}

// postMortem tells of the first request that failed at a target: when, and what had happened to the target.
func (bed *Bed) postMortem(app *testbed.App) string {
	for _, request := range bed.AWS.Requests(0) {
		if request.Group != app.TargetGroup || request.Status < 500 || request.Target.ID == "" {
			continue
		}
		text := fmt.Sprintf("; the first one at %s at %s (%s), whose pod:", request.Target, request.Start.UTC(), request.Err)
		for _, m := range bed.Kubelet.Moments() {
			if m.Namespace == app.Name && m.IP == request.Target.ID {
				text += fmt.Sprintf("\n%s %s", m.At.UTC(), m.Event)
			}
		}
		for _, call := range append(bed.Calls(app, "RegisterTargets"), bed.Calls(app, "DeregisterTargets")...) {
			if slices.Contains(call.Targets, request.Target) {
				text += fmt.Sprintf("\n%s %s (%d)", call.Received.UTC(), call.Operation, call.Status)
			}
		}
		return text
	}
	return ""
}
