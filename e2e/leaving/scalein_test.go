// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package leaving

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/targetgate/targetgate/e2e/emulator/state"
	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/e2e/testbed"
)

// aloneWithin is by when a pod that nobody replaces is deregistered, however long it sleeps.
const aloneWithin = 15 * time.Second

// deletedPods are those of the app that are being deleted.
func deletedPods(t *testing.T, app *testbed.App) []corev1.Pod {
	t.Helper()
	return slices.DeleteFunc(bed.Pods(t, app), func(p corev1.Pod) bool { return p.DeletionTimestamp == nil || p.Status.PodIP == "" })
}

// awaitLeavers waits until so many pods of the app are being deleted.
func awaitLeavers(t *testing.T, app *testbed.App, want int) (found []corev1.Pod) {
	t.Helper()
	suite.Eventually(t, fmt.Sprintf("%d pods to be deleted", want), func() error {
		found = deletedPods(t, app)
		if len(found) < want {
			return fmt.Errorf("%d are", len(found))
		}
		return nil
	})
	return found
}

// Rule 5: a pod waits for a replacement only if somebody makes one.
func TestPodsThatNobodyReplacesLeave(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		hangs bool
		to    int32
	}{
		"scalein":   {to: 2},
		"tonone":    {to: 0},
		"hangsthen": {hangs: true, to: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := newApp(name, state.Application)
			app.Replicas, app.PreStopSeconds = 4, 60
			stop := begin(t, app)
			old := suite.UIDs(bed.Pods(t, app))
			if tc.hangs {
				suite.Must(t, bed.Roll(t.Context(), app, "v2", map[string]string{"READY": "false"}))
				suite.Eventually(t, "the new version to start", func() error {
					if n := len(bed.NewPods(t, app, old)); n == 0 {
						return fmt.Errorf("no new pod")
					}
					return nil
				})
				time.Sleep(3 * time.Second) // these are older than what comes now
			}
			rolled := suite.UIDs(deletedPods(t, app)) // by the rollout, which replaces them
			deleted := time.Now()
			suite.Must(t, bed.Scale(t.Context(), app, tc.to))
			for _, pod := range awaitLeavers(t, app, len(rolled)+1) {
				_, wasReady := old[pod.UID]
				if _, before := rolled[pod.UID]; before || !wasReady {
					continue
				}
				call := awaitDeregistration(t, app, &pod, deleted)
				if took := call.Received.Sub(deleted); took > aloneWithin {
					t.Errorf("%s was deregistered %s after its deletion, though nobody replaces it", pod.Name, took)
				}
			}
			if tc.to > 0 {
				stop()
			}
		})
	}
}
