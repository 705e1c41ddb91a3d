// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package members

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/netip"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/targetgate/targetgate/targets/endpoints"
)

// Class is how the network interface of a member is found.
type Class string

// The classes of nodes. A node without a label of AWS is an EC2 instance.
const (
	ClassEC2      Class = "ec2"
	ClassFargate  Class = "fargate"
	ClassHyperPod Class = "hyperpod"
	ClassHybrid   Class = "hybrid" // outside AWS: there is no network interface
)

const (
	hyperPodLabel  = "sagemaker.amazonaws.com/compute-type"
	maxPodENIBytes = 64 << 10
	maxPodENIs     = 100
)

var interfaceIDPattern = regexp.MustCompile(`^eni-[0-9a-f]{1,32}$`)

// Member is a pod or a node that is behind a binding: what must be known of it to find its network interface, and the numbers of its
// named ports.
type Member struct {
	// Name is namespace/name of a pod, the name of a node.
	Name  string
	UID   types.UID
	Pod   bool
	Class Class
	// Instance is the ID of the member's EC2 instance, empty where the node's providerID names none.
	Instance string

	// Address is the pod's, zero for a node.
	Address netip.Addr
	// BranchENI is the ID of the pod's own network interface on an EC2 instance, if it has one.
	BranchENI string
	// Ports are the pod's named container ports, by name, or by name/protocol if another one has the name.
	Ports map[string]int32
	// NodeAddress is the IPv4 address of the pod's node.
	NodeAddress netip.Addr

	// Fault is why the member cannot be found, whatever EC2 says.
	Fault string
}

// PodMember is the pod at the address. The node is the one that it runs on, nil if there is no such object: such a pod stays
// unresolved.
func PodMember(pod *corev1.Pod, node *corev1.Node, address netip.Addr) Member {
	m := Member{
		Name: pod.Namespace + "/" + pod.Name, UID: pod.UID, Pod: true, Address: address.Unmap(), Ports: NamedPorts(pod),
	}
	if node == nil {
		m.Fault = fmt.Sprintf("there is no Node %s", pod.Spec.NodeName)
		return m
	}
	m.Class, m.Instance, m.NodeAddress = classOf(node), instanceID(node), internalIPv4(node)
	if m.Class == ClassEC2 {
		m.BranchENI = branchENI(pod.Annotations[endpoints.PodENIAnnotation], m.Address)
	}
	return m
}

// NodeMember is the node.
func NodeMember(node *corev1.Node) Member {
	return Member{Name: node.Name, UID: node.UID, Class: classOf(node), Instance: instanceID(node)}
}

func classOf(node *corev1.Node) Class {
	switch {
	case node.Labels[endpoints.ComputeTypeLabel] == string(ClassFargate):
		return ClassFargate
	case node.Labels[hyperPodLabel] == string(ClassHyperPod):
		return ClassHyperPod
	case node.Labels[endpoints.ComputeTypeLabel] == string(ClassHybrid):
		return ClassHybrid
	default:
		return ClassEC2
	}
}

func instanceID(node *corev1.Node) string {
	id, _ := endpoints.InstanceID(node)
	return id
}

func internalIPv4(node *corev1.Node) netip.Addr {
	for _, address := range node.Status.Addresses {
		if address.Type != corev1.NodeInternalIP {
			continue
		}
		if ip, err := netip.ParseAddr(address.Address); err == nil && ip.Is4() {
			return ip
		}
	}
	return netip.Addr{}
}

// NamedPorts are those that package endpoints keeps of a pod. Two containers may give one name to ports of different protocols: each
// further one has its protocol in its key.
func NamedPorts(pod *corev1.Pod) map[string]int32 {
	ports := map[string]int32{}
	for i := range pod.Spec.Containers {
		for _, port := range pod.Spec.Containers[i].Ports {
			key := port.Name
			if _, taken := ports[key]; taken {
				key += "/" + strings.ToLower(cmp.Or(string(port.Protocol), string(corev1.ProtocolTCP)))
			}
			ports[key] = port.ContainerPort
		}
	}
	return ports
}

// branchENI is the ID of the network interface that the annotation names for the address, empty if there is none. The VPC resource
// controller writes the annotation, but whoever may change pods may, too: nothing is taken from it but an ID, and the interface must
// have the pod's address.
func branchENI(annotation string, address netip.Addr) string {
	if annotation == "" || len(annotation) > maxPodENIBytes {
		return ""
	}
	var entries []struct {
		ENI  string `json:"eniId"`
		IPv4 string `json:"privateIp"`
		IPv6 string `json:"ipv6Addr"`
	}
	if json.Unmarshal([]byte(annotation), &entries) != nil || len(entries) > maxPodENIs {
		return ""
	}
	for _, entry := range entries {
		if (sameAddress(entry.IPv4, address) || sameAddress(entry.IPv6, address)) && interfaceIDPattern.MatchString(entry.ENI) {
			return entry.ENI
		}
	}
	return ""
}

func sameAddress(text string, address netip.Addr) bool {
	parsed, err := netip.ParseAddr(text)
	return err == nil && parsed.Unmap() == address
}
