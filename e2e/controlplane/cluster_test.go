// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package controlplane

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/targetgate/targetgate/e2e/cluster"
	"github.com/targetgate/targetgate/e2e/suite"
)

// TestCluster runs on one cluster for all its parts, in their order.
func TestCluster(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	c := startCluster(t)
	t.Run("controllers and scheduler work", func(t *testing.T) { testDeployment(t, c) })
	t.Run("definitions are served before their objects", func(t *testing.T) { testApply(t, c) })
	t.Run("users may do what RBAC grants", func(t *testing.T) { testUsers(t, c) })
	t.Run("webhooks are called", func(t *testing.T) { testWebhooks(t, c) })
	t.Run("the API server comes back as it was", func(t *testing.T) { testRestart(t, c) })
	t.Run("a stopped cluster stays stopped", func(t *testing.T) { testStop(t, c, temporary) })
}

func startCluster(t *testing.T) *cluster.Cluster {
	t.Helper()
	binary := os.Getenv("TARGETGATE_CONTROL_PLANE")
	if binary == "" {
		t.Fatal("TARGETGATE_CONTROL_PLANE is not set: it names the control plane binary, which `make control-plane` builds")
	}
	begin := time.Now()
	c, err := cluster.Start(t.Context(), cluster.Options{Binary: binary, Audited: "alice", Log: testr.New(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	t.Logf("started in %v", time.Since(begin).Round(time.Millisecond))
	return c
}

func testDeployment(t *testing.T, c *cluster.Cluster) {
	ctx := t.Context()
	api := clientFor(t, c.AdminConfig())
	if err := c.Apply(ctx, filepath.Join("testdata", "web.yaml")); err != nil {
		t.Fatal(err)
	}
	makeNodeReady(t, api, "worker")

	var pods []corev1.Pod
	suite.Eventually(t, "two pods on the node", func() (err error) {
		pods, err = scheduledPods(ctx, api, "worker")
		if err == nil && len(pods) != 2 {
			return fmt.Errorf("%d pods", len(pods))
		}
		return err
	})
	runPod(t, api, &pods[0], "10.1.2.3")
	suite.Eventually(t, "an endpoint with the pod's address", func() error {
		return wantReadyEndpoint(ctx, api, "web", "10.1.2.3")
	})
	if err := c.Check(); err != nil {
		t.Error(err)
	}
}

// makeNodeReady plays the node's kubelet: it reports capacity and readiness.
func makeNodeReady(t *testing.T, api kubernetes.Interface, name string) {
	t.Helper()
	room := corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("8"),
		corev1.ResourceMemory: resource.MustParse("16Gi"),
		corev1.ResourcePods:   resource.MustParse("110"),
	}
	patchStatus(t, corev1.NodeStatus{
		Capacity: room, Allocatable: room,
		Conditions: []corev1.NodeCondition{{
			Type: corev1.NodeReady, Status: corev1.ConditionTrue,
			LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now(),
		}},
	}, func(patch []byte) error {
		_, err := api.CoreV1().Nodes().Patch(t.Context(), name, types.StrategicMergePatchType, patch,
			metav1.PatchOptions{}, "status")
		return err
	})
}

// runPod plays the kubelet for a pod: it gives it an address and calls it ready.
func runPod(t *testing.T, api kubernetes.Interface, pod *corev1.Pod, ip string) {
	t.Helper()
	ready := func(condition corev1.PodConditionType) corev1.PodCondition {
		return corev1.PodCondition{Type: condition, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}
	}
	patchStatus(t, corev1.PodStatus{
		Phase: corev1.PodRunning, PodIP: ip, PodIPs: []corev1.PodIP{{IP: ip}},
		Conditions: []corev1.PodCondition{ready(corev1.ContainersReady), ready(corev1.PodReady)},
	}, func(patch []byte) error {
		_, err := api.CoreV1().Pods(pod.Namespace).Patch(t.Context(), pod.Name, types.StrategicMergePatchType, patch,
			metav1.PatchOptions{}, "status")
		return err
	})
}

func patchStatus(t *testing.T, status any, send func(patch []byte) error) {
	t.Helper()
	patch, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		t.Fatal(err)
	}
	if err := send(patch); err != nil {
		t.Fatalf("patching the status: %v", err)
	}
}

func scheduledPods(ctx context.Context, api kubernetes.Interface, node string) ([]corev1.Pod, error) {
	list, err := api.CoreV1().Pods(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{
		FieldSelector: "spec.nodeName=" + node, LabelSelector: "app=web",
	})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

func wantReadyEndpoint(ctx context.Context, api kubernetes.Interface, service, ip string) error {
	slices, err := api.DiscoveryV1().EndpointSlices(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{
		LabelSelector: discoveryv1.LabelServiceName + "=" + service,
	})
	if err != nil {
		return err
	}
	for _, slice := range slices.Items {
		for _, endpoint := range slice.Endpoints {
			if endpoint.Addresses[0] == ip && *endpoint.Conditions.Ready {
				return nil
			}
		}
	}
	return fmt.Errorf("not in %d slices", len(slices.Items))
}

func testApply(t *testing.T, c *cluster.Cluster) {
	path := filepath.Join("testdata", "definition.yaml")
	for range 2 { // twice: applying what is there changes nothing
		if err := c.Apply(t.Context(), path); err != nil {
			t.Fatal(err)
		}
	}
	gadget, err := clientFor(t, c.AdminConfig()).Discovery().RESTClient().Get().
		AbsPath("/apis/e2e.example.com/v1/namespaces/default/gadgets/one").DoRaw(t.Context())
	if err != nil {
		t.Errorf("getting the object: %v: %s", err, gadget)
	}
}

func testUsers(t *testing.T, c *cluster.Cluster) {
	config, err := c.UserConfig("alice", "readers")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := cluster.WriteKubeconfig(path, config); err != nil {
		t.Fatal(err)
	}
	alice := clientFor(t, config)
	list := func() error {
		_, err := alice.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{})
		return err
	}
	if err := list(); !apierrors.IsForbidden(err) {
		t.Errorf("listing pods without a role: %v, want forbidden", err)
	}
	if err := c.Apply(t.Context(), filepath.Join("testdata", "reader.yaml")); err != nil {
		t.Fatal(err)
	}
	suite.Eventually(t, "the role to count", list)
	suite.Eventually(t, "the audit log to tell of both", func() error {
		requests, err := c.Requests()
		if err != nil || len(requests) == 0 {
			return fmt.Errorf("%d requests, error %w", len(requests), err)
		}
		first, last := requests[0], requests[len(requests)-1]
		if first.Verb != "list" || first.Resource != "pods" || !strings.Contains(first.Refused, `"alice" cannot list`) || first.Grant != "" {
			t.Errorf("her first request: %+v, want it refused", first)
		}
		if last.Refused != "" || !strings.Contains(last.Grant, `of ClusterRole "pod-reader"`) {
			return fmt.Errorf("her last request: %+v, want it allowed by the role", last)
		}
		return nil
	})
}

func testRestart(t *testing.T, c *cluster.Cluster) {
	ctx := t.Context()
	api := clientFor(t, c.AdminConfig())
	before, err := scheduledPods(ctx, api, "worker")
	if err != nil {
		t.Fatal(err)
	}

	begin := time.Now()
	c.StopAPIServer()
	t.Logf("API server stopped in %v", time.Since(begin).Round(time.Millisecond))
	if _, err := scheduledPods(ctx, api, "worker"); err == nil {
		t.Error("a stopped API server answers")
	}
	if err := c.Check(); err != nil {
		t.Errorf("Check() = %v, want nothing about what was stopped on purpose", err)
	}

	begin = time.Now()
	if err := c.StartAPIServer(ctx); err != nil {
		t.Fatal(err)
	}
	t.Logf("API server started in %v", time.Since(begin).Round(time.Millisecond))
	if err := c.RestartAPIServer(ctx); err != nil {
		t.Fatal(err)
	}
	if err := api.CoreV1().Pods(before[0].Namespace).Delete(ctx, before[0].Name, metav1.DeleteOptions{
		GracePeriodSeconds: new(int64), // there is no kubelet to wait for
	}); err != nil {
		t.Fatal(err)
	}
	suite.Eventually(t, "controllers and scheduler to replace the pod", func() error {
		after, err := scheduledPods(ctx, api, "worker")
		if err == nil && (len(after) != 2 || after[0].UID == before[0].UID || after[1].UID == before[0].UID) {
			return fmt.Errorf("%d pods, the deleted one perhaps among them", len(after))
		}
		return err
	})
}

// testStop knows the folder for temporary files, in which the cluster had its own.
func testStop(t *testing.T, c *cluster.Cluster, temporary string) {
	begin := time.Now()
	for range 2 {
		if err := c.Stop(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("stopped in %v", time.Since(begin).Round(time.Millisecond))
	if err := c.StartAPIServer(t.Context()); err == nil {
		t.Error("StartAPIServer() after Stop(): no error")
	}
	left, err := filepath.Glob(filepath.Join(temporary, "targetgate-cluster-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("temporary folders: %v (%v), want none", left, err)
	}
}

func clientFor(t *testing.T, config *rest.Config) kubernetes.Interface {
	t.Helper()
	api, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return api
}
