// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package chart

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/targetgate/targetgate/e2e/cluster"
	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

const (
	namespace = "targetgate-system"
	webhook   = "targetgate-webhook"

	// controlPlane names the variable of the multi-call binary.
	controlPlane = "TARGETGATE_CONTROL_PLANE"

	// named are the chart's values that have no default.
	named = "clusterName=e2e,image.repository=registry.example/targetgate"
)

// installation is a cluster and the ways to install on it.
type installation struct {
	cluster    *cluster.Cluster
	api        kubernetes.Interface
	objects    dynamic.Interface
	kubeconfig string
}

// TestChart runs on one cluster for all its parts, in their order.
func TestChart(t *testing.T) {
	i := start(t)
	t.Run("samples apply as they are", i.testSamples)
	t.Run("Helm does not take a CRD without being told to", i.testForeignCRD)
	t.Run("a dry run on the server accepts the default values and the node guard", i.testDryRun)
	t.Run("install", i.testInstall)
	t.Run("upgrade and rollback leave caBundle alone", i.testUpgrade)
	t.Run("uninstall leaves bindings alone", i.testUninstall)
	t.Run("a Secret that an earlier targetgate has created is kept", i.testForeignSecret)
	t.Run("upgrade from the previous chart, and back", i.testPrevious)
	t.Run("bindings that are deleted after an uninstall", i.testOrphan)
	t.Run("the kustomization installs the same", i.testKustomization)
	t.Run("its component adds what provision does", i.testComponent)
}

func start(t *testing.T) *installation {
	t.Helper()
	binary := os.Getenv(controlPlane)
	if binary == "" {
		t.Fatalf("%s is not set: it names the control plane binary, which `make control-plane` builds", controlPlane)
	}
	c, err := cluster.Start(t.Context(), cluster.Options{Binary: binary, Log: testr.New(t)})
	suite.Must(t, err)
	t.Cleanup(func() { suite.Must(t, c.Stop()) })
	i := &installation{cluster: c, kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")}
	suite.Must(t, cluster.WriteKubeconfig(i.kubeconfig, c.AdminConfig()))
	i.api, err = kubernetes.NewForConfig(c.AdminConfig())
	suite.Must(t, err)
	i.objects, err = dynamic.NewForConfig(c.AdminConfig())
	suite.Must(t, err)
	return i
}

// helm runs the pinned Helm, with a home of its own.
func (i *installation) helm(t *testing.T, args ...string) (string, error) {
	t.Helper()
	return i.run(t, helmPath(t), append(args, "--namespace", namespace)...)
}

func helmPath(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs(cmp.Or(os.Getenv("TARGETGATE_HELM"), filepath.Join(suite.Root, ".bin/helm")))
	suite.Must(t, err)
	return path
}

func kubectlPath(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs(suite.Kubectl())
	suite.Must(t, err)
	return path
}

// run returns all that a client of the cluster prints.
func (i *installation) run(t *testing.T, program string, args ...string) (string, error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), program, args...)
	command.Env = append(os.Environ(), "KUBECONFIG="+i.kubeconfig, "HOME="+t.TempDir())
	out, err := command.CombinedOutput()
	return string(out), err
}

func (i *installation) mustRun(t *testing.T, program string, args ...string) {
	t.Helper()
	if out, err := i.run(t, program, args...); err != nil {
		t.Fatalf("%s %s: %v\n%s", filepath.Base(program), strings.Join(args, " "), err, out)
	}
}

func (i *installation) mustHelm(t *testing.T, args ...string) {
	t.Helper()
	i.mustRun(t, helmPath(t), append(args, "--namespace", namespace)...)
}

const definition = "targetgroupbindings.elbv2.k8s.aws"

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

var chart = filepath.Join(suite.Root, "charts/targetgate")

func (i *installation) testSamples(t *testing.T) {
	suite.Must(t, i.cluster.Apply(t.Context(), filepath.Join(suite.Root, "config/crd"), filepath.Join(suite.Root, "config/samples")))
	if i.countBindings(t) == 0 {
		t.Error("there is no binding")
	}
}

var bindings = schema.GroupVersionResource{Group: "elbv2.k8s.aws", Version: "v1beta1", Resource: "targetgroupbindings"}

func (i *installation) countBindings(t *testing.T) int {
	t.Helper()
	found, err := i.objects.Resource(bindings).List(t.Context(), metav1.ListOptions{})
	suite.Must(t, err)
	return len(found.Items)
}

// The CRD is that of the test before, changed to what aws-load-balancer-controller's is like: fewer columns, and not ours.
func (i *installation) testForeignCRD(t *testing.T) {
	_, err := i.api.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: namespace, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}, metav1.CreateOptions{})
	suite.Must(t, err)
	patch := []byte(`[{"op":"replace","path":"/spec/versions/0/additionalPrinterColumns","value":[{"name":"ARN","type":"string","jsonPath":".spec.x"}]}]`)
	_, err = i.objects.Resource(definitions).Patch(t.Context(), definition, types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: "kubectl"})
	suite.Must(t, err)
	out, err := i.helm(t, "install", "targetgate", chart, "--set", named)
	if err == nil || !strings.Contains(out, definition) {
		t.Errorf("helm install: %v, want the name of the CRD in its output:\n%s", err, out)
	}
}

