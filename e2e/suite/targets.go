// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/targetgate/targetgate/e2e/emulator/state"
	"github.com/targetgate/targetgate/e2e/testbed"
)

// KeysOf are the pods' targets at that port.
func KeysOf(list []corev1.Pod, port int) []state.Key {
	var out []state.Key
	for _, pod := range list {
		out = append(out, state.Key{ID: pod.Status.PodIP, Port: port})
	}
	return out
}

// AwaitHealthy waits until exactly these targets are registered, all healthy; others may drain.
func (bed *Bed) AwaitHealthy(t *testing.T, app *testbed.App, want ...state.Key) {
	t.Helper()
	Eventually(t, "these targets to be healthy and no others there", func() error { return bed.WantHealthy(app, want...) })
}

// AwaitTargets waits until exactly these targets are registered, whatever their health.
func (bed *Bed) AwaitTargets(t *testing.T, app *testbed.App, want ...state.Key) {
	t.Helper()
	Eventually(t, "exactly these targets", func() error { return bed.WantTargets(app, want...) })
}

// WantTargets is an error when the registered targets, but for those that drain, are not these.
func (bed *Bed) WantTargets(app *testbed.App, want ...state.Key) error {
	lines, err := bed.AWS.ELB.Describe(app.TargetGroup, nil)
	if err != nil {
		return err
	}
	got := map[state.Key]bool{}
	for _, line := range lines {
		if line.State != state.Draining {
			got[line.Key] = true
		}
	}
	for _, key := range want {
		if !got[key] {
			return fmt.Errorf("%s is not registered, want %v", key, want)
		}
	}
	if len(got) != len(want) {
		return fmt.Errorf("targets %v are registered, want %v", got, want)
	}
	return nil
}

// TargetOf is the target of a pod with that address.
func TargetOf(ip string) state.Key { return state.Key{ID: ip, Port: 8080} }

// Turned is when the load balancer first showed the pod's target in that state.
func (bed *Bed) Turned(app *testbed.App, ip, to string) (time.Time, error) {
	for _, event := range bed.AWS.Journal(0) {
		if event.Group == app.TargetGroup && event.Target.Key == TargetOf(ip) && event.Kind == state.Changed && string(event.To.State) == to {
			return event.Time, nil
		}
	}
	return time.Time{}, fmt.Errorf("target %s was never %s", ip, to)
}

// RegisteredTargets are the targets of the app's group that do not drain.
func (bed *Bed) RegisteredTargets(t *testing.T, app *testbed.App) []state.Key {
	t.Helper()
	lines, err := bed.AWS.ELB.Describe(app.TargetGroup, nil)
	Must(t, err)
	var out []state.Key
	for _, line := range lines {
		if line.State != "draining" {
			out = append(out, line.Key)
		}
	}
	return out
}

// AwaitConverged waits until exactly the targets of the app's live pods are registered, all healthy, and the binding
// says so.
func (bed *Bed) AwaitConverged(t *testing.T, app *testbed.App) {
	t.Helper()
	Eventually(t, "exactly the live pods to be registered and healthy", func() error {
		var live []corev1.Pod
		for _, pod := range bed.Pods(t, app) {
			if pod.DeletionTimestamp == nil {
				live = append(live, pod)
			}
		}
		return bed.WantHealthy(app, KeysOf(live, 8080)...)
	})
	bed.AwaitSettled(t, app)
}

// WantHealthy is an error when the targets that do not drain are not these, all of them healthy.
func (bed *Bed) WantHealthy(app *testbed.App, want ...state.Key) error {
	lines, err := bed.AWS.ELB.Describe(app.TargetGroup, nil)
	if err != nil {
		return err
	}
	healthy := 0
	for _, line := range lines {
		wanted := slices.Contains(want, line.Key)
		switch {
		case line.State == state.Draining:
		case line.State != state.Healthy || !wanted:
			return fmt.Errorf("target %s is %s, of a live pod: %v", line.Key, line.State, wanted)
		default:
			healthy++
		}
	}
	if healthy != len(want) {
		return fmt.Errorf("%d targets are healthy, want %d", healthy, len(want))
	}
	return nil
}

// WantServing is an error when fewer targets than that are healthy.
func (bed *Bed) WantServing(app *testbed.App, want int) error {
	return bed.wantInState(app, want, state.Healthy)
}

// WantKept is an error when fewer targets than that are healthy, or were: a health check that a busy machine is too slow for is nothing
// that targetgate did.
func (bed *Bed) WantKept(app *testbed.App, want int) error {
	return bed.wantInState(app, want, state.Healthy, state.Unhealthy)
}

func (bed *Bed) wantInState(app *testbed.App, want int, states ...state.HealthState) error {
	lines, err := bed.AWS.ELB.Describe(app.TargetGroup, nil)
	if err != nil {
		return err
	}
	found := 0
	for _, line := range lines {
		if slices.Contains(states, line.State) {
			found++
		}
	}
	if found < want {
		return fmt.Errorf("%d targets are %v, want %d: %v", found, states, want, lines)
	}
	return nil
}

// WantThere is an error when one of the targets is not registered.
func (bed *Bed) WantThere(t *testing.T, app *testbed.App, keys []state.Key) error {
	t.Helper()
	registered := bed.RegisteredTargets(t, app)
	for _, key := range keys {
		if !slices.Contains(registered, key) {
			return fmt.Errorf("%s is not registered any more", key)
		}
	}
	return nil
}
