// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

const healthyTarget, unhealthyTarget, drainingTarget = elbv2.StateHealthy, elbv2.StateUnhealthy, elbv2.StateDraining

// replacedNodes is a registrar with nodes as targets, node-1 and so on, in these states. The Nodes have Karpenter's finalizer.
type replacedNodes struct{ *bed }

func inReplacedNodes(t *testing.T, states []elbv2.State, test func(b replacedNodes)) {
	t.Helper()
	var nodes []client.Object
	for i := range states {
		node := newNode(nodeNamed(i), nodeID(i).ID, corev1.ConditionTrue)
		node.Finalizers = []string{"karpenter.sh/termination"}
		nodes = append(nodes, node)
	}
	inInstanceBed(t, func(b *bed) {
		b.run(5*time.Second, webKey)
		for i, state := range states {
			b.aws.SetHealth(testARN, nodeID(i), elbv2.Health{State: state})
		}
		b.run(time.Minute)
		test(replacedNodes{b})
	}, nodes...)
}

func nodeNamed(i int) string { return []string{"node-1", "node-2", "node-3"}[i] }

func nodeID(i int) elbv2.Target {
	return elbv2.Target{ID: []string{"i-01", "i-02", "i-03"}[i], Port: nodePort}
}

// disrupt has Karpenter taint the nodes; with no taint it takes that back.
func (b replacedNodes) disrupt(taints []corev1.Taint, nodes ...int) {
	b.t.Helper()
	for _, i := range nodes {
		var node corev1.Node
		b.must(b.cluster.Get(b.t.Context(), client.ObjectKey{Name: nodeNamed(i)}, &node))
		node.Spec.Taints = taints
		b.must(b.cluster.Update(b.t.Context(), &node))
	}
}

var disruptedTaint = []corev1.Taint{{Key: "karpenter.sh/disrupted", Effect: corev1.TaintEffectNoSchedule}}

// want has the binding run, and wants its targets to be in these states then.
func (b replacedNodes) want(after time.Duration, states ...elbv2.State) {
	b.t.Helper()
	b.run(after, webKey)
	want := map[string]elbv2.State{}
	for i, state := range states {
		want[nodeID(i).String()] = state
	}
	if diff := cmp.Diff(want, b.targets()); diff != "" {
		b.t.Errorf("targets after %s (-want +got):\n%s", after, diff)
	}
}

// Karpenter replaces the only node: taint, a new node that becomes ready, deletion. The load balancer never is without a target.
func TestTheOnlyNodeStaysUntilItsReplacementIsHealthy(t *testing.T) {
	inReplacedNodes(t, []elbv2.State{healthyTarget}, func(b replacedNodes) {
		b.disrupt(disruptedTaint, 0)
		b.want(2*time.Minute, healthyTarget)
		if c := b.ready(); c.Status != metav1.ConditionFalse || c.Reason != v1beta1.ReasonReconciling || !strings.Contains(c.Message, "nodes that are to be replaced") {
			t.Errorf("Ready is %s, %s: %s; want it to say why the target stays", c.Status, c.Reason, c.Message)
		}
		b.must(b.cluster.Create(t.Context(), newNode(nodeNamed(1), nodeID(1).ID, corev1.ConditionTrue)))
		b.want(30*time.Second, healthyTarget, elbv2.StateInitial)
		b.aws.SetHealth(testARN, nodeID(1), healthy)
		b.want(2*time.Second, drainingTarget, healthyTarget)
		if told := b.told("ReplacementTimedOut"); told > 0 {
			t.Errorf("told %d times that there was no replacement", told)
		}
	})
}

