// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package endpoints

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/targetgate/targetgate/readiness"
)

// Kubernetes says in several ways that a pod which lives gets no traffic. What is made of each:
//
//	its containers are not ready, or its node        NotReady: it stays while too few others serve
//	a readiness gate of somebody else is closed      HeldBack: it goes
//	a slice that is written by hand says not ready   HeldBack: it goes
//	its labels were changed                          Unselected, and held: it goes
//	the Service selects others                       Unselected: it goes once these serve
//	its deletion                                     Terminating: it goes once others have replaced it, and by its deadline

// Held is who says that a pod gets no traffic although it could serve.
type Held int

const (
	// NotHeld is nobody.
	NotHeld Held = iota
	// HeldByGate is a readiness gate that is neither ours nor another load balancer's.
	HeldByGate
	// HeldBySlice is an EndpointSlice that Kubernetes' own controller does not write.
	HeldBySlice
	// HeldByLabels are the pod's labels, which somebody has changed so that the Service no longer selects it.
	HeldByLabels
)

// Why says in words who holds the pod back, empty when nobody does.
func (ep Endpoint) Why() string {
	switch ep.Held {
	case HeldByGate:
		return fmt.Sprintf("its readiness gate %s is not True", ep.Gate)
	case HeldBySlice:
		return "its EndpointSlice says that it is not ready"
	case HeldByLabels:
		return "its labels were changed, and the Service no longer selects it"
	default:
		return ""
	}
}

// sliceWord is what a slice says of one of its endpoints.
type sliceWord struct {
	ready  bool
	byHand bool // not by Kubernetes' own controller, which says what the pod says
}

// sliceController is who writes the EndpointSlices of Services with a selector.
const sliceController = "endpointslice-controller.k8s.io"

func isByHand(slice *discoveryv1.EndpointSlice) bool {
	return slice.Labels[discoveryv1.LabelManagedBy] != sliceController
}

// isReadyIn reports whether the conditions say that the endpoint gets traffic: where ready is missing, the others say.
func isReadyIn(c discoveryv1.EndpointConditions) bool {
	if c.Ready != nil {
		return *c.Ready
	}
	return (c.Serving == nil || *c.Serving) && (c.Terminating == nil || !*c.Terminating)
}

// judge says where a pod that a slice lists belongs. The pod's own words count before the slice's, which come later; the slice's
// ready also covers Services that publish not-ready addresses, but no slice is written because a node is deleted. Containers
// are not asked on a node that does not answer: what they say there is old.
func (ep *Endpoint) judge(node nodeFacts, slice sliceWord, gate corev1.PodConditionType) {
	switch {
	case ep.leavesWith(node):
	case node.missing:
		ep.State, ep.NodeDown = NotReady, node.down()
	case slice.ready:
		ep.State, ep.Held = Desired, NotHeld
	case ep.Held != NotHeld:
		ep.State = HeldBack
	default:
		ep.judgeUnready(node, slice, gate)
	}
}

// judgeUnready is judge for a pod that its slice calls not ready.
func (ep *Endpoint) judgeUnready(node nodeFacts, slice sliceWord, gate corev1.PodConditionType) {
	switch {
	case !ContainersReady(ep.Pod) || node.ready != corev1.ConditionTrue:
		ep.State, ep.NodeDown = NotReady, node.down()
		ep.lastResort = ContainersReady(ep.Pod) && node.ready == corev1.ConditionUnknown
	case readiness.AllOpen(ep.Pod) && slice.byHand:
		ep.State, ep.Held = HeldBack, HeldBySlice
	case readiness.AllOpen(ep.Pod), readiness.Has(ep.Pod, gate):
		ep.State = Desired // the slice is late, or it is ours to make the pod Ready
	default: // another binding or load balancer makes it Ready
		ep.State, ep.Waits = NotReady, true
	}
}