func (i *installation) testDryRun(t *testing.T) {
	out := t.TempDir()
	i.mustHelm(t, "template", "targetgate", chart, "--set", named+",nodeGuard.enabled=true", "--output-dir", out)
	i.mustRun(t, kubectlPath(t), "apply", "--namespace", namespace, "--recursive", "--filename", out,
		"--server-side", "--force-conflicts", "--dry-run=server")
}

func (i *installation) testInstall(t *testing.T) {
	i.mustHelm(t, "install", "targetgate", chart, "--take-ownership", "--force-conflicts", "--set", named)
	i.awaitPods(t, 2)
	if crd := i.definition(t); !strings.Contains(fmt.Sprint(crd.Object["spec"]), ".status.targets.summary") {
		t.Error("the CRD has not become the chart's")
	}
}

func (i *installation) definition(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	crd, err := i.objects.Resource(definitions).Get(t.Context(), definition, metav1.GetOptions{})
	suite.Must(t, err)
	return crd
}

// awaitPods waits until so many pods have been admitted, to be scheduled.
func (i *installation) awaitPods(t *testing.T, want int) {
	t.Helper()
	var got int
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		pods, err := i.api.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=targetgate"})
		if err != nil {
			return false, err
		}
		got = 0
		for _, pod := range pods.Items {
			if pod.DeletionTimestamp == nil {
				got++
			}
		}
		return got == want, nil
	})
	if err != nil {
		t.Fatalf("%d pods, want %d (%v): %s", got, want, err, i.events(t))
	}
}

// events tell why there are no pods.
func (i *installation) events(t *testing.T) string {
	t.Helper()
	events, err := i.api.CoreV1().Events(namespace).List(t.Context(), metav1.ListOptions{})
	suite.Must(t, err)
	var out strings.Builder
	for _, event := range events.Items {
		fmt.Fprintf(&out, "%s %s: %s\n", event.InvolvedObject.Kind, event.InvolvedObject.Name, event.Message)
	}
	return out.String()
}

// setBundle writes caBundle in targetgate's stead, and returns what says so when another has changed it.
func (i *installation) setBundle(t *testing.T) (want func()) {
	t.Helper()
	bundle := i.cluster.CA()
	patch, err := json.Marshal([]map[string]any{{"op": "add", "path": "/webhooks/0/clientConfig/caBundle", "value": bundle}})
	suite.Must(t, err)
	hooks := i.api.AdmissionregistrationV1().MutatingWebhookConfigurations()
	_, err = hooks.Patch(t.Context(), webhook, types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: "targetgate"})
	suite.Must(t, err)
	return func() {
		t.Helper()
		got, err := hooks.Get(t.Context(), webhook, metav1.GetOptions{})
		suite.Must(t, err)
		if !bytes.Equal(got.Webhooks[0].ClientConfig.CABundle, bundle) {
			t.Errorf("caBundle is %q", got.Webhooks[0].ClientConfig.CABundle)
		}
	}
}

func (i *installation) testUpgrade(t *testing.T) {
	wantBundle := i.setBundle(t)
	i.mustHelm(t, "upgrade", "targetgate", chart, "--set", named+",replicaCount=3,podMutatorWebhookConfig.failurePolicy=Fail,"+
		"networkPolicy.enabled=true,dashboard.enabled=true")
	i.awaitPods(t, 3)
	wantBundle()
	i.mustHelm(t, "rollback", "targetgate", "1")
	i.awaitPods(t, 2)
	wantBundle()
}

func (i *installation) testUninstall(t *testing.T) {
	before := i.countBindings(t)
	i.mustHelm(t, "uninstall", "targetgate")
	_, err := i.api.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(t.Context(), webhook, metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("the webhook configuration is still there, and nobody to answer: %v", err)
	}
	if _, err := i.api.RbacV1().ClusterRoles().Get(t.Context(), "targetgate", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the ClusterRole is still there: %v", err)
	}
	if i.definition(t).GetDeletionTimestamp() != nil {
		t.Error("the CRD is being deleted, and with it every binding")
	}
	if after := i.countBindings(t); after != before {
		t.Errorf("%d bindings, %d before", after, before)
	}
	i.awaitPods(t, 0)
	i.mustHelm(t, "install", "targetgate", chart, "--set", named) // with the CRD that was kept
	i.mustHelm(t, "uninstall", "targetgate")
	i.awaitPods(t, 0)
}

// The chart's README says that such a binding stays, and how it is released.
func (i *installation) testOrphan(t *testing.T) {
	found, err := i.objects.Resource(bindings).List(t.Context(), metav1.ListOptions{})
	suite.Must(t, err)
	orphan := found.Items[0]
	its := i.objects.Resource(bindings).Namespace(orphan.GetNamespace())
	patch := func(finalizers string) {
		t.Helper()
		merge := []byte(`{"metadata":{"finalizers":` + finalizers + `}}`)
		_, err := its.Patch(t.Context(), orphan.GetName(), types.MergePatchType, merge, metav1.PatchOptions{})
		suite.Must(t, err)
	}
	patch(`["` + v1beta1.Finalizer + `"]`)
	suite.Must(t, its.Delete(t.Context(), orphan.GetName(), metav1.DeleteOptions{}))
	if left, err := its.Get(t.Context(), orphan.GetName(), metav1.GetOptions{}); err != nil || left.GetDeletionTimestamp() == nil {
		t.Errorf("the binding does not wait for targetgate: %v, %v", left, err)
	}
	patch("null")
	if _, err := its.Get(t.Context(), orphan.GetName(), metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the binding is still there: %v", err)
	}
}