// Karpenter waits for hours, and a termination handler's taint may be there for days, while the nodes serve.
func TestNodesStayWithoutAReplacement(t *testing.T) {
	inReplacedNodes(t, []elbv2.State{healthyTarget, healthyTarget, unhealthyTarget}, func(b replacedNodes) {
		b.disrupt(disruptedTaint, 0, 1)
		b.want(3*testPolicy.ReplacementTimeout, healthyTarget, healthyTarget, unhealthyTarget)
		if c := b.ready(); c.Status != metav1.ConditionTrue || !strings.Contains(c.Message, "2 nodes that are to be replaced stay") {
			t.Errorf("Ready is %s: %s; want it to say which nodes stay", c.Status, c.Message)
		}
		b.aws.SetHealth(testARN, nodeID(2), healthy)
		b.want(testPolicy.ReplacementTimeout, healthyTarget, healthyTarget, healthyTarget) // one for two
		b.disrupt(nil, 0)
		b.want(testPolicy.ReplacementTimeout, healthyTarget, drainingTarget, healthyTarget)
		if told := b.told("ReplacementTimedOut"); told > 0 {
			t.Errorf("told %d times that targets leave without a replacement", told)
		}
	})
}

// Whoever gives a node that label waits until no target group has it.
func TestAnExcludedNodeLeavesThoughItIsTainted(t *testing.T) {
	inReplacedNodes(t, []elbv2.State{healthyTarget, healthyTarget}, func(b replacedNodes) {
		b.disrupt(disruptedTaint, 0, 1)
		var node corev1.Node
		b.must(b.cluster.Get(t.Context(), client.ObjectKey{Name: nodeNamed(0)}, &node))
		node.Labels[corev1.LabelNodeExcludeBalancers] = ""
		b.must(b.cluster.Update(t.Context(), &node))
		b.want(testPolicy.ReplacementTimeout-2*time.Second, healthyTarget, healthyTarget)
		b.want(4*time.Second, drainingTarget, healthyTarget)
	})
}

func TestNodesWhoseTaintIsTakenBackStay(t *testing.T) {
	inReplacedNodes(t, []elbv2.State{healthyTarget, healthyTarget}, func(b replacedNodes) {
		calls := len(b.aws.Calls("RegisterTargets"))
		b.disrupt(disruptedTaint, 0, 1)
		b.want(time.Minute, healthyTarget, healthyTarget)
		b.disrupt(nil, 0, 1)
		b.want(2*testPolicy.ReplacementTimeout, healthyTarget, healthyTarget)
		if n := len(b.aws.Calls("DeregisterTargets")) + len(b.aws.Calls("RegisterTargets")) - calls; n > 0 {
			t.Errorf("%d calls for targets that stay", n)
		}
		if c := b.ready(); c.Status != metav1.ConditionTrue {
			t.Errorf("Ready is %s, %s: %s", c.Status, c.Reason, c.Message)
		}
	})
}

// With externalTrafficPolicy Local, only nodes with a pod are healthy.
func TestTheOnlyNodeWithAPodStaysUntilAnotherOneIsHealthy(t *testing.T) {
	inReplacedNodes(t, []elbv2.State{healthyTarget, unhealthyTarget, unhealthyTarget}, func(b replacedNodes) {
		b.disrupt(disruptedTaint, 0, 1)
		b.want(2*time.Minute, healthyTarget, drainingTarget, unhealthyTarget)
		b.aws.SetHealth(testARN, nodeID(2), healthy)
		b.want(12*time.Second, drainingTarget, drainingTarget, healthyTarget)
	})
}

func TestATaintedNodeLeavesSoonWhileOthersAreHealthy(t *testing.T) {
	inReplacedNodes(t, []elbv2.State{healthyTarget, healthyTarget, unhealthyTarget}, func(b replacedNodes) {
		b.disrupt(disruptedTaint, 0)
		b.want(2*time.Second, drainingTarget, healthyTarget, unhealthyTarget)
	})
}

// Then Karpenter drains it, and nothing keeps it.
func TestANodeThatIsBeingDeletedLeavesAtOnce(t *testing.T) {
	inReplacedNodes(t, []elbv2.State{healthyTarget, unhealthyTarget}, func(b replacedNodes) {
		b.disrupt(disruptedTaint, 0)
		b.want(time.Minute, healthyTarget, unhealthyTarget)
		b.must(b.cluster.Delete(t.Context(), newNode(nodeNamed(0), "", corev1.ConditionTrue)))
		b.want(time.Second, drainingTarget, unhealthyTarget)
	})
}
