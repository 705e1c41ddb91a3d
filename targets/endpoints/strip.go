// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package endpoints

import (
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// MaxLabels is how many labels of a pod are kept: pods that people make have far fewer. One with more counts as
// one without labels, so that no tenant fills our memory.
const MaxLabels = 1000

// PodENIAnnotation is where Amazon's VPC resource controller notes the network interfaces of a pod with security groups of its own.
const PodENIAnnotation = "vpc.amazonaws.com/pod-eni"

// maxPodENI bounds the annotation, in bytes. An interface takes some 250.
const maxPodENI = 4 << 10

// StripPod is a cache transform that keeps of a pod what is read of it, here and in an event. Containers, volumes and
// annotations are most of a pod, and of the memory of a program that caches them all: of the containers only their named ports are
// kept, and for how long all of them sleep at least; of the annotations only the pod's own network interface, and that it leaves at
// once. What is kept is small, however large the pod is: whoever goes through a list of it need not bound it again.
func StripPod(o any) (any, error) {
	pod, ok := o.(*corev1.Pod)
	if !ok {
		return o, nil
	}
	stripped := &corev1.Pod{
		TypeMeta: pod.TypeMeta,
		ObjectMeta: metav1.ObjectMeta{
			Namespace: keptName(pod.Namespace), Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
			CreationTimestamp: pod.CreationTimestamp,
			DeletionTimestamp: pod.DeletionTimestamp, DeletionGracePeriodSeconds: pod.DeletionGracePeriodSeconds,
			Labels: keptLabels(pod), Annotations: keptAnnotations(pod), OwnerReferences: keptOwner(pod),
		},
		Spec: corev1.PodSpec{
			NodeName: keptName(pod.Spec.NodeName), ReadinessGates: keptGates(pod),
			TerminationGracePeriodSeconds: pod.Spec.TerminationGracePeriodSeconds, // read at admission of bindings
			Containers:                    keptContainers(pod),
		},
		Status: corev1.PodStatus{Phase: pod.Status.Phase, PodIPs: pod.Status.PodIPs},
	}
	stripped.Status.Conditions = keptConditions(pod.Status.Conditions, stripped.Spec.ReadinessGates)
	return stripped, nil
}

// notKept are the annotations of all pods that say no more than that.
var notKept = map[string]string{v1beta1.KeepUntilReplacedAnnotation: "false"}

func keptAnnotations(pod *corev1.Pod) map[string]string {
	own := pod.Annotations[PodENIAnnotation]
	switch {
	case own != "" && len(own) <= maxPodENI:
		kept := map[string]string{PodENIAnnotation: own}
		if leavesAtOnce(pod) {
			maps.Copy(kept, notKept)
		}
		return kept
	case leavesAtOnce(pod):
		return notKept
	default:
		return nil
	}
}

// leavesAtOnce reports whether the owner of the pod does not want its target kept until others replace it.
func leavesAtOnce(pod *corev1.Pod) bool {
	keep, err := strconv.ParseBool(pod.Annotations[v1beta1.KeepUntilReplacedAnnotation])
	return err == nil && !keep
}

// keptConditions are those of the gates, whether the containers are ready, and whether a node guard may leave; each once. Of the gates of
// others only the status is read.
func keptConditions(conditions []corev1.PodCondition, gates []corev1.PodReadinessGate) []corev1.PodCondition {
	wanted := []corev1.PodConditionType{corev1.ContainersReady, readiness.MayLeave}
	for _, gate := range gates {
		wanted = append(wanted, gate.ConditionType)
	}
	var out []corev1.PodCondition
	for _, c := range conditions {
		if i := slices.Index(wanted, c.Type); i >= 0 {
			c.Type = wanted[i] // that string is in memory already
			if _, ours := readiness.BindingOf(c.Type); !ours && c.Type != corev1.ContainersReady && c.Type != readiness.MayLeave {
				c = corev1.PodCondition{Type: c.Type, Status: c.Status}
			}
			out = append(out, c)
			wanted = slices.Delete(wanted, i, i+1)
		}
	}
	return out
}

// API servers do not check an endpoint's reference or zone. A longer reference, in bytes, is to no pod, and a longer zone is none.
const (
	maxReference = 1 << 10
	maxZone      = 100
)

// StripSlice is a cache transform that keeps of an EndpointSlice what this package reads, and once what its endpoints share: of the ports
// one more than is read, where there are more, which tells so, and of each endpoint the first address.
func StripSlice(o any) (any, error) {
	slice, ok := o.(*discoveryv1.EndpointSlice)
	if !ok {
		return o, nil
	}
	stripped := &discoveryv1.EndpointSlice{
		TypeMeta: slice.TypeMeta,
		ObjectMeta: metav1.ObjectMeta{
			Namespace: slice.Namespace, Name: slice.Name, UID: slice.UID, ResourceVersion: slice.ResourceVersion,
			Labels: keptSliceLabels(slice.Labels),
		},
		AddressType: slice.AddressType, Ports: keptPorts(slice.Ports), Endpoints: make([]discoveryv1.Endpoint, len(slice.Endpoints)),
	}
	zones, ready := map[string]*string{}, map[bool]*bool{}
	for i, ep := range slice.Endpoints {
		stripped.Endpoints[i] = discoveryv1.Endpoint{
			Addresses:  ep.Addresses[:min(len(ep.Addresses), 1)],
			Conditions: discoveryv1.EndpointConditions{Ready: shared(ready, ptr.To(isReadyIn(ep.Conditions)))},
		}
		if len(ptr.Deref(ep.Zone, "")) <= maxZone {
			stripped.Endpoints[i].Zone = shared(zones, ep.Zone)
		}
		if ref := ep.TargetRef; ref != nil && len(ref.Kind)+len(ref.Namespace)+len(ref.Name)+len(ref.UID) <= maxReference {
			stripped.Endpoints[i].TargetRef = &corev1.ObjectReference{Kind: ref.Kind, Name: ref.Name, UID: ref.UID}
			if ref.Namespace != slice.Namespace {
				stripped.Endpoints[i].TargetRef.Namespace = ref.Namespace
			}
		}
	}
	return stripped, nil
}

// keptProtocols are shared by all ports.
var keptProtocols = map[corev1.Protocol]*corev1.Protocol{
	corev1.ProtocolUDP: ptr.To(corev1.ProtocolUDP), corev1.ProtocolSCTP: ptr.To(corev1.ProtocolSCTP),
}

// keptSliceLabels are the Service, and who writes the slice.
func keptSliceLabels(labels map[string]string) map[string]string {
	kept := map[string]string{discoveryv1.LabelServiceName: labels[discoveryv1.LabelServiceName]}
	if labels[discoveryv1.LabelManagedBy] == sliceController {
		kept[discoveryv1.LabelManagedBy] = sliceController
	}
	return kept
}

func keptPorts(ports []discoveryv1.EndpointPort) []discoveryv1.EndpointPort {
	if len(ports) == 0 {
		return nil
	}
	kept := make([]discoveryv1.EndpointPort, min(len(ports), MaxPorts+1))
	for i := range kept {
		kept[i] = discoveryv1.EndpointPort{Name: ports[i].Name, Port: ports[i].Port}
		if p := ptr.Deref(ports[i].Protocol, ""); p == corev1.ProtocolUDP || p == corev1.ProtocolSCTP { // others are TCP
			kept[i].Protocol = keptProtocols[p]
		}
	}
	return kept
}

// shared is the pointer to that value which was seen first.
func shared[T comparable](seen map[T]*T, value *T) *T {
	if value == nil {
		return nil
	}
	if _, known := seen[*value]; !known {
		seen[*value] = value
	}
	return seen[*value]
}

// maxNodeAddresses is how many internal addresses of a node are kept, and how many ranges of its pods: one of each family.
const maxNodeAddresses = 2

// maxKubeletVersion bounds the version of a node's kubelet, in bytes. A longer one is not kept.
const maxKubeletVersion = 100

// StripNode is a cache transform that keeps of a node what this package reads; a node's list of images alone may be
// larger than all that.
func StripNode(o any) (any, error) {
	node, ok := o.(*corev1.Node)
	if !ok {
		return o, nil
	}
	stripped := &corev1.Node{
		TypeMeta: node.TypeMeta,
		ObjectMeta: metav1.ObjectMeta{
			Name: node.Name, UID: node.UID, ResourceVersion: node.ResourceVersion, Labels: node.Labels,
			DeletionTimestamp: node.DeletionTimestamp,
		},
		Spec: corev1.NodeSpec{
			ProviderID: node.Spec.ProviderID, Taints: node.Spec.Taints,
			PodCIDRs: node.Spec.PodCIDRs[:min(len(node.Spec.PodCIDRs), maxNodeAddresses)],
		},
	}
	if kubelet := node.Status.NodeInfo.KubeletVersion; len(kubelet) <= maxKubeletVersion {
		stripped.Status.NodeInfo.KubeletVersion = keptName(kubelet)
	}
	for _, address := range node.Status.Addresses {
		if address.Type == corev1.NodeInternalIP && len(stripped.Status.Addresses) < maxNodeAddresses {
			stripped.Status.Addresses = append(stripped.Status.Addresses, address)
		}
	}
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			stripped.Status.Conditions = []corev1.NodeCondition{{Type: c.Type, Status: c.Status}}
			if ShutsDown(node) {
				stripped.Status.Conditions[0].Message = shutdownMessage
			}
		}
	}
	return stripped, nil
}

// stackLabels say for which Ingresses a binding was made.
var stackLabels = []string{"ingress.k8s.aws/stack", "ingress.k8s.aws/stack-namespace", "ingress.k8s.aws/stack-name"}

// StripBinding is a cache transform that keeps of a binding's labels those that are read. What is cached is changed by patches alone, so
// that the binding keeps the others.
func StripBinding(o any) (any, error) {
	binding, ok := o.(*v1beta1.TargetGroupBinding)
	if !ok {
		return o, nil
	}
	labels := binding.Labels
	binding.ManagedFields, binding.Labels = nil, nil
	for _, key := range stackLabels {
		if value, has := labels[key]; has {
			metav1.SetMetaDataLabel(&binding.ObjectMeta, key, value)
		}
	}
	return binding, nil
}
