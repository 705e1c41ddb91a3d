// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package controlplane

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"github.com/targetgate/targetgate/e2e/cluster"
	"github.com/targetgate/targetgate/e2e/kubelet"
	"github.com/targetgate/targetgate/e2e/kubelet/address"
	"github.com/targetgate/targetgate/e2e/suite"
)

// bed is a real control plane with the kubelet under test.
type bed struct {
	*testing.T
	api     kubernetes.Interface
	kubelet *kubelet.Kubelet
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
	k, err := kubelet.Start(t.Context(), kubelet.Options{
		Config: c.AdminConfig(), Nodes: kubelet.NumberedNodes(3, "eu-west-1a", "eu-west-1b"), Scale: suite.Scale, Log: testr.New(t),
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

// answer is the status code of what listens there as pods and nodes do, or "error".
func (b *bed) answer(ctx context.Context, ip string, port int32) string {
	b.Helper()
	url := fmt.Sprintf("http://%s:%d/", address.Socket(netip.MustParseAddr(ip)), port)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		b.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return "error"
	}
	_ = response.Body.Close()
	return strconv.Itoa(response.StatusCode)
}

// gate is that of every pod of the Deployment.
const gate = corev1.PodConditionType("target-health.elbv2.k8s.aws/web")

func webDeployment() *appsv1.Deployment {
	labels := map[string]string{"app": "web"}
	container := corev1.Container{
		Name: "web", Image: "web:1", Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}},
		Lifecycle: &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 10}}},
		ReadinessProbe: &corev1.Probe{PeriodSeconds: 1, ProbeHandler: corev1.ProbeHandler{
			HTTPGet: &corev1.HTTPGetAction{Path: "/ready", Port: intstr.FromString("http")},
		}},
	}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To[int32](4), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
				TerminationGracePeriodSeconds: ptr.To[int64](30), Containers: []corev1.Container{container},
				ReadinessGates: []corev1.PodReadinessGate{{ConditionType: gate}},
			}},
		},
	}
}
