// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package leaving

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/targetgate/targetgate/e2e/cluster"
	"github.com/targetgate/targetgate/e2e/emulator/state"
	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/e2e/testbed"
)

// drainedNode is drained of the pods with the label: the others are of other tests.
const drainedNode, drainedLabel = "node-3", "drained"

// Both pods of each Deployment are on the node that kubectl drains. They leave together, or as a PodDisruptionBudget has it.
func TestDrainedPodsStayUntilTheyAreReplaced(t *testing.T) {
	t.Parallel()
	run := newKubectl(t)
	apps := drainedApps()
	for _, app := range apps {
		bed.Deploy(t, app.App)
	}
	stops := make([]func(), len(apps))
	for i, app := range apps {
		stops[i] = app.begin(t)
	}
	t.Cleanup(func() { suite.Must(t, run(context.Background(), "uncordon", drainedNode)) })
	done := make(chan error, 1)
	go func() { done <- run(t.Context(), "drain", drainedNode, "--pod-selector="+drainedLabel+"=true") }()
	follow(t, apps, done)
	for i, app := range apps {
		bed.AwaitRolled(t, app.App)
		stops[i]()
		if len(app.leavers) != int(app.Replicas) {
			t.Errorf("%d pods of %s left, want all %d: the test proves nothing", len(app.leavers), app.Name, app.Replicas)
		}
		for _, l := range app.leavers {
			wantServed(t, app.App, l)
		}
	}
	wantMargin(t)
}

// drainedApp is behind a load balancer of that type, and has a PodDisruptionBudget or none.
type drainedApp struct {
	*testbed.App
	balancer string
	budget   bool
	leavers  map[types.UID]leaver
}

func drainedApps() (apps []drainedApp) {
	for _, balancer := range []string{state.Application, state.Network} {
		for _, budget := range []bool{true, false} {
			app := newApp(fmt.Sprintf("drained-%s-%t", balancer[:3], budget), balancer)
			app.Template = func(template *corev1.PodTemplateSpec) {
				template.Labels[drainedLabel] = "true"
				prefer(template, drainedNode)
			}
			apps = append(apps, drainedApp{app, balancer, budget, map[types.UID]leaver{}})
		}
	}
	return apps
}

// prefer has all pods go to the node while it takes them: the constraint, which no pod meets or breaks, is in place of the scheduler's
// own, which spread them.
func prefer(template *corev1.PodTemplateSpec, node string) {
	there := corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{
		{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{node}},
	}}
	template.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{Weight: 100, Preference: there}},
	}}
	template.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
		MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.ScheduleAnyway,
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"no": "pod"}},
	}}
}

// begin waits until the app's pods serve, and sends requests until stop.
func (app drainedApp) begin(t *testing.T) (stop func()) {
	t.Helper()
	if app.budget {
		bed.Create(t, &policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Namespace: app.Name, Name: app.Name},
			Spec: policyv1.PodDisruptionBudgetSpec{
				MaxUnavailable: ptr.To(intstr.FromInt32(1)), Selector: &metav1.LabelSelector{MatchLabels: app.Pod("").Labels},
			},
		})
	}
	bed.AwaitRolled(t, app.App)
	return underLoad(t, app.App)
}

// follow notes the pods of all apps that leave, until the node has been drained.
func follow(t *testing.T, apps []drainedApp, done <-chan error) {
	t.Helper()
	for {
		select {
		case err := <-done:
			suite.Must(t, err)
			return
		case <-time.After(200 * time.Millisecond): // pods leave for many seconds
		}
		for _, app := range apps {
			for _, pod := range bed.Pods(t, app.App) {
				if _, known := app.leavers[pod.UID]; !known && pod.DeletionTimestamp != nil {
					app.leavers[pod.UID] = leaverOf(t, app.App, app.balancer, &pod)
				}
			}
		}
	}
}

// newKubectl is an administrator's kubectl.
func newKubectl(t *testing.T) func(context.Context, ...string) error {
	t.Helper()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	suite.Must(t, cluster.WriteKubeconfig(kubeconfig, bed.Cluster.AdminConfig()))
	return func(ctx context.Context, args ...string) error {
		out, err := exec.CommandContext(ctx, suite.Kubectl(), append(args, "--kubeconfig="+kubeconfig)...).CombinedOutput()
		if err != nil {
			return errors.Join(fmt.Errorf("kubectl %v: %w", args, err), errors.New(string(out)))
		}
		return nil
	}
}
