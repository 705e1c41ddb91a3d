// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package reading

import (
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/stack"
)

// binding registers the Service's endpoints in its target group. Networking is for the peer that the group has, if it has one.
func (b *backed) binding(group stack.TargetGroup, port intstr.IntOrString) stack.Binding {
	spec := stack.BindingSpec{
		Service: b.service.Name, Port: port,
		TargetType: group.TargetType, Protocol: group.Protocol, AddressType: group.AddressType, VPC: b.in.Options.VPC,
		Networking:   b.networking(group),
		MultiCluster: b.multiCluster(),
		Labels:       b.in.Group.Labels(),
	}
	if group.TargetType == "instance" {
		spec.NodeSelector = override(b, annotation.TargetNodeLabels)
	}
	return stack.Binding{Namespace: b.service.Namespace, Name: group.Name, Group: stack.Ref{Part: group.Part}, Spec: spec}
}

// networking are the ports that the load balancer has to reach, one rule each.
func (b *backed) networking(group stack.TargetGroup) []intstr.IntOrString {
	if b.in.Options.UnrestrictedRules {
		return []intstr.IntOrString{intstr.FromInt32(0)}
	}
	port := b.targetPort()
	if group.TargetType == "instance" {
		port = intstr.FromInt32(b.port.NodePort)
	}
	ports := []intstr.IntOrString{port}
	if group.HealthCheck.Port != annotation.TrafficPort {
		ports = append(ports, intstr.Parse(group.HealthCheck.Port))
	}
	if group.ControlPort != 0 {
		ports = append(ports, intstr.FromInt32(group.ControlPort))
	}
	return ports
}

// multiCluster has true of the Ingress count before what the Service says.
func (b *backed) multiCluster() bool {
	if own, set, err := annotation.MultiCluster.In(b.Annotations()); err == nil && set && own {
		return true
	}
	return override(b, annotation.MultiCluster)
}
