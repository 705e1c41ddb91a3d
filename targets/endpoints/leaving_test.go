// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package endpoints

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	"github.com/targetgate/targetgate/aws/elbv2"
)

// A node guard waits for the nodes whose targets go because the node does, at once or when others have replaced it, and for no other.
func TestIsLeavingAgreesWithTheStateOfEndpoints(t *testing.T) {
	groupUpdate := corev1.Taint{Key: "eks.amazonaws.com/nodegroup", Value: "unschedulable", Effect: corev1.TaintEffectNoSchedule}
	tainted := func(taints ...corev1.Taint) func(*corev1.Node) {
		return func(n *corev1.Node) { n.Spec.Taints = taints }
	}
	disrupted := corev1.Taint{Key: "karpenter.sh/disrupted", Effect: corev1.TaintEffectNoSchedule}
	tests := map[string]struct {
		change func(*corev1.Node)
		want   bool
		early  bool // its target stays until others serve
	}{
		"ready":       {change: func(*corev1.Node) {}},
		"being ended": {change: func(n *corev1.Node) { n.DeletionTimestamp = ptr.To(metav1.Now()) }, want: true},
		"Karpenter's": {change: tainted(disrupted), want: true, early: true},
		"Karpenter's, and it is being deleted": {change: func(n *corev1.Node) {
			n.Spec.Taints, n.DeletionTimestamp = []corev1.Taint{disrupted}, ptr.To(metav1.Now())
		}, want: true},
		"Karpenter's, and it shuts down": {change: func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{disrupted}
			n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionFalse, Message: "node is shutting down"}}
		}, want: true},
		"Karpenter's, and it is not ready": {change: func(n *corev1.Node) {
			n.Spec.Taints, n.Status.Conditions = []corev1.Taint{disrupted}, nil
		}, want: true, early: true},
		"the autoscaler's": {
			change: tainted(corev1.Taint{Key: "ToBeDeletedByClusterAutoscaler", Effect: corev1.TaintEffectNoSchedule}), want: true,
		},
		"the autoscaler's, and Karpenter's": {change: tainted(disrupted, corev1.Taint{Key: "ToBeDeletedByClusterAutoscaler"}), want: true},
		"Karpenter's of v1beta1": {
			change: tainted(corev1.Taint{Key: "karpenter.sh/disruption", Value: "disrupting", Effect: corev1.TaintEffectNoSchedule}),
			want:   true, early: true,
		},
		"Karpenter's, a candidate only": {
			change: tainted(corev1.Taint{Key: "karpenter.sh/disruption", Value: "candidate", Effect: corev1.TaintEffectPreferNoSchedule}),
		},
		"the termination handler's": {
			change: tainted(corev1.Taint{Key: "aws-node-termination-handler/spot-itn", Value: "1", Effect: corev1.TaintEffectNoExecute}), want: true,
		},
		"its Auto Scaling group ends it":       {change: tainted(corev1.Taint{Key: "aws-node-termination-handler/asg-lifecycle-termination"}), want: true},
		"EC2 recommends to replace it":         {change: tainted(corev1.Taint{Key: "aws-node-termination-handler/rebalance-recommendation"}), want: true, early: true},
		"EC2 will maintain it some time":       {change: tainted(corev1.Taint{Key: "aws-node-termination-handler/scheduled-maintenance"}), want: true, early: true},
		"EC2 recommends it, and interrupts it": {change: tainted(corev1.Taint{Key: "aws-node-termination-handler/rebalance-recommendation"}, corev1.Taint{Key: spotTaint}), want: true},
		"shuts down": {change: func(n *corev1.Node) {
			n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionFalse, Message: "[x, node is shutting down]"}}
		}, want: true},
		"has shut down once": {change: func(n *corev1.Node) {
			n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Message: "node is shutting down"}}
		}},
		"cordoned":                           {change: func(n *corev1.Node) { n.Spec.Unschedulable = true }},
		"excluded by label":                  {change: func(n *corev1.Node) { n.Labels = map[string]string{corev1.LabelNodeExcludeBalancers: ""} }},
		"not ready":                          {change: func(n *corev1.Node) { n.Status.Conditions = nil }},
		"EKS updates its managed node group": {change: tainted(groupUpdate)},
		"EKS updates it, and its turn has come": {
			change: tainted(groupUpdate, corev1.Taint{Key: "node.kubernetes.io/unschedulable", Effect: corev1.TaintEffectNoSchedule}), want: true, early: true,
		},
		"tainted by someone": {change: tainted(corev1.Taint{Key: "gpu", Effect: corev1.TaintEffectNoSchedule})},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			node := newNode("node-1", "i-01", corev1.ConditionTrue)
			tc.change(node)
			kept, err := StripNode(node)
			if err != nil {
				t.Fatal(err)
			}
			node = kept.(*corev1.Node)
			state, _ := stateOfNode(node, labels.Everything())
			if got := IsLeaving(node); got != tc.want || (tc.want && !tc.early) != (state == Terminating) || tc.early && state != Unselected {
				t.Errorf("leaving: %t, want %t, early: %t; as an endpoint it is %s", got, tc.want, tc.early, state)
			}
		})
	}
}

