// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package endpoints

import (
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"

	"github.com/targetgate/targetgate/targets/v1beta1"
)

// A port has a number and a protocol. A Service may have a number twice, for TCP and for UDP, and so may a slice that is written by hand.

// MaxPorts is how many ports of a slice, or of a Service, are read: the first ones. Slices of Kubernetes' own have those of the Service.
const MaxPorts = 1000

// MaxUnnamedPorts is how many ports of one slice a Service port without a name matches at most. Slices that Kubernetes writes for
// such a Service have one port; one that a user writes may have thousands, for each of its thousand endpoints.
const MaxUnnamedPorts = 10

// servicePort is the port that the binding means; missing says in words why there is none, and doubt what users should know of it.
func servicePort(service *corev1.Service, binding *v1beta1.TargetGroupBinding) (port corev1.ServicePort, missing, doubt string) {
	ref, protocol := binding.Spec.ServiceRef, binding.GroupProtocol()
	if service == nil {
		return port, fmt.Sprintf("Service %q does not exist", ref.Name), ""
	}
	all := service.Spec.Ports
	chosen := ref.PortOf(protocol, min(len(all), MaxPorts), func(i int) (string, int32, string) {
		return all[i].Name, all[i].Port, string(all[i].Protocol)
	})
	switch {
	case chosen.Index >= 0:
		port = all[chosen.Index]
	case len(all) >= MaxPorts: // the cache has no more of them
		return port, fmt.Sprintf("Service %q has no port %q among its first %d ports: the others are not read",
			ref.Name, ref.Port.String(), MaxPorts), ""
	default:
		return port, fmt.Sprintf("Service %q has no port %q", ref.Name, ref.Port.String()), ""
	}
	if port.NodePort == 0 && !binding.Spec.IsIP() {
		return port, fmt.Sprintf("Service %q of type %s has no node port for %q: targetType instance needs type NodePort or LoadBalancer",
			ref.Name, service.Spec.Type, ref.Port.String()), ""
	}
	return port, "", ref.Doubt(protocol, chosen, func(i int) (string, string) {
		if binding.Spec.IsInstance() {
			return string(all[i].Protocol), strconv.Itoa(int(all[i].NodePort))
		}
		return string(all[i].Protocol), all[i].TargetPort.String()
	})
}

// portsWanted are the ports of a Service's slices that a Service port means.
type portsWanted struct {
	name     string
	protocol corev1.Protocol // empty for any
}

// portsOf returns what the Service port means in these slices, as kube-proxy takes it: ports of the same name and protocol. Slices that
// are written by hand may name no protocol: where no slice has the port's, the name counts alone.
func portsOf(port corev1.ServicePort, slices []*discoveryv1.EndpointSlice) portsWanted {
	wanted := portsWanted{port.Name, protocolOf(port.Protocol)}
	for _, slice := range slices {
		if len(wanted.in(slice)) > 0 {
			return wanted
		}
	}
	wanted.protocol = ""
	return wanted
}

// in are those of the first MaxPorts ports of the slice that are wanted: of a Service port without a name all with its protocol.
func (w portsWanted) in(slice *discoveryv1.EndpointSlice) []int32 {
	var out []int32
	for _, port := range slice.Ports[:min(len(slice.Ports), MaxPorts)] {
		fits := w.protocol == "" || w.protocol == protocolOf(ptr.Deref(port.Protocol, ""))
		if port.Port != nil && fits && (w.name == "" || ptr.Deref(port.Name, "") == w.name) {
			out = append(out, *port.Port)
		}
	}
	return out
}

func protocolOf(protocol corev1.Protocol) corev1.Protocol {
	if protocol == "" {
		return corev1.ProtocolTCP
	}
	return protocol
}
