// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package endpoints

import (
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// What says that a node is about to end, and by when. A pod there goes on serving, and has no deletionTimestamp yet:
//
//	graceful shutdown            the kubelet stops the pods now, without deleting them, and only it knows how long it gives them
//	notice of a Spot instance    the instance ends two minutes after the notice, whatever becomes of the pods
//	any other taint, or the      the pods will be deleted, and replaced then: until that they belong in the target group, as a
//	deletion of the Node         PodDisruptionBudget may keep them for hours. They do not count as pods that stay
//
// Where the node itself is the target, it goes at once, but after an early taint: then it stays in the target group until others serve.

// spotTaint is what the termination handler for AWS nodes puts on a node when EC2 gives notice of its interruption.
const spotTaint = "aws-node-termination-handler/spot-itn"

// SpotNotice is how long before its end a Spot instance has a notice, as far as we see it: EC2 gives it two minutes before, the termination
// handler asks for it every 2 s, and its taint takes a moment to get here.
const SpotNotice = 2*time.Minute - 5*time.Second

// These are the taints of programs that end nodes. An empty value or effect is any.
var (
	// urgentTaints are on nodes that end within minutes.
	urgentTaints = []corev1.Taint{
		{Key: "ToBeDeletedByClusterAutoscaler"},
		{Key: spotTaint},
		{Key: "aws-node-termination-handler/asg-lifecycle-termination"},
	}
	// earlyTaints are on nodes that others are to replace first. Karpenter, of v1 and of v1beta1, taints a node, launches the ones that
	// replace it and waits until they are ready; then it deletes the Node, or takes the taint back if they do not come. The termination
	// handler passes on what EC2 announces, by which an instance may live for hours or days.
	earlyTaints = []corev1.Taint{
		{Key: "karpenter.sh/disrupted", Effect: corev1.TaintEffectNoSchedule},
		{Key: "karpenter.sh/disruption", Value: "disrupting", Effect: corev1.TaintEffectNoSchedule},
		{Key: "aws-node-termination-handler/scheduled-maintenance"},
		{Key: "aws-node-termination-handler/rebalance-recommendation"},
	}
	// An update of an EKS managed node group puts the first taint on all of its old nodes at once, and cordons the one whose turn it is, a
	// minute before it ends the instance.
	nodeGroupTaint = []corev1.Taint{{Key: "eks.amazonaws.com/nodegroup", Value: "unschedulable"}}
	cordonTaint    = []corev1.Taint{{Key: corev1.TaintNodeUnschedulable}}
)

// IsLeaving reports whether the node is about to end, soon or once others have replaced it: its targets are deregistered, whatever bindings
// select.
func IsLeaving(node *corev1.Node) bool {
	return endsSoon(node) || hasTaint(node, earlyTaints) || hasTaint(node, nodeGroupTaint) && hasTaint(node, cordonTaint)
}

// endsSoon reports whether the node is being deleted, or ends within minutes: its targets do not wait for others.
func endsSoon(node *corev1.Node) bool {
	return !node.DeletionTimestamp.IsZero() || ShutsDown(node) || hasTaint(node, urgentTaints)
}

// hasTaint reports whether the node has one of the taints.
func hasTaint(node *corev1.Node, wanted []corev1.Taint) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool {
		return slices.ContainsFunc(wanted, func(known corev1.Taint) bool {
			return known.Key == taint.Key && (known.Value == "" || known.Value == taint.Value) &&
				(known.Effect == "" || known.Effect == taint.Effect)
		})
	})
}

// shutdownMessage is what the kubelet says in the condition Ready, maybe among other things, while it shuts the node down gracefully.
const shutdownMessage = "node is shutting down"

// ShutsDown reports whether the kubelet stops the node's pods because the machine shuts down.
func ShutsDown(node *corev1.Node) bool {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionFalse && strings.Contains(c.Message, shutdownMessage)
		}
	}
	return false
}

func hasSpotNotice(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool { return taint.Key == spotTaint })
}

// SpotNotices are when the watch first showed a node with a notice. A node that had it when the watch began has none here: how old
// the notice is, is not known. Safe for concurrent use; nil has none.
type SpotNotices struct {
	mu sync.Mutex
	at map[string]time.Time // by name of the node
}

// endsAt is when the node ends that has a notice, zero when that is not known.
func (n *SpotNotices) endsAt(name string) time.Time {
	if n == nil {
		return time.Time{}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if at, known := n.at[name]; known {
		return at.Add(SpotNotice)
	}
	return time.Time{}
}

// see takes in a change of a node; after is nil when it is gone.
func (n *SpotNotices) see(before, after *corev1.Node, now time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case after == nil || !hasSpotNotice(after):
		delete(n.at, before.Name)
	case !hasSpotNotice(before):
		n.at[before.Name] = now
	}
}
