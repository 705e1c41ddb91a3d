// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package controlplane

import (
	"context"
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/targetgate/targetgate/e2e/kubelet"
	"github.com/targetgate/targetgate/readiness"
)

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
			if c := readiness.Condition(&p, corev1.PodReady); c == nil || c.Reason != "ReadinessGatesNotReady" {
				return fmt.Errorf("pod %s has %+v", p.Name, p.Status.Conditions)
			}
		}
		return b.slices(ctx, 4, false)
	})
	b.openGates()
	b.until("four ready endpoints", func(ctx context.Context) error { return b.slices(ctx, 4, true) })
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
		if got := b.answer(b.Context(), p.Status.PodIP, 8080); got != "200" {
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
	nodes, err := b.api.CoreV1().Nodes().List(b.Context(), metav1.ListOptions{})
	if err != nil {
		b.Fatal(err)
	}
	for _, n := range nodes.Items {
		address, want := n.Status.Addresses[0].Address, "error"
		if hosts[address] {
			want = "200"
		}
		b.until(n.Name+" to answer "+want, func(ctx context.Context) error {
			if got := b.answer(ctx, address, service.Spec.Ports[0].NodePort); n.Name != "node-3" && got != want { // node-3 is cut off
				return fmt.Errorf("answers %s", got)
			}
			return nil
		})
	}
}

func testNodeComesAndGoes(b *bed) {
	if err := b.kubelet.AddNode(b.Context(), kubelet.Node{Name: "late"}); err != nil {
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

// testUIDPrecondition makes sure that the fake API server of the kubelet's own tests is right about the UID in a patch.
func testUIDPrecondition(b *bed) {
	p := b.pods()[0]
	patch := []byte(`{"metadata":{"uid":"another"},"status":{"phase":"Failed"}}`)
	_, err := b.api.CoreV1().Pods("default").Patch(b.Context(), p.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
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
