// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// claimKind is what the rules make of a pod or a node for one binding. This is the oracle: it is written from the rules, and
// calls none of the registrar's code.
type claimKind string

const (
	claimWanted   claimKind = "wanted"   // has to be in the group
	claimUnready  claimKind = "unready"  // lives, is not ready: rule 6
	claimReplaced claimKind = "replaced" // lives, is not asked for any more: rule 7
	claimLeaving  claimKind = "leaving"  // rule 5
	claimHeld     claimKind = "held"     // somebody says that it gets no traffic
	claimUnclear  claimKind = "unclear"  // the objects do not agree yet: both in and out are right
)

// claim is that of one pod or node.
type claim struct {
	kind       claimKind
	target     elbv2.Target
	uid        types.UID
	pod        *corev1.Pod // nil for a node
	lastResort bool        // wanted where nothing else is
	unlisted   bool        // a pod that no slice lists: the registrar finds it by its target only
	nodeEnds   bool        // it is on a node with a taint, or is one: the model's nodes have no others than those of programs that end them
}

// claims are those of a binding, by target.
func (m *model) claims(b *v1beta1.TargetGroupBinding) map[elbv2.Target]claim {
	out := map[elbv2.Target]claim{}
	service := stored[*corev1.Service](m.store, "shop", b.Spec.ServiceRef.Name)
	if b.Spec.IsIP() {
		m.claimPods(b, service, out)
	} else {
		m.claimNodes(b, service, out)
	}
	for _, c := range out {
		if c.kind == claimWanted {
			return out
		}
	}
	for target, c := range out { // fail open
		if c.lastResort {
			c.kind = claimWanted
			out[target] = c
		}
	}
	return out
}

// shutsDownIn reports whether the node says that its kubelet shuts it down gracefully.
func shutsDownIn(node *corev1.Node) bool {
	return nodeReadyIn(node) == corev1.ConditionFalse && node.Status.Conditions[0].Message == "node is shutting down"
}

func hasPort(service *corev1.Service, b *v1beta1.TargetGroupBinding) bool {
	return service != nil && service.Spec.Ports[0].Port == b.Spec.ServiceRef.Port.IntVal
}

func (m *model) claimPods(b *v1beta1.TargetGroupBinding, service *corev1.Service, out map[elbv2.Target]claim) {
	listed := m.listed(b.Spec.ServiceRef.Name)
	rank := map[claimKind]int{claimLeaving: 0, claimReplaced: 1, claimHeld: 2, claimUnready: 3, claimUnclear: 4, claimWanted: 5}
	for _, pod := range listOf[*corev1.Pod](m.store) {
		if len(pod.Status.PodIPs) == 0 {
			continue
		}
		c := claim{target: elbv2.Target{ID: pod.Status.PodIPs[0].IP, Port: modelPort}, uid: pod.UID, pod: pod}
		c.kind, c.lastResort = m.claimPod(pod, b, service, listed)
		_, in := listed[pod.UID]
		node := stored[*corev1.Node](m.store, "", pod.Spec.NodeName)
		c.unlisted, c.nodeEnds = !in, node != nil && len(node.Spec.Taints) > 0
		other, taken := out[c.target]
		if !taken || rank[c.kind] > rank[other.kind] || rank[c.kind] == rank[other.kind] && m.outlasts(pod, other.pod) {
			out[c.target] = c
		}
	}
}

// outlasts reports whether of two pods at one address, of which the rules make the same, the first stays longer.
func (m *model) outlasts(pod, other *corev1.Pod) bool {
	by, _ := m.leavesBy(pod)
	before, _ := m.leavesBy(other)
	return by.After(before) || ended(other)
}

// listed are the pods in the slices of a Service that have a port, and whether they are called ready there.
func (m *model) listed(service string) map[types.UID]bool {
	out := map[types.UID]bool{}
	for _, slice := range listOf[*discoveryv1.EndpointSlice](m.store) {
		if slice.Labels[discoveryv1.LabelServiceName] != service || len(slice.Ports) == 0 {
			continue
		}
		for _, ep := range slice.Endpoints {
			out[ep.TargetRef.UID] = *ep.Conditions.Ready
		}
	}
	return out
}

func (m *model) claimPod(pod *corev1.Pod, b *v1beta1.TargetGroupBinding, service *corev1.Service, listed map[types.UID]bool) (
	kind claimKind, lastResort bool,
) {
	ready, in := listed[pod.UID]
	node := stored[*corev1.Node](m.store, "", pod.Spec.NodeName)
	theirs := selected(service, pod) || byHand(service, pod)
	switch {
	case !live(pod) || node != nil && (shutsDownIn(node) || hasTaint(node, modelSpotTaint)):
		return claimLeaving, false
	case !hasPort(service, b):
		return claimReplaced, false
	case !theirs && in:
		return claimUnclear, false
	case !theirs:
		return claimReplaced, false
	case node == nil:
		return claimUnready, false
	case !in || ready != (isTrue(pod, corev1.PodReady) && !m.isStruck(service, pod)):
		return claimUnclear, false
	case ready:
		return claimWanted, false
	default:
		return m.claimUnready(pod, b, node, byHand(service, pod))
	}
}

// isStruck reports whether whoever writes the Service's slices by hand calls the pod not ready.
func (m *model) isStruck(service *corev1.Service, pod *corev1.Pod) bool {
	return byHand(service, pod) && m.pods[pod.UID].struck
}

