// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package input

import (
	"strconv"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/targetgate/targetgate/balancers/parts"
	"github.com/targetgate/targetgate/balancers/stack"
)

// LoadBalancerName is the name of the group's load balancer, unless an annotation gives another.
func LoadBalancerName(cluster string, group stack.Group, scheme string) string {
	return stack.Name(group.NameParts(), cluster, group.String(), scheme)
}

// SpareLoadBalancerName is the name of a load balancer that replaces another that has the name.
func SpareLoadBalancerName(cluster string, group stack.Group, scheme string) string {
	return stack.Name(group.NameParts(), cluster, group.String(), scheme, parts.Spare)
}

// TargetGroup is what the name of a target group depends on. A change of any field makes it another target group's.
type TargetGroup struct {
	Ingress    types.NamespacedName
	Service    types.NamespacedName
	ServiceUID types.UID
	// ServicePort is as the Ingress has it, a name or a number.
	ServicePort intstr.IntOrString
	// Port of the target group: 1 for targets of type ip whose port has a name.
	Port                                  int32
	TargetType, Protocol, ProtocolVersion string
	// ControlPort of the targets, 0 for none.
	ControlPort int32
}

// ResourceTag is the value of the target group's tag.
func (t TargetGroup) ResourceTag() string {
	return t.Ingress.Namespace + "/" + t.Ingress.Name + "-" + t.Service.Name + ":" + t.ServicePort.String()
}

// NameIn is the target group's name in a group.
func (t TargetGroup) NameIn(cluster string, group stack.Group) string {
	return t.name(t.hashed(cluster, group))
}

// SpareNameIn is the name of one that replaces another that has the name.
func (t TargetGroup) SpareNameIn(cluster string, group stack.Group) string {
	return t.name(append(t.hashed(cluster, group), parts.Spare))
}

func (t TargetGroup) name(hashed []string) string {
	return stack.Name([]stack.Part{{Text: t.Service.Namespace, Max: 8}, {Text: t.Service.Name, Max: 8}}, hashed...)
}

func (t TargetGroup) hashed(cluster string, group stack.Group) []string {
	hashed := []string{
		cluster, group.String(), t.Ingress.Namespace, t.Ingress.Name, string(t.ServiceUID), t.ServicePort.String(),
		strconv.Itoa(int(t.Port)), t.TargetType, t.Protocol, t.ProtocolVersion,
	}
	if t.ControlPort != 0 {
		hashed = append(hashed, strconv.Itoa(int(t.ControlPort)))
	}
	return hashed
}
