// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/fixture"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// What the model's cluster does by itself, with the timings of the real one.
const (
	modelPort       = 8080
	modelGrace      = 30 * time.Second // of pods, behind their sleep if they have one
	modelPreStop    = 20 * time.Second // how long the hook takes of pods without a sleep
	modelUnknown    = 40 * time.Second // until a node that is silent is called Unknown
	modelCollection = 80 * time.Second // until the pods of a node that is gone are deleted
)

// modelPod is what the kubelet knows of a pod.
type modelPod struct {
	podShape
	address   string
	twins     types.UID // the same for all that have lived at the address at the same time: of the first one
	born      time.Time
	placed    time.Time     // when it got its address
	ready     bool          // its probes pass
	mayServe  bool          // so says whoever has given it a gate
	struck    bool          // whoever writes its slice by hand calls it not ready
	deaf      bool          // it answers the kubelet and not the load balancer
	deletedAt time.Time     // when somebody first asked for its deletion, zero while nobody has
	grace     time.Duration // of its deletion
}

// stopsAt is when the pod, which is being deleted, gets SIGTERM: when its preStop hook or its grace period ends.
func (p *modelPod) stopsAt() time.Time {
	hook := p.sleep
	if hook == 0 {
		hook = modelPreStop
	}
	return p.deletedAt.Add(min(hook, p.grace))
}

// modelNode is a machine; its object may be gone.
type modelNode struct {
	upSince, downSince time.Time // one of them is zero
	shutDown           bool      // it says that it is not ready
	goneSince          time.Time // its object is missing
	endsSince          time.Time // its kubelet shuts it down gracefully, zero while it does not
	noticeAt           time.Time // when the registrar sees the notice of its interruption, if it has one
	drainsAt           time.Time // when its pods are deleted, zero when they are not
}

func (m *model) tickCluster(now time.Time) {
	for name, node := range m.nodes {
		m.tickNode(now, name, node)
	}
	for _, pod := range listOf[*corev1.Pod](m.store) {
		m.tickPod(now, pod)
	}
	if now.After(m.frozen) {
		for _, service := range listOf[*corev1.Service](m.store) {
			m.tickSlices(service)
		}
	}
}

func (m *model) tickNode(now time.Time, name string, node *modelNode) {
	o := stored[*corev1.Node](m.store, "", name)
	if o == nil {
		return
	}
	m.tickEnd(now, node, o)
	status, message := corev1.ConditionTrue, ""
	switch {
	case !node.downSince.IsZero() && now.Sub(node.downSince) >= modelUnknown:
		status = corev1.ConditionUnknown
	case !node.downSince.IsZero():
		return
	case !node.endsSince.IsZero():
		status, message = corev1.ConditionFalse, "node is shutting down"
	case node.shutDown:
		status = corev1.ConditionFalse
	}
	if before := o.Status.Conditions[0]; before.Status != status || before.Message != message {
		edit(m.store, o, func(o *corev1.Node) {
			o.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status, Message: message}}
		})
	}
}

// nodeReadyIn is the node's own word.
func nodeReadyIn(o *corev1.Node) corev1.ConditionStatus {
	if o == nil || len(o.Status.Conditions) == 0 {
		return corev1.ConditionUnknown
	}
	return o.Status.Conditions[0].Status
}

// tickPod is the kubelet, the node lifecycle controller and the pod garbage collector.
func (m *model) tickPod(now time.Time, pod *corev1.Pod) {
	own, node := m.pods[pod.UID], m.nodes[pod.Spec.NodeName]
	nodeObject := stored[*corev1.Node](m.store, "", pod.Spec.NodeName)
	switch {
	case !node.goneSince.IsZero() && now.Sub(node.goneSince) > modelCollection:
		m.store.remove(pod)
	case !node.downSince.IsZero():
		if nodeObject == nil || nodeReadyIn(nodeObject) != corev1.ConditionTrue {
			m.setCondition(pod, corev1.PodReady, false)
		}
	case pod.DeletionTimestamp != nil && !now.Before(pod.DeletionTimestamp.Time):
		m.store.remove(pod)
	case ended(pod):
	case !node.endsSince.IsZero() && now.Sub(node.endsSince) >= modelPreStop:
		edit(m.store, pod, func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed })
	default:
		if len(pod.Status.PodIPs) == 0 && now.Sub(own.born) >= time.Second {
			edit(m.store, pod, func(p *corev1.Pod) { p.Status.PodIPs = []corev1.PodIP{{IP: own.address}} })
			own.placed = now
		}
		m.setCondition(pod, corev1.ContainersReady, m.containersRun(now, pod) && own.ready)
		if own.judged {
			m.setCondition(pod, modelGateOfOthers, own.mayServe)
		}
		gatesOpen := !slices.ContainsFunc(pod.Spec.ReadinessGates, func(g corev1.PodReadinessGate) bool {
			return !isTrue(pod, g.ConditionType)
		})
		nodeFit := nodeObject != nil && nodeReadyIn(nodeObject) == corev1.ConditionTrue
		m.setCondition(pod, corev1.PodReady, m.containersRun(now, pod) && own.ready && gatesOpen && nodeFit)
	}
}

