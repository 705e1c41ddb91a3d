// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package rollouts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/e2e/emulator/state"
	"github.com/targetgate/targetgate/e2e/kubelet"
	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/e2e/testbed"
)

// Karpenter removes a node: taint, ordinary pods, pods of DaemonSets, instance. No request is lost: the instance outlives its target.
func TestGuardKeepsANodeUntilItsTargetHasDrained(t *testing.T) {
	const doomed = "node-doomed"
	suite.Must(t, bed.Kubelet.AddNode(t.Context(), kubelet.Node{Name: doomed, Zone: "eu-west-1b"}))
	removed := false
	defer func() {
		if !removed {
			suite.Must(t, bed.Kubelet.RemoveNode(context.Background(), doomed))
		}
	}()
	suite.Must(t, bed.LaunchInstances(t.Context()))
	guards := bed.GuardNodes(t, 2*time.Minute)
	app := suite.NewInstanceApp("guarded")
	app.PreStopSeconds = 50       // 5 s here: on a busy machine, nodes learn late that a pod leaves, which is not scaled
	app.DeregistrationDelay = 150 // a tenth of it on the bed, which targetgate does not know
	bed.Deploy(t, app)
	bed.AwaitRolled(t, app)
	nodes := []string{"node-1", "node-2", "node-3", doomed}
	keys := nodeKeys(t, app, nodes...)
	bed.AwaitHealthy(t, app, keys...)
	guard := guards.On(t, doomed)
	ordinary := app.Pod("ordinary")
	ordinary.Spec.NodeSelector = map[string]string{corev1.LabelHostname: doomed}
	bed.Create(t, ordinary)
	suite.Eventually(t, "a pod on "+doomed+" to be Ready", func() error {
		suite.Must(t, bed.Client.Get(t.Context(), client.ObjectKeyFromObject(ordinary), ordinary))
		if !testbed.IsReady(ordinary) {
			return fmt.Errorf("it is %s", ordinary.Status.Phase)
		}
		return nil
	})
	stop := bed.UnderLoad(t, app)
	defer stop()

	t.Run("an update of the chart", func(t *testing.T) {
		old := guards.On(t, "node-1")
		bed.DeletePod(t, old)
		if took := bed.AwaitGone(t, old); took > 20*time.Second {
			t.Errorf("the guard of a node that stays has left after %s, want some 3 s", took)
		}
		guards.On(t, "node-1") // its successor
	})

	bed.Disrupt(t, doomed)
	evictFrom(t, app, doomed)
	suite.Must(t, bed.Evict(t, guard))
	suite.Must(t, wantState(app, keys[3], state.Draining)) // or the test proves nothing: the pod was there for longer than a call takes
	for wantState(app, keys[3], state.Draining) == nil {
		if err := bed.Client.Get(t.Context(), client.ObjectKeyFromObject(guard), guard); err != nil {
			t.Fatalf("the guard has left while the target of its node drains: %v", err)
		}
		time.Sleep(20 * time.Millisecond)
	}
	if took := bed.AwaitGone(t, guard); took > time.Minute {
		t.Errorf("the guard has stayed for %s, want half a minute at most: so often the group is read", took)
	}
	suite.Must(t, bed.WantTargets(app, keys[:3]...))
	gone := time.Now()
	suite.Must(t, bed.Kubelet.RemoveNode(t.Context(), doomed))
	removed = true
	suite.Throughout(t, 3*time.Second, "the load balancer sends to the node", func() error { return wantNoRequest(keys[3], gone) })
}

// evictFrom evicts the app's pods from the node, and waits until they are gone.
func evictFrom(t *testing.T, app *testbed.App, node string) {
	t.Helper()
	for _, pod := range bed.Pods(t, app) {
		if pod.Spec.NodeName == node {
			suite.Must(t, bed.Evict(t, &pod))
		}
	}
	suite.Eventually(t, "the app's pods to be gone from "+node, func() error {
		if slices.ContainsFunc(bed.Pods(t, app), func(pod corev1.Pod) bool { return pod.Spec.NodeName == node }) {
			return errors.New("one is there")
		}
		return nil
	})
}

func wantState(app *testbed.App, key state.Key, want state.HealthState) error {
	lines, err := bed.AWS.ELB.Describe(app.TargetGroup, []state.Target{{Key: key}})
	if err != nil {
		return err
	}
	if got := lines[0].State; got != want {
		return fmt.Errorf("target %s is %s", key, got)
	}
	return nil
}

func wantNoRequest(key state.Key, since time.Time) error {
	for _, request := range bed.AWS.Requests(0) {
		if request.Target == key && request.Start.After(since) {
			return fmt.Errorf("at %s", request.Start)
		}
	}
	return nil
}
