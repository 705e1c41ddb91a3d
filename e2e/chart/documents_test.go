// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package chart

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/targetgate/targetgate/e2e/documents"
	"github.com/targetgate/targetgate/e2e/suite"
)

const (
	incumbent        = "aws-load-balancer-controller"
	incumbentWebhook = "aws-load-balancer-webhook"
)

// TestCommandsOfTheDocuments installs as the README and the chart's README say, and moves from another controller and
// back as MOVING.md says, on clusters that were not made for anything else.
func TestCommandsOfTheDocuments(t *testing.T) {
	blocks, err := documents.Read(suite.Root)
	suite.Must(t, err)
	t.Run("a first installation", func(t *testing.T) {
		i := start(t)
		i.markReady(t)
		installed := 0
		for _, block := range blocks {
			if block.Installs() && !block.Moves() {
				i.typeIn(t, i.newReader(t), block)
				i.mustHelm(t, "uninstall", "targetgate")
				installed++
			}
		}
		if installed < 2 { // the README, and the chart's
			t.Errorf("%d installations", installed)
		}
	})
	t.Run("a move and back", func(t *testing.T) {
		i := start(t)
		i.markReady(t)
		i.installIncumbent(t)
		reader := i.newReader(t)
		moved := false
		for _, block := range blocks {
			if !block.Moves() {
				continue
			}
			i.typeIn(t, reader, block)
			if strings.Contains(block.Commands, "--replicas=0") {
				i.wantMoved(t)
				moved = true
			}
		}
		if !moved {
			t.Error("no block has the other controller rest")
		}
		i.wantMovedBack(t)
	})
}

func (i *installation) typeIn(t *testing.T, reader *documents.Shell, block documents.Block) {
	t.Helper()
	t.Log(block)
	out, err := reader.Run(t.Context(), block)
	suite.Must(t, err)
	t.Log(out)
}

// newReader is somebody in the repository's folder who may write there.
func (i *installation) newReader(t *testing.T) *documents.Shell {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"charts", "config"} {
		path, err := filepath.Abs(filepath.Join(suite.Root, name))
		suite.Must(t, err)
		suite.Must(t, os.Symlink(path, filepath.Join(dir, name)))
	}
	return &documents.Shell{
		Dir: dir, Env: []string{"KUBECONFIG=" + i.kubeconfig},
		Programs: map[string]string{"helm": helmPath(t), "kubectl": kubectlPath(t)},
		Values: map[string]string{
			"IMAGE": "registry.example/targetgate", "TAG": "v1.2.3", "NAME": "my-cluster", "REGION": "eu-west-1",
			"VPC-ID": "vpc-0123456789abcdef0", "vpc-ID": "vpc-0123456789abcdef0", "ROLE-ARN": "arn:aws:iam::123456789012:role/targetgate",
			"ARN": "arn:aws:iam::123456789012:role/targetgate", "ACCOUNT": "123456789012", "replicas=N": "replicas=2",
		},
	}
}

// markReady has every pod be Ready from now on, as kubelets would see to: there are no nodes.
func (i *installation) markReady(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	done := make(chan struct{})
	t.Cleanup(func() { <-done })
	go func() {
		defer close(done)
		for ; ctx.Err() == nil; time.Sleep(100 * time.Millisecond) {
			if err := i.markPods(ctx); err != nil && ctx.Err() == nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
				t.Errorf("marking pods Ready: %v", err)
				return
			}
		}
	}()
}

func (i *installation) markPods(ctx context.Context) error {
	pods, err := i.api.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, pod := range pods.Items {
		if pod.Status.Phase == corev1.PodRunning {
			continue
		}
		pod.Status.Phase = corev1.PodRunning
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}}
		if _, err := i.api.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, &pod, metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// installIncumbent leaves a cluster as the other controller's chart does: its CRD is nobody's by Helm, bindings are there,
// its webhooks fail closed, and it leads.
func (i *installation) installIncumbent(t *testing.T) {
	t.Helper()
	suite.Must(t, i.cluster.Apply(t.Context(), filepath.Join(suite.Root, "config/crd"), filepath.Join(suite.Root, "config/samples")))
	i.mustRun(t, helmPath(t), "install", incumbent, "testdata/"+incumbent, "--namespace", "kube-system", "--set",
		"clusterName=my-cluster,region=eu-west-1,vpcId=vpc-0123456789abcdef0,serviceAccount.name="+incumbent)
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: "aws-load-balancer-controller-leader", Namespace: "kube-system"},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: ptr.To(incumbent)},
	}
	_, err := i.api.CoordinationV1().Leases("kube-system").Create(t.Context(), lease, metav1.CreateOptions{})
	suite.Must(t, err)
	if i.countBindings(t) == 0 {
		t.Fatal("there is no binding to move")
	}
}

// wantMoved fails unless targetgate serves alone, and all that the other one needs on the way back is there.
func (i *installation) wantMoved(t *testing.T) {
	t.Helper()
	if n := i.replicas(t, incumbent); n != 0 {
		t.Errorf("%s has %d replicas", incumbent, n)
	}
	if n := i.replicas(t, "targetgate"); n != 2 {
		t.Errorf("targetgate has %d replicas", n)
	}
	if i.hasWebhooks(t, incumbentWebhook) || !i.hasWebhooks(t, webhook) {
		t.Error("the webhooks are not targetgate's alone")
	}
	if release := i.definition(t).GetAnnotations()["meta.helm.sh/release-name"]; release != "targetgate" {
		t.Errorf("the CRD is of release %q", release)
	}
}

func (i *installation) wantMovedBack(t *testing.T) {
	t.Helper()
	if n := i.replicas(t, incumbent); n != 2 {
		t.Errorf("%s has %d replicas", incumbent, n)
	}
	if !i.hasWebhooks(t, incumbentWebhook) || i.hasWebhooks(t, webhook) {
		t.Error("the webhooks are not the other controller's alone")
	}
	_, err := i.api.CoreV1().ServiceAccounts("kube-system").Get(t.Context(), incumbent, metav1.GetOptions{})
	suite.Must(t, err)
	if i.countBindings(t) == 0 || i.definition(t).GetDeletionTimestamp() != nil {
		t.Error("the bindings are gone")
	}
}

func (i *installation) replicas(t *testing.T, deployment string) int32 {
	t.Helper()
	d, err := i.api.AppsV1().Deployments("kube-system").Get(t.Context(), deployment, metav1.GetOptions{})
	suite.Must(t, err)
	return *d.Spec.Replicas
}

func (i *installation) hasWebhooks(t *testing.T, name string) bool {
	t.Helper()
	_, mutating := i.api.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(t.Context(), name, metav1.GetOptions{})
	_, validating := i.api.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(t.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(mutating) && apierrors.IsNotFound(validating) {
		return false
	}
	suite.Must(t, mutating)
	suite.Must(t, validating)
	return true
}
