// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package leaving

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/targetgate/targetgate/e2e/departures"
	"github.com/targetgate/targetgate/e2e/emulator/state"
	"github.com/targetgate/targetgate/e2e/emulator/wire"
	"github.com/targetgate/targetgate/e2e/kubelet"
	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/e2e/testbed"
)

// AWS throttles every call for 20 s in the middle of a rush, which is bound by its limits of calls anyway. The first deadlines are some 8 s
// after that. No request fails, and none of the pods leaves late that could have left in time with the calls that AWS let through.
func TestNoDeadlineIsMissedWhileAWSThrottles(t *testing.T) {
	const throttled, leaves = 20 * time.Second, 32
	old := map[*testbed.App][]corev1.Pod{}
	for i := range 20 {
		app := newApp(fmt.Sprintf("throttled-%02d", i), state.Application)
		app.PreStopSeconds = leaves
		bed.Deploy(t, app)
		old[app] = nil
	}
	var stops []func()
	for app := range old {
		bed.AwaitRolled(t, app)
		old[app] = bed.Pods(t, app)
		stops = append(stops, bed.UnderLoadOf(t, app, 10))
	}
	begun := time.Now()
	for app := range old {
		suite.Must(t, bed.Roll(t.Context(), app, "2", nil))
	}
	suite.Eventually(t, "some pods to leave", func() error { return wantLeaving(old, 10) })
	bed.AWS.Inject(wire.Fault{Code: "Throttling", Message: "Rate exceeded", For: throttled})
	for app := range old {
		bed.AwaitRolled(t, app)
	}
	for _, stop := range stops {
		stop()
	}
	late, due := 0, []departures.Due{}
	for app, pods := range old {
		for _, pod := range pods {
			d := dueOf(t, app, &pod)
			if awaitDeregistration(t, app, &pod, begun).Answered.After(d.Deadline) {
				late++
			}
			due = append(due, d)
		}
	}
	calls := answeredSince(begun)
	best := departures.Late(due, calls)
	t.Logf("of %d pods %d left late, %d with the best schedule for the %d calls in %s", len(due), late, best, len(calls), time.Since(begun))
	if late > best {
		t.Errorf("%d pods left late, want %d: so many must, with the calls that AWS let through", late, best)
	}
}

// wantLeaving is an error until so many of the pods are being deleted.
func wantLeaving(pods map[*testbed.App][]corev1.Pod, want int) error {
	leaving := 0
	for _, list := range pods {
		for _, pod := range list {
			if _, err := bed.MomentOf(pod.UID, kubelet.DeletionSeen); err == nil {
				leaving++
			}
		}
	}
	if leaving < want {
		return fmt.Errorf("%d leave", leaving)
	}
	return nil
}

// dueOf is when the pod, which has left, had to be deregistered, by what its node has done.
func dueOf(t *testing.T, app *testbed.App, pod *corev1.Pod) departures.Due {
	t.Helper()
	ended, err := bed.MomentOf(pod.UID, kubelet.SIGTERM)
	suite.Must(t, err)
	return departures.Due{
		Group: app.TargetGroup, Known: deletion(t, pod), Deadline: ended.Add(-stops[state.Application] - margin),
	}
}

// answeredSince are the times at which AWS has answered the registrations and deregistrations that it has let through.
func answeredSince(since time.Time) (answered []time.Time) {
	for _, call := range bed.AWS.Calls(0) {
		change := call.Operation == "RegisterTargets" || call.Operation == "DeregisterTargets"
		if change && call.Code == "" && call.Received.After(since) {
			answered = append(answered, call.Answered)
		}
	}
	return answered
}
