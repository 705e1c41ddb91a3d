// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package rollouts

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/e2e/emulator"
	"github.com/targetgate/targetgate/e2e/emulator/state"
	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/e2e/testbed"
)

// Rule 5: with no preStop in any manifest, with the default sleeps, and with the times of elb.md: an NLB goes on sending for up to 200 s.
func TestPodsWithoutPreStopLeaveWithoutLosingARequest(t *testing.T) {
	leavings := map[string]func(*testing.T, *testbed.App){
		"rollout": func(t *testing.T, app *testbed.App) { suite.Must(t, bed.Roll(t.Context(), app, "2", nil)) },
		"scaling": func(t *testing.T, app *testbed.App) { suite.Must(t, bed.Scale(t.Context(), app, 1)) },
		"drain":   drainNodeOfFirstPod,
	}
	for _, balancer := range []string{state.Application, state.Network} {
		for leaving, begin := range leavings {
			t.Run(balancer+" "+leaving, func(t *testing.T) {
				t.Parallel()
				app := suite.NewApp("bare-" + balancer[:3] + "-" + leaving)
				app.PreStopSeconds, app.Replicas = 0, 2
				app.Balancer = func(s *emulator.Service) { s.Type = balancer }
				bed.Deploy(t, app)
				app.URL = strings.Replace(app.URL, "tcp:", "http:", 1)
				bed.AwaitRolled(t, app)
				before := suite.UIDs(bed.Pods(t, app))
				stop := bed.UnderLoadOf(t, app, 50)
				begin(t, app)
				bed.AwaitRolled(t, app)
				stop()
				if len(bed.NewPods(t, app, before)) == 0 && leaving != "scaling" {
					t.Error("no pod was replaced: the test proves nothing")
				}
				bed.AssertOnlyLeaversDeregistered(t, app)
			})
		}
	}
}

// drainNodeOfFirstPod evicts the app's pods from the node of one of them, as kubectl drain does: no new ones come, and
// one goes after the other, as the budget has it.
func drainNodeOfFirstPod(t *testing.T, app *testbed.App) {
	t.Helper()
	suite.Must(t, bed.Client.Create(t.Context(), &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: app.Name, Name: app.Name},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable: ptr.To(intstr.FromInt32(1)), Selector: &metav1.LabelSelector{MatchLabels: app.Pod("").Labels},
		},
	}))
	name := bed.Pods(t, app)[0].Spec.NodeName
	cordon(t, name, true)
	t.Cleanup(func() { cordon(t, name, false) })
	suite.Eventually(t, "node "+name+" to be drained of "+app.Name, func() error {
		var left []error
		for _, pod := range bed.Pods(t, app) {
			if pod.Spec.NodeName != name || pod.DeletionTimestamp != nil {
				continue
			}
			left = append(left, fmt.Errorf("pod %s is there: %w", pod.Name, bed.Evict(t, &pod)))
		}
		return errors.Join(left...)
	})
}

// cordon keeps new pods off the node, or lets them on again.
func cordon(t *testing.T, name string, off bool) {
	t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	patch := fmt.Appendf(nil, `{"spec":{"unschedulable":%t}}`, off)
	suite.Must(t, bed.Client.Patch(context.Background(), node, client.RawPatch(types.MergePatchType, patch)))
}
