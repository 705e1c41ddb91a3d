// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package leaving

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/e2e/emulator/state"
	"github.com/targetgate/targetgate/e2e/emulator/wire"
	"github.com/targetgate/targetgate/e2e/kubelet"
	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/e2e/testbed"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// Rule 5: each pod of two is evicted in turn, or both at once, and nobody asks for more pods than two.
func TestEvictedPodsStayUntilTheyAreReplaced(t *testing.T) {
	t.Parallel()
	for _, balancer := range []string{state.Application, state.Network} {
		for _, inTurn := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, in turn %t", balancer, inTurn), func(t *testing.T) {
				t.Parallel()
				app := newApp(fmt.Sprintf("evicted-%s-%t", balancer[:3], inTurn), balancer)
				stop := begin(t, app)
				var leavers []leaver
				for _, pod := range bed.Pods(t, app) {
					known := suite.UIDs(bed.Pods(t, app))
					evict(t, &pod)
					l := leaverOf(t, app, balancer, &pod)
					leavers = append(leavers, l)
					if inTurn {
						awaitReplaced(t, app)
						l.wantReplaced(t, &bed.NewPods(t, app, known)[0])
					}
				}
				bed.AwaitRolled(t, app)
				stop()
				wantServed(t, app, leavers...)
				wantMargin(t)
			})
		}
	}
}

// The owner of a pod may have it leave at once.
func TestPodLeavesAtOnceWhereItsOwnerSaysSo(t *testing.T) {
	t.Parallel()
	app := newApp("at-once", state.Application)
	app.Template = func(template *corev1.PodTemplateSpec) {
		template.Annotations = map[string]string{v1beta1.KeepUntilReplacedAnnotation: "false"}
	}
	evictOneThatLeavesAtOnce(t, app)
}

func TestPodLeavesAtOnceWithoutKeepUntilReplaced(t *testing.T) {
	bed.WithFlags(t, append(bed.Targetgate.Flags(), "--keep-until-replaced=false")...)
	evictOneThatLeavesAtOnce(t, newApp("not-kept", state.Application))
}

// evictOneThatLeavesAtOnce evicts a pod of the app. What replaces it comes up only when its target should be gone.
func evictOneThatLeavesAtOnce(t *testing.T, app *testbed.App) {
	t.Helper()
	app.PreStopSeconds, app.Env = 8, map[string]string{"STARTUP_DELAY": "4s"}
	stop := begin(t, app)
	pod := bed.OldestPod(t, app)
	evict(t, pod)
	called := leaverOf(t, app, state.Application, pod).left(t)
	if took := called.Sub(deletion(t, pod)); took > 2*time.Second {
		t.Errorf("deregistered %s after the deletion, want at once", took)
	}
	bed.AwaitRolled(t, app)
	stop()
}

// Nothing replaces the pod of a Deployment that gets smaller: its target leaves when that is known. A second deletion, with less time than
// the pod sleeps, brings its deadline forward.
func TestSecondDeletionMovesTheDeadline(t *testing.T) {
	t.Parallel()
	app := newApp("sooner", state.Application)
	stop := begin(t, app)
	suite.Must(t, bed.Scale(t.Context(), app, 1))
	l := awaitLeaver(t, app, state.Application)
	bed.DeletePod(t, &l.pod, client.GracePeriodSeconds(10))
	shortened := leaverOf(t, app, state.Application, &l.pod)
	if !shortened.deadline.Before(l.deadline.Add(-10 * time.Second)) {
		t.Fatalf("the deadline was %s and is %s: the test proves nothing", l.deadline, shortened.deadline)
	}
	shortened.wantStayed(t)
	bed.AwaitRolled(t, app)
	stop()
}

// A new process knows nothing of those who leave but what the cluster and AWS say. It keeps the deadlines all the same, whether others
// come in time or not.
func TestDeadlinesHoldAfterAKill(t *testing.T) {
	smaller, evicted := newApp("killed-smaller", state.Application), newApp("killed", state.Application)
	evicted.ExplicitGate = true // nobody injects it for a while
	stopSmaller, stopEvicted := begin(t, smaller), begin(t, evicted)
	pod := bed.OldestPod(t, evicted)
	evict(t, pod)
	suite.Must(t, bed.Scale(t.Context(), smaller, 1))
	kept, replaced := awaitLeaver(t, smaller, state.Application), leaverOf(t, evicted, state.Application, pod)
	bed.Targetgate.Kill()
	suite.Must(t, bed.Targetgate.Restart(t.Context()))
	kept.wantStayed(t)
	wantServed(t, evicted, replaced)
	bed.AwaitRolled(t, smaller)
	bed.AwaitRolled(t, evicted)
	stopSmaller()
	stopEvicted()
}

// begin deploys the app, and sends it requests until stop.
func begin(t *testing.T, app *testbed.App) (stop func()) {
	t.Helper()
	bed.Deploy(t, app)
	bed.AwaitRolled(t, app)
	return underLoad(t, app)
}

// underLoad sends requests until stop, which fails the test when one of them failed.
func underLoad(t *testing.T, app *testbed.App) (stop func()) {
	t.Helper()
	app.URL = strings.Replace(app.URL, "tcp:", "http:", 1)
	return bed.UnderLoadOf(t, app, 25)
}

func evict(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	suite.Eventually(t, "the eviction of "+pod.Name, func() error { return bed.Evict(t, pod) })
}

func deletion(t *testing.T, pod *corev1.Pod) time.Time {
	t.Helper()
	at, err := bed.MomentOf(pod.UID, kubelet.DeletionSeen)
	suite.Must(t, err)
	return at
}

func awaitDeregistration(t *testing.T, app *testbed.App, pod *corev1.Pod, since time.Time) (call wire.Call) {
	t.Helper()
	suite.Eventually(t, "the deregistration of "+pod.Name, func() (err error) {
		call, err = bed.CallFor(app, "DeregisterTargets", pod.Status.PodIP, since)
		return err
	})
	return call
}
