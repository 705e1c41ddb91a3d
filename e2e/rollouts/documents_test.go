// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package rollouts

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/e2e/cluster"
	"github.com/targetgate/targetgate/e2e/documents"
	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/e2e/testbed"
)

// TestCommandsOfTheDocuments takes a newcomer's app through the README, and then types what the other documents say.
func TestCommandsOfTheDocuments(t *testing.T) {
	app := &testbed.App{Name: "shop", Replicas: 2}
	bed.Deploy(t, app)
	bed.AwaitRolled(t, app)
	suite.Must(t, bed.Client.Delete(t.Context(), bed.GetBinding(t, app)))
	suite.Eventually(t, "the README's binding to be welcome", func() error {
		binding := app.Binding()
		binding.Name = "web"
		return bed.Client.Create(t.Context(), binding, client.DryRunAll)
	})
	shell := newReader(t, app)
	blocks, err := documents.Read(suite.Root)
	suite.Must(t, err)
	quickStarted := false
	for _, block := range blocks {
		if block.Installs() || block.Provisions() {
			continue
		}
		t.Run(block.String(), func(t *testing.T) {
			shell.Values["POD"] = bed.Pods(t, app)[0].Name
			out, err := shell.Run(t.Context(), block)
			suite.Must(t, err)
			if strings.Contains(block.Commands, "rollout restart") {
				wantQuickStarted(t, app, out)
				quickStarted = true
			}
		})
	}
	if !quickStarted {
		t.Error("no block was the README's quick start")
	}
}

// newReader is somebody with kubectl, the plugin, and the sample of a binding, changed as the README says.
func newReader(t *testing.T, app *testbed.App) *documents.Shell {
	t.Helper()
	dir := t.TempDir()
	kubeconfig := filepath.Join(dir, "kubeconfig")
	suite.Must(t, cluster.WriteKubeconfig(kubeconfig, bed.Cluster.AdminConfig()))
	sample, err := os.ReadFile(suite.Root + "/config/samples/targetgroupbinding.yaml")
	suite.Must(t, err)
	_, binding, _ := strings.Cut(string(sample), "kind: Service\n")
	_, binding, found := strings.Cut(binding, "---\n")
	arn := "arn:aws:elasticloadbalancing:eu-west-1:123456789012:targetgroup/web/0123456789abcdef"
	if !found || !strings.Contains(binding, arn) {
		t.Fatalf("the sample is not what this test takes it for:\n%s", sample)
	}
	binding = strings.NewReplacer(arn, app.TargetGroup, "    name: web\n", "    name: "+app.Name+"\n").Replace(binding)
	suite.Must(t, os.WriteFile(filepath.Join(dir, "binding.yaml"), []byte(binding), 0o600))
	createIdle(t)
	return &documents.Shell{
		Dir: dir, Env: []string{"KUBECONFIG=" + kubeconfig, "TG=targetgate-system", "GORACE=exitcode=66"},
		Programs: map[string]string{
			"kubectl":            suite.Kubectl(),
			"kubectl-targetgate": os.Getenv("TARGETGATE_BINARY"),
		},
		Values: map[string]string{
			"NAMESPACE": app.Name, "NAME": "web", "DEPLOYMENT": app.Name, "deployment/web": "deployment/" + app.Name,
		},
	}
}

// createIdle creates what would run targetgate, had the test bed images.
func createIdle(t *testing.T) {
	t.Helper()
	labels := map[string]string{"app.kubernetes.io/name": "targetgate"}
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "targetgate-system", Name: "targetgate"},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To[int32](0), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "targetgate", Image: "targetgate"}}},
			},
		},
	}
	suite.Must(t, bed.Client.Create(t.Context(), deployment))
	t.Cleanup(func() { suite.Must(t, bed.Client.Delete(context.WithoutCancel(t.Context()), deployment)) })
}

// wantQuickStarted fails unless every pod ends up Ready by a gate that is open, and the columns are there that are told of.
func wantQuickStarted(t *testing.T, app *testbed.App, printed string) {
	t.Helper()
	for _, column := range []string{"READY", "TARGETS", "READINESS GATES"} {
		if !strings.Contains(printed, column) {
			t.Errorf("there is no column %s in:\n%s", column, printed)
		}
	}
	bed.AwaitRolled(t, app)
	suite.Eventually(t, "every pod to have an open gate", func() error {
		for _, pod := range bed.Pods(t, app) {
			if !testbed.GatesOpen(&pod) || pod.Spec.ReadinessGates[0].ConditionType != "target-health.elbv2.k8s.aws/web" {
				return fmt.Errorf("pod %s has gates %v, conditions %v", pod.Name, pod.Spec.ReadinessGates, pod.Status.Conditions)
			}
		}
		return nil
	})
}
