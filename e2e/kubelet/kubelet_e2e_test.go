// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package kubelet

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"github.com/targetgate/targetgate/e2e/cluster"
)

// bed is a real control plane with the kubelet under test.
type bed struct {
	*testing.T
	api     kubernetes.Interface
	kubelet *Kubelet
}

// TestKubelet runs on one cluster for all its parts, in their order.
func TestKubelet(t *testing.T) {
	b := startBed(t)
	silenced := b.silence("node-3")
	for _, part := range []struct {
		name string
		run  func(*bed)
	}{
		{"a deployment waits for its gates", testGatedDeployment},
		{"a deployment rolls", testRollout},
		{"a node port leads to ready pods", testNodePort},
		{"a node comes, is not ready and goes", testNodeComesAndGoes},
		{"a job completes", testJob},
		{"a patch for another UID is refused", testUIDPrecondition},
		{"the node controller believes heartbeats", func(b *bed) { testHeartbeats(b, silenced) }},
	} {
		t.Run(part.name, func(t *testing.T) { part.run(&bed{t, b.api, b.kubelet}) })
	}
}

func startBed(t *testing.T) *bed {
	t.Helper()
	binary := os.Getenv("TARGETGATE_CONTROL_PLANE")
	if binary == "" {
		t.Fatal("TARGETGATE_CONTROL_PLANE is not set: it names the control plane binary, which `make control-plane` builds")
	}
	c, err := cluster.Start(t.Context(), cluster.Options{
		Binary: binary, Log: testr.New(t),
		// By default a silent node is noticed after 50 s.
		ControllerManagerArgs: []string{"--node-monitor-grace-period=8s", "--node-monitor-period=1s"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	k, err := Start(t.Context(), Options{
		Config: c.AdminConfig(), Nodes: NumberedNodes(3, "eu-west-1a", "eu-west-1b"), Scale: testScale, Log: testr.New(t),
		HeartbeatInterval: 2 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.Close)
	api, err := kubernetes.NewForConfig(c.AdminConfig())
	if err != nil {
		t.Fatal(err)
	}
	return &bed{t, api, k}
}

// silence cuts a node off, once no pod can be sent there any more, and returns when.
func (b *bed) silence(name string) time.Time {
	b.Helper()
	cordon := []byte(`{"spec":{"unschedulable":true}}`)
	if _, err := b.api.CoreV1().Nodes().Patch(b.Context(), name, types.MergePatchType, cordon, metav1.PatchOptions{}); err != nil {
		b.Fatal(err)
	}
	b.kubelet.StopHeartbeat(name)
	return time.Now()
}

// until polls the API server.
func (b *bed) until(what string, check func(ctx context.Context) error) {
	b.Helper()
	var err error
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.Now().Add(70 * time.Second); time.Now().Before(deadline); <-ticker.C {
		if err = check(b.Context()); err == nil {
			return
		}
	}
	for _, m := range b.kubelet.Moments() {
		b.Logf("%s %s %s %s", m.At.Format(time.StampMilli), m.Pod, m.Event, m.IP)
	}
	b.Fatalf("waited in vain for %s: %v", what, err)
}

func (b *bed) pods() []corev1.Pod {
	b.Helper()
	list, err := b.api.CoreV1().Pods("default").List(b.Context(), metav1.ListOptions{LabelSelector: "app=web"})
	if err != nil {
		b.Fatal(err)
	}
	return list.Items
}

func testGatedDeployment(b *bed) {
	if _, err := b.api.AppsV1().Deployments("default").Create(b.Context(), webDeployment(), metav1.CreateOptions{}); err != nil {
		b.Fatal(err)
	}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: corev1.ServiceSpec{
		Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{{Port: 8080}},
	}}
	if _, err := b.api.CoreV1().Services("default").Create(b.Context(), service, metav1.CreateOptions{}); err != nil {
		b.Fatal(err)
	}
	b.until("four pods whose containers are ready, in slices as not ready", func(ctx context.Context) error {
		for _, p := range b.pods() {
			if c := condition(p.Status.Conditions, corev1.PodReady); c == nil || c.Reason != reasonReadinessGatesNotReady {
				return fmt.Errorf("pod %s has %+v", p.Name, p.Status.Conditions)
			}
		}
		return b.slices(ctx, 4, false)
	})
	b.openGates()
	b.until("four ready endpoints", func(ctx context.Context) error { return b.slices(ctx, 4, true) })
}

// slices checks for this many endpoints, all of them ready or none.
func (b *bed) slices(ctx context.Context, want int, ready bool) error {
	list, err := b.api.DiscoveryV1().EndpointSlices("default").List(ctx, metav1.ListOptions{LabelSelector: "kubernetes.io/service-name=web"})
	if err != nil {
		return err
	}
	got := 0
	for _, slice := range list.Items {
		for _, e := range slice.Endpoints {
			if *e.Conditions.Ready == ready && !*e.Conditions.Terminating {
				got++
			}
		}
	}
	if got != want {
		return fmt.Errorf("%d endpoints", got)
	}
	return nil
}

// openGates writes the gates' conditions, as targetgate would.
func (b *bed) openGates() {
	b.Helper()
	patch := fmt.Appendf(nil, `{"status":{"conditions":[{"type":%q,"status":"True"}]}}`, gate)
	for _, p := range b.pods() {
		pods := b.api.CoreV1().Pods("default")
		_, err := pods.Patch(b.Context(), p.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
		if err != nil && !apierrors.IsNotFound(err) {
			b.Fatal(err)
		}
	}
}

func testRollout(b *bed) {
	patch := []byte(`{"spec":{"template":{"spec":{"containers":[{"name":"web","env":[{"name":"VERSION","value":"v2"}]}]}}}}`)
	deployments := b.api.AppsV1().Deployments("default")
	if _, err := deployments.Patch(b.Context(), "web", types.StrategicMergePatchType, patch, metav1.PatchOptions{}); err != nil {
		b.Fatal(err)
	}
	b.until("the new pods alone", func(ctx context.Context) error {
		b.openGates()
		d, err := deployments.Get(ctx, "web", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if n := len(b.pods()); n != 4 || d.Status.UpdatedReplicas != 4 || d.Status.AvailableReplicas != 4 {
			return fmt.Errorf("%d pods, status %+v", n, d.Status)
		}
		return nil
	})
	b.until("four ready endpoints", func(ctx context.Context) error { return b.slices(ctx, 4, true) })
	for _, p := range b.pods() {
		if got := get(b.Context(), urlOf(&p, "/")); got != "200" {
			b.Errorf("pod %s answers %s", p.Name, got)
		}
	}
}

// testNodePort has the API server choose the port and the controllers fill the slices.
func testNodePort(b *bed) {
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web-nodes"}, Spec: corev1.ServiceSpec{
		Type: corev1.ServiceTypeNodePort, ExternalTrafficPolicy: corev1.ServiceExternalTrafficPolicyLocal,
		Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{{Port: 8080}},
	}}
	service, err := b.api.CoreV1().Services("default").Create(b.Context(), service, metav1.CreateOptions{})
	if err != nil {
		b.Fatal(err)
	}
	hosts := map[string]bool{}
	for _, p := range b.pods() {
		hosts[p.Status.HostIP] = true
	}
	for _, n := range b.kubelet.allNodes() {
		want := "error"
		if hosts[n.hostIP().String()] {
			want = "200"
		}
		url := fmt.Sprintf("http://%s:%d/", SocketAddr(n.hostIP()), service.Spec.Ports[0].NodePort)
		b.until(n.Name+" to answer "+want, func(ctx context.Context) error {
			if got := get(ctx, url); n.Name != "node-3" && got != want { // node-3 is cut off
				return fmt.Errorf("answers %s", got)
			}
			return nil
		})
	}
}

func testNodeComesAndGoes(b *bed) {
	if err := b.kubelet.AddNode(b.Context(), Node{Name: "late"}); err != nil {
		b.Fatal(err)
	}
	if err := b.kubelet.SetNodeReady(b.Context(), "late", corev1.ConditionFalse); err != nil {
		b.Fatal(err)
	}
	b.until("the taint of a node that is not ready", func(ctx context.Context) error {
		n, err := b.api.CoreV1().Nodes().Get(ctx, "late", metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, taint := range n.Spec.Taints {
			if taint.Key == corev1.TaintNodeNotReady && taint.Effect == corev1.TaintEffectNoExecute {
				return nil
			}
		}
		return fmt.Errorf("taints %v", n.Spec.Taints)
	})
	if err := b.kubelet.RemoveNode(b.Context(), "late"); err != nil {
		b.Fatal(err)
	}
	if _, err := b.api.CoreV1().Nodes().Get(b.Context(), "late", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		b.Errorf("the Node object: %v", err)
	}
}

func testJob(b *bed) {
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "job"}}
	job.Spec.Template.Spec = corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever,
		Containers:    []corev1.Container{{Name: "job", Image: "job:1", Env: []corev1.EnvVar{{Name: "EXIT_AFTER", Value: "100ms"}}}},
	}
	if _, err := b.api.BatchV1().Jobs("default").Create(b.Context(), job, metav1.CreateOptions{}); err != nil {
		b.Fatal(err)
	}
	b.until("the job to complete", func(ctx context.Context) error {
		got, err := b.api.BatchV1().Jobs("default").Get(ctx, "job", metav1.GetOptions{})
		if err == nil && got.Status.CompletionTime == nil {
			err = fmt.Errorf("status %+v", got.Status)
		}
		return err
	})
}

// testUIDPrecondition makes sure that the fake API server of the other tests is right about the UID in a patch.
func testUIDPrecondition(b *bed) {
	p := b.pods()[0]
	want := *p.Status.DeepCopy()
	want.Phase = corev1.PodFailed
	patch, err := statusPatch("another", p.Status, want)
	if err != nil {
		b.Fatal(err)
	}
	_, err = b.api.CoreV1().Pods("default").Patch(b.Context(), p.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	if !apierrors.IsInvalid(err) {
		b.Errorf("got %v, want the patch refused as invalid", err)
	}
}

// testHeartbeats waits for the node that fell silent to become Unknown; by then the others live by their heartbeats alone.
func testHeartbeats(b *bed, silenced time.Time) {
	b.until("the silent node to be Unknown", func(ctx context.Context) error {
		if got := b.nodeReady(ctx, "node-3"); got != corev1.ConditionUnknown {
			return fmt.Errorf("ready is %s", got)
		}
		return nil
	})
	b.Logf("Unknown after %v", time.Since(silenced).Round(time.Second))
	if got := b.nodeReady(b.Context(), "node-1"); got != corev1.ConditionTrue {
		b.Errorf("node-1: ready is %s", got)
	}
	if _, err := b.kubelet.ResumeHeartbeat(b.Context(), "node-3"); err != nil {
		b.Fatal(err)
	}
	b.until("the node to be Ready again", func(ctx context.Context) error {
		if got := b.nodeReady(ctx, "node-3"); got != corev1.ConditionTrue {
			return fmt.Errorf("ready is %s", got)
		}
		return nil
	})
}

func (b *bed) nodeReady(ctx context.Context, name string) corev1.ConditionStatus {
	b.Helper()
	n, err := b.api.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status
		}
	}
	return ""
}

func webDeployment() *appsv1.Deployment {
	labels := map[string]string{"app": "web"}
	p := newPod("web", withGate, withPreStop(10), withReadiness(corev1.Probe{PeriodSeconds: 1}))
	p.Spec.NodeName = ""
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To[int32](4), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: p.Spec},
		},
	}
}
