// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ruleset

import (
	"fmt"
	"iter"
	"net/netip"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/targetgate/targetgate/aws/ec2"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

const (
	lastPort = 65535
	// maxFaults is how many faults of a spec an error names.
	maxFaults = 3
)

var groupIDPattern = regexp.MustCompile(`^[A-Za-z0-9-]{1,255}$`)

// Rules is a set of rules.
type Rules = sets.Set[ec2.Rule]

// Flow is what rules have in common that can be merged: the protocol and the source.
type Flow struct {
	Protocol string
	Source   ec2.Source
}

// FlowOf is the flow of a rule.
func FlowOf(rule ec2.Rule) Flow { return Flow{Protocol: rule.Protocol, Source: rule.Source} }

// FlowsOf are the flows of rules.
func FlowsOf(rules iter.Seq[ec2.Rule]) sets.Set[Flow] {
	flows := sets.Set[Flow]{}
	for rule := range rules {
		flows.Insert(FlowOf(rule))
	}
	return flows
}

// ask is one rule of a spec for every member. Its ports are numbers, or those that the member's ports of that name have.
type ask struct {
	Flow
	from, to int32
	name     string
}

// Asks is what a spec asks for.
type Asks []ask

// Compile reads what a spec asks for. Its error names up to maxFaults fields and what would be right.
func Compile(networking *v1beta1.TargetGroupBindingNetworking, nodes bool) (Asks, error) {
	if networking == nil {
		return nil, nil
	}
	path := field.NewPath("spec", "networking", "ingress")
	if n := v1beta1.NetworkingRules(networking); n > v1beta1.MaxNetworkingRules {
		return nil, fmt.Errorf("%s: asks for %d rules, and AWS has at most %d at a network interface: name fewer peers or ports",
			path, n, v1beta1.MaxNetworkingRules)
	}
	var asks []ask
	var faults field.ErrorList
	for i, rule := range networking.Ingress {
		at := path.Index(i)
		ports, wrong := portsOf(rule.Ports, nodes, at.Child("ports"))
		faults = append(faults, wrong...)
		for j, peer := range rule.From {
			source, fault := sourceOf(peer, at.Child("from").Index(j))
			if fault != nil {
				faults = append(faults, fault)
				continue
			}
			for _, port := range ports {
				port.Source = source
				asks = append(asks, port)
			}
		}
	}
	return asks, faults[:min(len(faults), maxFaults)].ToAggregate()
}

// portsOf reads the ports of a rule. None are all of TCP, as the field's documentation says.
func portsOf(ports []v1beta1.NetworkingPort, nodes bool, path *field.Path) (asks []ask, faults field.ErrorList) {
	if len(ports) == 0 {
		return []ask{{Flow: Flow{Protocol: "tcp"}, to: lastPort}}, nil
	}
	for i, port := range ports {
		at := path.Index(i)
		protocol, fault := protocolOf(port, at.Child("protocol"))
		if fault != nil {
			faults = append(faults, fault)
			continue
		}
		asked := ask{Flow: Flow{Protocol: protocol}, to: lastPort}
		if port.Port != nil {
			if asked.from, asked.name, fault = portOf(*port.Port, nodes, at.Child("port")); fault != nil {
				faults = append(faults, fault)
				continue
			}
			asked.to = asked.from
		}
		asks = append(asks, asked)
	}
	return asks, faults
}

func protocolOf(port v1beta1.NetworkingPort, path *field.Path) (string, *field.Error) {
	if port.Protocol == nil {
		return "tcp", nil
	}
	switch protocol := strings.ToLower(string(*port.Protocol)); protocol {
	case "tcp", "udp":
		return protocol, nil
	default:
		return "", field.NotSupported(path, *port.Protocol, []string{"TCP", "UDP"})
	}
}

func portOf(port intstr.IntOrString, nodes bool, path *field.Path) (number int32, name string, fault *field.Error) {
	switch {
	case port.Type == intstr.String && nodes:
		return 0, "", field.Invalid(path, port.StrVal, "named ports can only be used with pod endpoints: name the number")
	case port.Type == intstr.String && port.StrVal == "":
		return 0, "", field.Invalid(path, port.StrVal, "name a container port, or its number")
	case port.Type == intstr.String:
		return 0, port.StrVal, nil
	case port.IntVal < 0 || port.IntVal > lastPort:
		return 0, "", field.Invalid(path, port.IntVal, "a port is at most 65535")
	default:
		return port.IntVal, "", nil
	}
}

// sourceOf reads a peer. With both of its fields the group wins, as with the incumbent. EC2 holds CIDRs in their canonical form:
// 10.0.0.5/8 is 10.0.0.0/8 there.
func sourceOf(peer v1beta1.NetworkingPeer, path *field.Path) (ec2.Source, *field.Error) {
	if peer.SecurityGroup != nil {
		if id := peer.SecurityGroup.GroupID; !groupIDPattern.MatchString(id) {
			return ec2.Source{}, field.Invalid(path.Child("securityGroup", "groupID"), id,
				"not the ID of a security group, such as sg-0123456789abcdef0")
		}
		return ec2.Source{Group: peer.SecurityGroup.GroupID}, nil
	}
	if peer.IPBlock == nil {
		return ec2.Source{}, field.Required(path, "either ipBlock or securityGroup should be specified")
	}
	cidr, err := netip.ParsePrefix(peer.IPBlock.CIDR)
	if err != nil {
		return ec2.Source{}, field.Invalid(path.Child("ipBlock", "cidr"), peer.IPBlock.CIDR,
			"not a CIDR, such as 192.168.1.0/24 or 2001:db8::/64")
	}
	return ec2.Source{CIDR: cidr.Masked()}, nil
}

// For are the rules for one member with these named ports, by name, or by name/protocol if another port has the name. A name that none of
// the pod's ports has is an error; the other rules hold.
func (asks Asks) For(ports map[string]int32) (rules Rules, err error) {
	rules = make(Rules, len(asks))
	for _, asked := range asks {
		rule := ec2.Rule{Protocol: asked.Protocol, From: asked.from, To: asked.to, Source: asked.Source}
		if asked.name != "" {
			number, ok := ports[asked.name+"/"+asked.Protocol]
			if !ok {
				number, ok = ports[asked.name]
			}
			if !ok {
				err = fmt.Errorf("no container port is named %q", asked.name)
				continue
			}
			rule.From, rule.To = number, number
		}
		rules.Insert(rule)
	}
	return rules, err
}
