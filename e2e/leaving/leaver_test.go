// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package leaving

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/e2e/departures"
	"github.com/targetgate/targetgate/e2e/emulator/state"
	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/e2e/testbed"
)

// What targetgate promises, and a test must not take from its code.
const (
	margin   = 500 * time.Millisecond // between the deadline and the last moment
	callTime = time.Second            // how long before its deadline a deregistration is sent, at the latest
	together = 3 * time.Second        // how far apart deadlines are for which one call is made
)

// leaver is a pod that is being deleted.
type leaver struct {
	app      *testbed.App
	pod      corev1.Pod
	deadline time.Time // by when its deregistration must have been answered, from what the API server says of the pod
}

// leaverOf is the pod as the API server has it now.
func leaverOf(t *testing.T, app *testbed.App, balancer string, pod *corev1.Pod) leaver {
	t.Helper()
	suite.Must(t, bed.Client.Get(t.Context(), client.ObjectKeyFromObject(pod), pod))
	if pod.DeletionTimestamp == nil {
		t.Fatalf("pod %s is not being deleted", pod.Name)
	}
	grace := *pod.DeletionGracePeriodSeconds
	serves := time.Duration(min(grace, app.PreStopSeconds)-grace) * time.Second
	return leaver{app: app, pod: *pod, deadline: pod.DeletionTimestamp.Add(serves - stops[balancer] - margin)}
}

// awaitLeaver waits until one of the app's pods is being deleted.
func awaitLeaver(t *testing.T, app *testbed.App, balancer string) (found leaver) {
	t.Helper()
	suite.Eventually(t, "a pod to leave", func() error {
		for _, pod := range bed.Pods(t, app) {
			if pod.DeletionTimestamp != nil {
				found = leaverOf(t, app, balancer, &pod)
				return nil
			}
		}
		return errors.New("none does")
	})
	return found
}

// awaitReplaced waits until as many pods are Ready that do not leave as there should be.
func awaitReplaced(t *testing.T, app *testbed.App) {
	t.Helper()
	awaitReady(t, app, int(app.Replicas))
}

// awaitReady waits until so many pods of the app are Ready that do not leave.
func awaitReady(t *testing.T, app *testbed.App, want int) {
	t.Helper()
	suite.Eventually(t, fmt.Sprintf("%d pods of %s to be Ready and stay", want, app.Name), func() error {
		stay := slices.DeleteFunc(bed.Pods(t, app), func(p corev1.Pod) bool { return p.DeletionTimestamp != nil || !testbed.IsReady(&p) })
		if len(stay) != want {
			return fmt.Errorf("%d pods are Ready", len(stay))
		}
		return nil
	})
}

// left waits until the leaver's target was deregistered, and returns when the call came. It fails the test when the call was answered
// after the deadline.
func (l leaver) left(t *testing.T) (called time.Time) {
	t.Helper()
	call := awaitDeregistration(t, l.app, &l.pod, time.Time{})
	if late := call.Answered.Sub(l.deadline); late > 0 {
		t.Errorf("the target of %s was deregistered %s after its deadline", l.pod.Name, late)
	}
	return call.Received
}

// early is how long before it was due the leaver's target was deregistered.
func (l leaver) early(called time.Time) time.Duration { return l.deadline.Add(-callTime).Sub(called) }

// searched is how long after its deletion a pod stays at least for which no replacement is seen: 5 s, less what clocks and calls take.
const searched = 4 * time.Second

// wantStayed fails the test unless the leaver's target was deregistered when it was due, or when it was known that nothing replaces it. It
// must be the only one of its app.
func (l leaver) wantStayed(t *testing.T) {
	t.Helper()
	called := l.left(t)
	if early := l.early(called); early > 0 && called.Sub(deletion(t, &l.pod)) < searched {
		t.Errorf("the target of %s was deregistered %s before it was due, and nothing has replaced it", l.pod.Name, early)
	}
}

// foundWithin is how long after its replacement is healthy a target goes, on a busy machine: the group is read every 5 s at least.
const foundWithin = 10 * time.Second

// wantReplaced fails the test unless the leaver's target was deregistered when that of the comer was healthy, or when it was due.
func (l leaver) wantReplaced(t *testing.T, comer *corev1.Pod) {
	t.Helper()
	called := l.left(t)
	healthy, err := bed.Turned(l.app, comer.Status.PodIP, string(state.Healthy))
	suite.Must(t, err)
	if early := healthy.Sub(called); early > 0 && l.early(called) > 0 {
		t.Errorf("the target of %s was deregistered %s before its replacement was healthy", l.pod.Name, early)
	}
	if kept := called.Sub(healthy); kept > foundWithin {
		t.Errorf("the target of %s was kept for %s after its replacement was healthy", l.pod.Name, kept)
	}
}

// wantServed fails the test when a leaver's target went before it was due, while fewer others than replicas served.
func wantServed(t *testing.T, app *testbed.App, leavers ...leaver) {
	t.Helper()
	for _, l := range leavers {
		l.left(t) // only then does the journal say what served
	}
	others := map[state.Key]int{}
	for _, d := range departures.From(bed.AWS.Journal(0), app.TargetGroup) {
		others[d.Target] = d.Others
	}
	for _, l := range leavers {
		called, key := l.left(t), suite.TargetOf(l.pod.Status.PodIP)
		n, found := others[key]
		if !found {
			t.Errorf("target %s of %s has never served: the test proves nothing", key, app.Name)
		}
		if early := l.early(called); n < int(app.Replicas) && early > together {
			t.Errorf("target %s of %s left %s before it was due, and only %d others served", key, app.Name, early, n)
		}
	}
}