// A pod leaves with its node: at once when the kubelet stops it, in time for the end of a Spot instance, else when it is deleted.
func TestPodLeavesWithItsNode(t *testing.T) {
	ends := noon.Add(2 * time.Minute)
	shutsDown, spot := nodeFacts{leaves: true, shutsDown: true, ready: corev1.ConditionFalse}, nodeFacts{leaves: true, spot: true, endsAt: ends}
	spot.ready = corev1.ConditionTrue
	tainted := nodeFacts{leaves: true, ready: corev1.ConditionTrue}
	tests := map[string]struct {
		node    nodeFacts
		sleep   int64 // of a pod deleted at noon, 0 for one that is not
		unready bool
		want    Endpoint
	}{
		"graceful shutdown":               {node: shutsDown, want: Endpoint{State: Terminating, NodeLeaves: true}},
		"graceful shutdown, deleted":      {node: shutsDown, sleep: 30, want: Endpoint{State: Terminating, NodeLeaves: true}},
		"spot":                            {node: spot, want: Endpoint{State: Terminating, NodeLeaves: true, ServesUntil: ends}},
		"spot, not ready":                 {node: spot, unready: true, want: Endpoint{State: Terminating, NodeLeaves: true}},
		"spot, deleted":                   {node: spot, sleep: 30, want: Endpoint{State: Terminating, NodeLeaves: true, ServesUntil: noon.Add(30 * time.Second)}},
		"spot, deleted with a long sleep": {node: spot, sleep: 200, want: Endpoint{State: Terminating, NodeLeaves: true, ServesUntil: ends}},
		"spot, since when is not known":   {node: nodeFacts{leaves: true, spot: true}, sleep: 30, want: Endpoint{State: Terminating, NodeLeaves: true}},
		"about to end: it is not deleted": {node: tainted, want: Endpoint{State: Desired, NodeLeaves: true}},
		"about to end, and it is deleted": {node: tainted, sleep: 30, want: Endpoint{State: Terminating, NodeLeaves: true, ServesUntil: noon.Add(30 * time.Second)}},
		"its node is not Ready, deleted": {
			node: nodeFacts{ready: corev1.ConditionFalse}, sleep: 30, want: Endpoint{State: Terminating},
		},
		"its node was deleted, and so is it": {
			node: nodeFacts{missing: true, deleted: true}, sleep: 30, want: Endpoint{State: Terminating},
		},
		"its node is silent, and it is deleted": {
			node: nodeFacts{ready: corev1.ConditionUnknown}, sleep: 30, want: Endpoint{State: Terminating, ServesUntil: noon.Add(30 * time.Second)},
		},
		"its node does not exist, and it is deleted": {node: nodeFacts{missing: true}, sleep: 30, want: Endpoint{State: Terminating}},
		"its node stays, and it is deleted":          {node: nodeFacts{}, sleep: 30, want: Endpoint{State: Terminating, ServesUntil: noon.Add(30 * time.Second)}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			pod := newPod("web-0", "10.0.0.1")
			if tc.unready {
				pod.Status.Conditions = nil
			}
			if tc.sleep > 0 {
				pod.Spec.Containers = []corev1.Container{{Lifecycle: &corev1.Lifecycle{
					PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: tc.sleep}},
				}}}
				pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = ptr.To(metav1.NewTime(noon.Add(5*time.Minute))), ptr.To[int64](300)
			}
			for _, listed := range []bool{true, false} {
				got := newEndpoint(elbv2.Target{}, pod, tc.node, testGate)
				if listed {
					got.judge(tc.node, sliceWord{ready: true}, testGate)
				} else if got.judgeUnlisted(tc.node, true); got.State == Undetermined {
					got.State = Desired // no slice says so
				}
				got = Endpoint{State: got.State, NodeLeaves: got.NodeLeaves, ServesUntil: got.ServesUntil}
				if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(Endpoint{})); diff != "" {
					t.Errorf("listed %t (-want +got):\n%s", listed, diff)
				}
			}
		})
	}
}

func TestSpotNoticesAreKnownFromTheirFirstSight(t *testing.T) {
	node := func(noticed bool) *corev1.Node {
		n := newNode("node-1", "i-01", corev1.ConditionTrue)
		if noticed {
			n.Spec.Taints = []corev1.Taint{{Key: spotTaint, Effect: corev1.TaintEffectNoSchedule}}
		}
		return n
	}
	n := &SpotNotices{at: map[string]time.Time{}}
	ends := func(want time.Time) {
		t.Helper()
		if got := n.endsAt("node-1"); !got.Equal(want) {
			t.Errorf("ends at %s, want %s", got, want)
		}
	}
	n.see(node(true), node(true), noon) // it was there when the watch began
	ends(time.Time{})
	n.see(node(false), node(true), noon)
	n.see(node(true), node(true), noon.Add(time.Minute))
	ends(noon.Add(SpotNotice))
	n.see(node(true), node(false), noon)
	ends(time.Time{})
	n.see(node(false), node(true), noon)
	n.see(node(true), nil, noon)
	if ends(time.Time{}); len(n.at) != 0 {
		t.Errorf("%d nodes are remembered that are gone", len(n.at))
	}
}
