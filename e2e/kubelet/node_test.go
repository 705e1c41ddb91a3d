// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"errors"
	"net/netip"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"
)

func TestNodesAreRegistered(t *testing.T) {
	taints := []corev1.Taint{{Key: "for", Value: "one-test", Effect: corev1.TaintEffectNoSchedule}}
	_, a := startTest(t, func(o *Options) {
		o.Nodes = NumberedNodes(3, "eu-west-1a", "eu-west-1b")
		o.Nodes[1].Taints = taints
	})
	nodes, err := a.client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil || len(nodes.Items) != 3 {
		t.Fatalf("got %d nodes, %v", len(nodes.Items), err)
	}
	n := nodes.Items[1]
	got := []string{
		n.Name, n.Spec.ProviderID, n.Labels["topology.kubernetes.io/zone"], n.Labels["topology.kubernetes.io/region"],
		n.Spec.PodCIDR, n.Status.Addresses[0].Address, n.Status.Capacity.Pods().String(),
	}
	want := []string{"node-2", "aws:///eu-west-1b/i-0123456789abc0002", "eu-west-1b", "eu-west-1", "10.2.0.0/16", "10.2.0.1", "500"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("node (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(taints, n.Spec.Taints); diff != "" {
		t.Errorf("taints (-want +got):\n%s", diff)
	}
	if c := n.Status.Conditions[len(n.Status.Conditions)-1]; c.Type != corev1.NodeReady || c.Status != corev1.ConditionTrue {
		t.Errorf("got condition %+v", c)
	}
}

// conditionOf is a node's condition as the API has it.
func conditionOf(t *testing.T, a *api, kind corev1.NodeConditionType) corev1.NodeCondition {
	t.Helper()
	n, err := a.client.CoreV1().Nodes().Get(t.Context(), "node-1", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range n.Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	t.Fatalf("there is no condition %s in %+v", kind, n.Status.Conditions)
	return corev1.NodeCondition{}
}

func TestSetNodeReady(t *testing.T) {
	k, a := startTest(t, func(o *Options) { o.HeartbeatInterval = 10 * time.Millisecond })
	for _, tc := range []struct {
		status   corev1.ConditionStatus
		reason   string
		pressure corev1.ConditionStatus
	}{
		{corev1.ConditionFalse, "KubeletNotReady", corev1.ConditionFalse},
		{corev1.ConditionUnknown, "NodeStatusUnknown", corev1.ConditionUnknown},
		{corev1.ConditionTrue, "KubeletReady", corev1.ConditionFalse},
	} {
		if err := k.SetNodeReady(t.Context(), "node-1", tc.status); err != nil {
			t.Fatal(err)
		}
		ready, pressure := conditionOf(t, a, corev1.NodeReady), conditionOf(t, a, corev1.NodeMemoryPressure)
		if ready.Status != tc.status || ready.Reason != tc.reason || pressure.Status != tc.pressure {
			t.Errorf("got %+v and %+v, want %+v", ready, pressure, tc)
		}
	}
	if k.SetNodeReady(t.Context(), "nosuchnode", corev1.ConditionTrue) == nil || k.SetNodeReady(t.Context(), "node-1", "Maybe") == nil {
		t.Error("SetNodeReady takes anything")
	}
}

func TestSetNodeReadyIsKeptAtHeartbeats(t *testing.T) {
	k, a := startTest(t, func(o *Options) { o.HeartbeatInterval = 10 * time.Millisecond })
	if err := k.SetNodeReady(t.Context(), "node-1", corev1.ConditionFalse); err != nil {
		t.Fatal(err)
	}
	since := conditionOf(t, a, corev1.NodeReady).LastTransitionTime
	other := []byte(`{"status":{"conditions":[{"type":"Ready","status":"True"}]}}`)
	_, err := a.client.CoreV1().Nodes().Patch(t.Context(), "node-1", types.StrategicMergePatchType, other, metav1.PatchOptions{}, "status")
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "not ready again", func() bool { return conditionOf(t, a, corev1.NodeReady).Status == corev1.ConditionFalse })
	if got := conditionOf(t, a, corev1.NodeReady).LastTransitionTime; !got.Equal(&since) {
		t.Errorf("not ready since %v, want %v", got, since)
	}
}

func renewed(t *testing.T, a *api) time.Time {
	t.Helper()
	lease, err := a.client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Get(t.Context(), "node-1", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return lease.Spec.RenewTime.Time
}

func TestHeartbeatStopsAndResumes(t *testing.T) {
	k, a := startTest(t, func(o *Options) { o.HeartbeatInterval = 10 * time.Millisecond })
	first := renewed(t, a)
	eventually(t, "lease renewed", func() bool { return renewed(t, a).After(first) })
	a.create(newPod("web-1"))
	p := a.wait("web-1", "ready", isReady)
	answers(t, p, "/", "200")
	if !k.StopHeartbeat("node-1") || k.StopHeartbeat("nosuchnode") {
		t.Error("StopHeartbeat does not know its nodes")
	}
	a.remove("web-1", new(int64))
	a.create(newPod("web-2"))
	moment(t, k, "web-2", Created)
	if got := get(t.Context(), urlOf(p, "/")); got != "200" {
		t.Errorf("a pod on a node that is cut off answers %s", got)
	}
	if happened(k, "web-2", Bound) || happened(k, "web-1", Gone) {
		t.Error("a node that is cut off took notice")
	}
	if _, err := k.ResumeHeartbeat(t.Context(), "node-1"); err != nil {
		t.Fatal(err)
	}
	a.wait("web-2", "ready", isReady)
	moment(t, k, "web-1", Gone)
	answers(t, p, "/", "error")
}

func TestOptionsAreValidated(t *testing.T) {
	_, err := Start(t.Context(), Options{Scale: -1, Nodes: []Node{
		{Name: "a", PodCIDR: netip.MustParsePrefix("10.1.0.0/16")},
		{Name: "b", PodCIDR: netip.MustParsePrefix("10.1.1.0/24")},
		{PodCIDR: netip.MustParsePrefix("172.16.0.0/16")},
	}})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"config and client", "scale must", `"a" and "b" share`, "needs a name"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
	if err := (Node{Name: "c", PodCIDR: netip.MustParsePrefix("172.16.0.0/16")}).validate(); err == nil {
		t.Error("a range outside 10.0.0.0/8 was taken")
	}
}

func TestStartFailsWhenANodeIsRefused(t *testing.T) {
	a := newAPI(t)
	errRefused := errors.New("refused")
	a.client.PrependReactor("create", "nodes", func(clienttesting.Action) (bool, apiruntime.Object, error) {
		return true, nil, errRefused
	})
	if _, err := Start(t.Context(), Options{Client: a.client, Nodes: NumberedNodes(1)}); !errors.Is(err, errRefused) {
		t.Errorf("got %v", err)
	}
}

func TestCloseLeavesNothing(t *testing.T) {
	before := runtime.NumGoroutine()
	k, a := startTest(t)
	for _, name := range []string{"web-1", "web-2", "web-3"} {
		a.create(newPod(name, withReadiness(corev1.Probe{PeriodSeconds: 1}), withPreStop(300), withGrace(600)))
	}
	p := a.wait("web-1", "ready", isReady)
	a.wait("web-2", "ready", isReady)
	a.create(newPod("loop", withEnv("CRASH_AFTER", "1ms"), func(p *corev1.Pod) { p.Spec.Containers[0].Ports = nil }))
	a.wait("loop", "in back-off", func(p *corev1.Pod) bool { return containerStatus(p).State.Waiting != nil })
	a.remove("web-2", nil)
	moment(t, k, "web-2", PreStopStart)
	k.Close()
	k.Close()
	if got := get(t.Context(), urlOf(p, "/")); got != "error" {
		t.Errorf("a closed kubelet's pod answers %s", got)
	}
	eventually(t, "no goroutine left", func() bool { return runtime.NumGoroutine() <= before })
}