// containersRun reports whether the pod's containers have started and not been stopped.
func (m *model) containersRun(now time.Time, pod *corev1.Pod) bool {
	own := m.pods[pod.UID]
	stopped := !own.deletedAt.IsZero() && now.After(own.stopsAt())
	return !own.placed.IsZero() && now.Sub(own.born) >= 2*time.Second && !stopped && !ended(pod)
}

func ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
}

func live(pod *corev1.Pod) bool { return pod.DeletionTimestamp == nil && !ended(pod) }

func isTrue(pod *corev1.Pod, kind corev1.PodConditionType) bool {
	c := conditionOf(pod, kind)
	return c != nil && c.Status == corev1.ConditionTrue
}

func conditionOf(pod *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == kind {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}

func (m *model) setCondition(pod *corev1.Pod, kind corev1.PodConditionType, yes bool) {
	if c := conditionOf(pod, kind); (c == nil && !yes) || c != nil && (c.Status == corev1.ConditionTrue) == yes {
		return
	}
	status := corev1.ConditionFalse
	if yes {
		status = corev1.ConditionTrue
	}
	edit(m.store, pod, func(p *corev1.Pod) { setPodCondition(p, corev1.PodCondition{Type: kind, Status: status}) })
}

// serves is who answers a health check at the target, if anybody does.
func (m *model) serves(_ string, target elbv2.Target) (types.UID, bool) {
	now := time.Now()
	for name, node := range m.nodes {
		if instanceOf(name) == target.ID {
			return types.UID(name), node.downSince.IsZero()
		}
	}
	for _, pod := range listOf[*corev1.Pod](m.store) {
		own := m.pods[pod.UID]
		if len(pod.Status.PodIPs) == 0 || own.address != target.ID || own.deaf || target.Port != modelPort {
			continue
		}
		if m.nodes[pod.Spec.NodeName].downSince.IsZero() && m.containersRun(now, pod) && own.ready {
			return pod.UID, true
		}
	}
	return "", false
}

func instanceOf(node string) string { return "i-0000000" + node[1:] }

// selected is by the Service's selector alone.
func selected(service *corev1.Service, pod *corev1.Pod) bool {
	if service == nil || len(service.Spec.Selector) == 0 {
		return false
	}
	for key, value := range service.Spec.Selector {
		if pod.Labels[key] != value {
			return false
		}
	}
	return true
}

// tickSlices is the EndpointSlice controller. For a Service without a selector it is whoever writes its slices by hand: all
// pods of the app are in them.
func (m *model) tickSlices(service *corev1.Service) {
	parts := [2]*discoveryv1.EndpointSlice{}
	for i := range parts {
		parts[i] = &discoveryv1.EndpointSlice{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "shop", Name: fmt.Sprintf("%s-%d", service.Name, i),
				Labels: fixture.SliceLabels(service.Name),
			},
			AddressType: discoveryv1.AddressTypeIPv4,
		}
		if len(service.Spec.Selector) == 0 {
			delete(parts[i].Labels, discoveryv1.LabelManagedBy)
		}
		if !m.portless[service.Name] {
			parts[i].Ports = []discoveryv1.EndpointPort{{Name: ptr.To("http"), Port: ptr.To[int32](modelPort)}}
		}
	}
	for _, pod := range listOf[*corev1.Pod](m.store) {
		node := stored[*corev1.Node](m.store, "", pod.Spec.NodeName)
		theirs := selected(service, pod) && node != nil || byHand(service, pod)
		if !theirs || ended(pod) || len(pod.Status.PodIPs) == 0 {
			continue
		}
		part := parts[int(pod.Name[len(pod.Name)-1])%2]
		part.Endpoints = append(part.Endpoints, discoveryv1.Endpoint{
			Addresses: []string{pod.Status.PodIPs[0].IP},
			Conditions: discoveryv1.EndpointConditions{
				Ready:       ptr.To(isTrue(pod, corev1.PodReady) && live(pod) && !m.isStruck(service, pod)),
				Terminating: ptr.To(!live(pod)),
			},
			TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: "shop", Name: pod.Name, UID: pod.UID},
		})
	}
	for _, part := range parts {
		m.putSlice(part)
	}
}

func (m *model) putSlice(slice *discoveryv1.EndpointSlice) {
	before := stored[*discoveryv1.EndpointSlice](m.store, "shop", slice.Name)
	if before == nil || !equality.Semantic.DeepEqual(before.Endpoints, slice.Endpoints) || !equality.Semantic.DeepEqual(before.Ports, slice.Ports) {
		m.store.put(slice)
	}
}

// admitted are the gates that admission gives a new pod.
func (m *model) admitted(pod *corev1.Pod) []corev1.PodReadinessGate {
	var out []corev1.PodReadinessGate
	for _, b := range listOf[*v1beta1.TargetGroupBinding](m.store) {
		service := stored[*corev1.Service](m.store, "shop", b.Spec.ServiceRef.Name)
		if b.Spec.IsIP() && b.DeletionTimestamp == nil && selected(service, pod) {
			out = append(out, corev1.PodReadinessGate{ConditionType: readiness.GateFor(b.Name)})
		}
	}
	return out
}