// claimUnready is the claim of a pod that its slice calls not ready.
func (m *model) claimUnready(pod *corev1.Pod, b *v1beta1.TargetGroupBinding, node *corev1.Node, byHand bool) (kind claimKind, lastResort bool) {
	switch {
	case closedByOthers(pod):
		return claimHeld, false
	case !isTrue(pod, corev1.ContainersReady):
		return claimUnready, false
	case nodeReadyIn(node) != corev1.ConditionTrue:
		return claimUnready, nodeReadyIn(node) == corev1.ConditionUnknown
	case allGatesOpen(pod) && byHand:
		return claimHeld, false
	case allGatesOpen(pod), readiness.Has(pod, readiness.GateFor(b.Name)):
		return claimWanted, false
	default:
		return claimUnready, false
	}
}

// byHand reports whether the pod is in the slices that somebody writes by hand for a Service without a selector.
func byHand(service *corev1.Service, pod *corev1.Pod) bool {
	return service != nil && len(service.Spec.Selector) == 0 && pod.Labels["app"] == service.Name
}

// unlisted reports whether the pod has started, and whoever writes the Service's slices by hand leaves it out.
func (m *model) unlisted(service *corev1.Service, pod *corev1.Pod) bool {
	return isTrue(pod, corev1.ContainersReady) && (!byHand(service, pod) || m.portless[service.Name])
}

func (m *model) claimNodes(b *v1beta1.TargetGroupBinding, service *corev1.Service, out map[elbv2.Target]claim) {
	for _, node := range listOf[*corev1.Node](m.store) {
		c := claim{target: elbv2.Target{ID: instanceOf(node.Name)}, uid: types.UID(node.Name)}
		ready := nodeReadyIn(node)
		_, excluded := node.Labels[corev1.LabelNodeExcludeBalancers]
		early := func(t corev1.Taint) bool { return t.Key == modelDisruptedTaint }
		switch {
		case slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return !early(t) }) || shutsDownIn(node):
			c.kind = claimLeaving
		case !hasPort(service, b) || excluded || slices.ContainsFunc(node.Spec.Taints, early):
			c.kind, c.nodeEnds = claimReplaced, !excluded && len(node.Spec.Taints) > 0
		case ready == corev1.ConditionTrue:
			c.kind = claimWanted
		default:
			c.kind, c.lastResort = claimUnready, ready == corev1.ConditionUnknown
		}
		if service != nil {
			c.target.Port = service.Spec.Ports[0].NodePort
		}
		out[c.target] = c
	}
}

// acting reports whether the binding has its target group: it is not going, and no older one has the group.
func (m *model) acting(b *v1beta1.TargetGroupBinding) bool {
	if b.DeletionTimestamp != nil {
		return false
	}
	for _, other := range listOf[*v1beta1.TargetGroupBinding](m.store) {
		shared := other.Spec.MultiClusterTargetGroup && b.Spec.MultiClusterTargetGroup
		if other.UID != b.UID && other.Spec.TargetGroupARN == b.Spec.TargetGroupARN && !shared && olderBinding(other, b) {
			return false
		}
	}
	return true
}

func olderBinding(a, b *v1beta1.TargetGroupBinding) bool {
	if a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.UID < b.UID
	}
	return a.CreationTimestamp.Before(&b.CreationTimestamp)
}

// excused are the reasons of rule 4 for which a pod's gate of that binding may open now.
func (m *model) excused(pod *corev1.Pod, name string) map[string]bool {
	b := stored[*v1beta1.TargetGroupBinding](m.store, "shop", name)
	if b == nil || b.DeletionTimestamp != nil {
		return map[string]bool{"TargetGroupBindingDeleted": true}
	}
	service := stored[*corev1.Service](m.store, "shop", b.Spec.ServiceRef.Name)
	m.aws.mu.Lock()
	g := m.aws.groups[b.Spec.TargetGroupARN]
	unattached := g.unattached
	m.aws.mu.Unlock()
	return map[string]bool{
		"TargetGroupBindingNotManaged": !b.Spec.IsIP() || !m.acting(b),
		"BackendNotFound":              !hasPort(service, b),
		"ServiceDoesNotSelectPod":      service != nil && !selected(service, pod) && (len(service.Spec.Selector) > 0 || m.unlisted(service, pod)),
		"TargetGroupNotAttached":       unattached,
	}
}

// enough reports whether half of the pods that are in the group, and are not about to leave it, are healthy: then half of those that served
// together are.
func enough(claims map[elbv2.Target]claim, g *modelGroup) bool {
	healthy, every := 0, 0
	for target, c := range claims {
		t := g.targets[target]
		if t == nil || t.health.State == elbv2.StateDraining {
			continue
		}
		switch c.kind {
		case claimWanted:
			every++
			if t.health.State == elbv2.StateHealthy {
				healthy++
			}
		case claimUnready, claimUnclear:
			every++
		}
	}
	return healthy*2 >= every
}

// mayServe is how many targets may serve for all that the registrar knows: healthy is what was so lately, as it reads from time to time.
func mayServe(claims map[elbv2.Target]claim, g *modelGroup, now time.Time, settled func(claim) bool) (n int) {
	for target, c := range claims {
		t := g.targets[target]
		in := c.kind == claimWanted || c.kind == claimUnclear || !settled(c)
		if in && t != nil && (c.pod == nil || now.Sub(t.healthyAt) < 20*time.Second) {
			n++
		}
	}
	return n
}
