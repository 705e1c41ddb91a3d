// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package reading

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/targetgate/targetgate/balancers/fault"
	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/ingress/input"
	"github.com/targetgate/targetgate/balancers/ingress/membership"
	"github.com/targetgate/targetgate/balancers/parts"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// GRPC is a protocol version of target groups.
const GRPC = "GRPC"

// backed is a port of a Service as the backend of a member.
type backed struct {
	ruleReader
	service *corev1.Service
	port    *corev1.ServicePort
	err     error // the first of the annotations
}

// override is the value of an annotation of the Service, else of the Ingress, else of the table.
func override[T any](b *backed, key annotation.Key[T]) (value T) {
	object, source, annotations := "", (*corev1.Service)(nil), b.Annotations()
	if _, ok := b.service.Annotations[key.FullName()]; ok {
		object, source, annotations = b.serviceObject(), b.service, b.service.Annotations
	}
	said, err := once(b.memo, overridden{source, key.Name}, func() (out meaning[T], err error) {
		out.value, out.set, err = key.In(annotations)
		return out, err
	})
	value, set := said.value, said.set
	if err != nil && b.err == nil {
		fault := fault.As(err)
		fault.Object = object
		b.err = fault
	}
	if !set && key.Default != "" {
		value, _ = key.Parse(key.Default) // a test parses all defaults
	}
	return value
}

// overridden is an annotation of a Service, or of the Ingress for nil: all ports share what it says.
type overridden struct {
	service *corev1.Service
	name    string
}

func (b *backed) serviceObject() string {
	return "Service " + b.service.Namespace + "/" + b.service.Name
}

// fault is what is wrong with the Service.
func (b *backed) fault(field, value, reason string) error {
	return fault.Fault{Object: b.serviceObject(), Field: field, Value: value, Reason: reason}
}

// addTargetGroup adds the target group of a Service's port, once, with its binding.
func (r ruleReader) addTargetGroup(service *corev1.Service, port intstr.IntOrString) (part string, err error) {
	b := &backed{ruleReader: r, service: service, port: portOf(service, port)}
	ingress := r.Member.Ingress
	id := input.TargetGroup{
		Ingress:    types.NamespacedName{Namespace: ingress.Namespace, Name: ingress.Name},
		Service:    types.NamespacedName{Namespace: service.Namespace, Name: service.Name},
		ServiceUID: service.UID, ServicePort: port,
	}
	part = id.ResourceTag()
	if _, isThere := r.memo[added(part)]; isThere { // by another spelling of its port
		return part, nil
	}
	if b.port == nil {
		return "", b.fault("spec.ports", port.String(), "the Service has no port with this name or number: name one that it has")
	}
	if len(part) > stack.LongestTagValue {
		return "", fault.Fault{Field: "metadata.name", Value: ingress.Name, Reason: fmt.Sprintf(
			"the target group's tag %q would have %d characters, and AWS allows %d: choose shorter names of Ingress and Service",
			stack.Ingresses.ResourceTag(), len(part), stack.LongestTagValue)}
	}
	group, err := b.build(id)
	if err != nil {
		return "", err
	}
	r.memo[added(part)] = true
	r.Groups = append(r.Groups, group)
	r.Bindings = append(r.Bindings, b.binding(group, port))
	return part, b.err
}

// added is the part of a target group that the member has, as a key of what was read before.
type added string

// portOf returns the port of that name or number, nil for none. Of a number that is there for TCP and for UDP it is the one for TCP: all
// target groups of an ALB are HTTP or HTTPS.
func portOf(service *corev1.Service, port intstr.IntOrString) *corev1.ServicePort {
	ref, all := v1beta1.ServiceReference{Port: port}, service.Spec.Ports
	chosen := ref.PortOf("HTTP", len(all), func(i int) (string, int32, string) { return all[i].Name, all[i].Port, string(all[i].Protocol) })
	if chosen.Index < 0 {
		return nil
	}
	return &all[chosen.Index]
}

// build is the target group of that name and port.
func (b *backed) build(id input.TargetGroup) (stack.TargetGroup, error) {
	id.TargetType, id.Protocol = b.targetType(), override(b, annotation.BackendProtocol)
	id.ProtocolVersion = override(b, annotation.BackendProtocolVersion)
	if b.err != nil {
		return stack.TargetGroup{}, b.err
	}
	number, err := b.number(id.TargetType)
	if err != nil {
		return stack.TargetGroup{}, err
	}
	id.Port = number
	if id.ControlPort, err = b.controlPort(id); err != nil {
		return stack.TargetGroup{}, err
	}
	check, err := b.healthCheck(id)
	if err != nil {
		return stack.TargetGroup{}, err
	}
	tags, err := b.tagsOfGroup()
	if err != nil {
		return stack.TargetGroup{}, err
	}
	cluster, attributes := b.in.Options.Cluster, override(b, annotation.TargetGroupAttributes)
	return stack.TargetGroup{
		Part: id.ResourceTag(), Owner: b.Name,
		Name: id.NameIn(cluster, b.in.Group), SpareName: id.SpareNameIn(cluster, b.in.Group),
		TargetType: id.TargetType, Protocol: id.Protocol, ProtocolVersion: id.ProtocolVersion,
		Port: id.Port, AddressType: b.family(), ControlPort: id.ControlPort,
		HealthCheck: check,
		Attributes:  attributes, Presets: b.in.Presets(annotation.AttributesOfGroup, attributes),
		Tags: b.in.TagsOf(id.ResourceTag(), tags),
	}, b.err
}

func (b *backed) targetType() string {
	if b.params.TargetType != "" {
		return b.params.TargetType
	}
	if kind := override(b, annotation.TargetType); kind != "" {
		return kind
	}
	return b.in.Options.DefaultTargetType
}

// number is the port of the target group: where targets are ports of nodes, theirs; 1 if the pods' port has a name.
func (b *backed) number(targetType string) (int32, error) {
	switch target := b.targetPort(); {
	case targetType == "instance" && b.port.NodePort == 0:
		return 0, b.fault("spec.ports", strconv.Itoa(int(b.port.Port)),
			"the port has no node port: use a Service of type NodePort or LoadBalancer, or target-type ip")
	case targetType == "instance":
		return b.port.NodePort, nil
	case target.Type == intstr.String:
		return 1, nil
	default:
		return target.IntVal, nil
	}
}

// controlPort is 0 if there is none. The annotation names the port of the Service as the Ingress does.
func (b *backed) controlPort(id input.TargetGroup) (int32, error) {
	key := annotation.TargetControlPort.Member(b.service.Name + "." + id.ServicePort.String())
	port := override(b, key)
	if b.err == nil && port != 0 && id.TargetType != "ip" {
		return 0, b.annotationFault(key.Name, decimal(port), "AWS has control ports of pods alone, and the target type is "+id.TargetType+
			": set "+annotation.TargetType.FullName()+" ip")
	}
	return int32(port), b.err
}

func (b *backed) targetPort() intstr.IntOrString {
	if b.port.TargetPort == (intstr.IntOrString{}) {
		return intstr.FromInt32(b.port.Port)
	}
	return b.port.TargetPort
}

func (b *backed) family() string {
	if slices.Contains(b.service.Spec.IPFamilies, corev1.IPv6Protocol) {
		return "ipv6"
	}
	return "ipv4"
}

// annotationFault is what is wrong with an annotation of the Service, or else of the Ingress.
func (b *backed) annotationFault(name, text, reason string) error {
	fault := fault.Fault{Annotation: annotation.Prefix + name, Value: text, Reason: reason}
	if _, ok := b.service.Annotations[fault.Annotation]; ok {
		fault.Object = b.serviceObject()
	}
	return fault
}

// tagsOfGroup are the user's tags: those of the Ingress, under those of the Service, under those of params.
func (b *backed) tagsOfGroup() (map[string]string, error) {
	tags := map[string]string{}
	maps.Copy(tags, b.Tags)
	said, err := once(b.memo, overridden{b.service, annotation.Tags.Name}, func() (out meaning[map[string]string], err error) {
		out.value, out.set, err = annotation.Tags.In(b.service.Annotations)
		return out, err
	})
	own := said.value
	wrong := fault.Fault{Object: b.serviceObject(), Annotation: annotation.Tags.FullName(),
		Value: b.service.Annotations[annotation.Tags.FullName()]}
	if err != nil {
		wrong.Reason = fault.As(err).Reason
		return nil, wrong
	}
	own = parts.AllowedTags(wrong, own, b.warnOf)
	maps.Copy(tags, own)
	maps.Copy(tags, b.paramsTags())
	if err := b.in.Options.CheckTags(wrong, own); err != nil {
		return nil, err
	}
	if n := len(b.in.TagsOf("", tags)); n > stack.MostTags {
		if len(own) == 0 {
			wrong = fault.Fault{Annotation: annotation.Tags.FullName(), Value: b.Annotations()[annotation.Tags.FullName()]}
		}
		wrong.Reason = fmt.Sprintf("the target group would have %d tags with ours and --default-tags: AWS allows %d", n, stack.MostTags)
		return nil, wrong
	}
	return tags, nil
}

// binding registers the Service's endpoints in its target group. Networking is for the peer that the group has, if it has one.
func (b *backed) binding(group stack.TargetGroup, port intstr.IntOrString) stack.Binding {
	spec := stack.BindingSpec{
		Service: b.service.Name, Port: port,
		TargetType: group.TargetType, Protocol: group.Protocol, AddressType: group.AddressType, VPC: b.in.Options.VPC,
		Networking:   b.networking(group),
		MultiCluster: b.multiCluster(),
		Labels:       membership.LabelsOf(b.in.Group),
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
